/** A piece of SQL and the values of its parameters. */
export class SqlPart {
  readonly strings: readonly string[];
  readonly values: readonly unknown[];

  constructor(strings: readonly string[], values: readonly unknown[]) {
    this.strings = strings;
    this.values = values;
  }
}

/** A template tag for SQL. Inserts other parts as they are. Any other value becomes a parameter. */
export function sql(strings: TemplateStringsArray, ...values: unknown[]): SqlPart {
  return new SqlPart(strings, values);
}

/** Converts a part to the arguments of `query` and `run`. Numbers the parameters in order of appearance. */
export function statement(part: SqlPart): [text: string, parameters: unknown[]] {
  const parameters: unknown[] = [];
  const render = ({ strings, values }: SqlPart): string =>
    strings.reduce((text, next, nth) => {
      const value = values[nth - 1];
      return text + (value instanceof SqlPart ? render(value) : `$${parameters.push(value)}`) + next;
    });
  return [render(part), parameters];
}
