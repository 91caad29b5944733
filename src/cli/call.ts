import { type Answer, done } from './api.ts';
import { type Command, type Context, type Option, type OptionValues, type Values, command } from './command.ts';
import { failedHere } from './errors.ts';
import { firstLine } from './input.ts';
import { type Wire, read } from './shapes.ts';
import { oneLine } from './text.ts';

/** The context for printing a reply. */
export interface Shown<Options> {
  context: Context;
  args: string[];
  values: Values<Options>;
  /** Time of the reply, epoch ms. */
  now: number;
}

/** A command that makes one call of the API and shows its reply. */
export interface CallSpec<Options extends Record<string, Option>, Shape> {
  name: string;
  summary: string;
  args?: readonly string[];
  options?: Options;
  details?: string;
  /** An irreversible consequence, as a sentence. It must be confirmed first, unless `--yes` is given. */
  warning?: (args: string[], values: Values<Options>) => string;
  call: (context: Context, args: string[], values: Values<Options>) => Promise<Answer<Wire<NoInfer<Shape>>>>;
  /** An example with the fields to show. Their texts are shown on one line. */
  shape: Shape;
  /** Returns the lines for a person. */
  show: (reply: Shape, shown: Shown<Options>) => Iterable<string>;
  /** Asks a person a question after the reply is printed. */
  after?: (context: Context, reply: Shape) => Promise<void>;
}

const YES = { yes: { type: 'boolean', short: 'y', help: 'Do not ask for confirmation.' } } as const;

/** Creates such a command. With `--json`, it prints the reply unchanged. */
export function call<const Options extends Record<string, Option>, Shape>(spec: CallSpec<Options, Shape>): Command {
  const { warning, call, shape, show, after, ...rest } = spec;
  return command<Record<string, Option>>({
    ...rest,
    options: { ...spec.options, ...(warning && YES) },
    async run(context, args, given: OptionValues) {
      const values = given as Values<Options>;
      if (warning && given['yes'] !== true) await confirmed(context, warning(args, values));
      const reply = await done(call(context, args, values));
      if (context.json) return context.document(reply as object);
      const shown = { context, args, values, now: Date.now() };
      const fields = read(shape, reply, oneLine);
      for (const line of show(fields, shown)) context.terminal.out.line(line);
      await after?.(context, fields);
    },
  });
}

/** Parameters of a call on a server. */
export function on(id = ''): { params: { path: { id: string } } } {
  return { params: { path: { id } } };
}

/** Shows a warning and asks for confirmation. Throws CommandError unless the answer is yes. */
export async function confirmed(context: Context, warning: string): Promise<void> {
  const { terminal } = context;
  terminal.err.line(warning);
  if (await saysYes(context, 'Continue?')) return;
  throw failedHere('NOT_CONFIRMED', 'Cancelled: not confirmed. Use --yes to skip the question.');
}

/** Reports whether the answer to a question is yes. */
export async function saysYes({ terminal, input, signal }: Context, question: string): Promise<boolean> {
  terminal.err.write(`${question} [y/N] `);
  const answer = await firstLine(input, signal);
  if (!input.isTTY) terminal.err.line('');
  return /^\s*y(?:es)?\s*$/i.test(answer);
}
