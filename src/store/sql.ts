/** A piece of SQL with the values that are parameters in it. */
export class SqlPart {
  readonly strings: readonly string[];
  readonly values: readonly unknown[];

  constructor(strings: readonly string[], values: readonly unknown[]) {
    this.strings = strings;
    this.values = values;
  }
}

/** SQL as a template: another part is put in as it is, anything else becomes a parameter. */
export function sql(strings: TemplateStringsArray, ...values: unknown[]): SqlPart {
  return new SqlPart(strings, values);
}

/** A part as `query` and `run` take it: parameters are numbered in order of their appearance. */
export function statement(part: SqlPart): [text: string, parameters: unknown[]] {
  const parameters: unknown[] = [];
  const render = ({ strings, values }: SqlPart): string =>
    strings.reduce((text, next, nth) => {
      const value = values[nth - 1];
      return text + (value instanceof SqlPart ? render(value) : `$${parameters.push(value)}`) + next;
    });
  return [render(part), parameters];
}
