import { type Answer, type Api, done } from './api.ts';
import { failedHere } from './errors.ts';
import { WHO_AM_I, type Wire, read } from './shapes.ts';
import type { Credentials, History } from './stored.ts';
import { type Input, type Output, type Terminal, firstLine } from './terminal.ts';
import { oneLine } from './text.ts';

/** An option for `parseArgs` of `node:util`, with its help text. */
export interface Option {
  type: 'string' | 'boolean';
  short?: string;
  multiple?: boolean;
  /** The placeholder of the value in help, for `string` only. */
  value?: string;
  help: string;
}

/** Returns an option with a value, which help shows as the placeholder. */
export function option(placeholder: string, help: string, short?: string) {
  return { type: 'string', value: placeholder, help, ...(short !== undefined && { short }) } as const;
}

/** Returns an option without a value. */
export function flag(help: string, short?: string) {
  return { type: 'boolean', help, ...(short !== undefined && { short }) } as const;
}

/** The option to change an awake server. */
export const STOP_FIRST = flag('Stop an awake server for it, and start it again afterwards.');

/** The option that skips a confirmation. */
export const YES = flag('Do not ask for confirmation.', 'y');

/** The values of options by name. */
type Values<Options> = {
  [Name in keyof Options]?: Options[Name] extends { type: 'boolean' }
    ? boolean
    : Options[Name] extends { multiple: true }
      ? string[]
      : string;
};

/** The context of a command. */
export interface Context {
  /** Address of the service. */
  url: string;
  api: Api;
  /** For calls that are answered only after long work. */
  slow: Api;
  /** Its calls are also cancelled by the signal. */
  apiUntil: (signal: AbortSignal) => Api;
  terminal: Terminal;
  /** Print the API's JSON instead of text. */
  json: boolean;
  /** Aborted by Ctrl-C. */
  signal: AbortSignal;
  input: Input;
  credentials: { load(): Promise<Credentials>; save(credentials: Credentials): Promise<void> };
  /** Commands typed at consoles. */
  history: History;
  /** Prints one JSON document. */
  document: (value: object) => void;
}

/** A command's usage, help and options; `Options` is inferred. */
interface Usage<Options extends Record<string, Option>> {
  /**
   * The name and arguments, as in the help: `backups restore <id> <backup>`. A subject's command has two words. An
   * argument in brackets is optional. The last one may be repeated if it ends in `...`, and takes the rest of the line
   * unchanged if it ends in `…`.
   */
  usage: string;
  summary: string;
  options?: Options;
  /** The error for too many arguments, in place of the default. */
  tooMany?: string;
  /** Paragraphs and examples for the help. */
  details?: string;
}

/** The values of a command's options by name. */
export type OptionValues = Record<string, string | boolean | string[] | undefined>;

/** A command whose option types are not known statically. */
export interface Command extends Usage<Record<string, Option>> {
  name: string;
  /** Its arguments with their brackets. */
  args: readonly string[];
  run(context: Context, args: string[], values: OptionValues): Promise<void> | void;
}

/** Creates a command whose `run` knows its options' types. */
export function command<const Options extends Record<string, Option>>(
  spec: Usage<Options> & { run(context: Context, args: string[], values: Values<Options>): Promise<void> | void },
): Command {
  const [name = ''] = spec.usage.split(/ [<[]/, 1);
  return { ...spec, name, args: spec.usage.match(/<[^<>]*>|\[[^[\]]*\]/g) ?? [] };
}

/** Commands about one thing, each named by a second word. Without it, the first one is used: `backups castle`. */
export interface Subject {
  name: string;
  summary: string;
  /** Paragraphs for the help. */
  details?: string;
  commands: readonly Command[];
}

/** A section of the help. */
export interface Section {
  title: string;
  entries: readonly (Command | Subject)[];
}

/** Reports whether an entry is a subject. */
export function isSubject(entry: Command | Subject): entry is Subject {
  return 'commands' in entry;
}

/** The context for printing a reply. */
interface Shown<Options> {
  out: Output;
  /** Address of the service. */
  url: string;
  args: string[];
  values: Values<Options>;
  /** Time of the reply, epoch ms. */
  now: number;
}

/** A command that makes one call of the API and shows its reply. */
interface CallSpec<Options extends Record<string, Option>, Shape> extends Usage<Options> {
  /** An irreversible consequence, as a sentence. It must be confirmed first, unless `--yes` is given. */
  warning?: (args: string[], values: Values<Options>) => string;
  call: (context: Context, args: string[], values: Values<Options>) => Promise<Answer<Wire<NoInfer<Shape>>>>;
  /** An example with the fields to show, if any. Their texts are shown on one line. */
  shape?: Shape;
  /** Returns the lines for a person. */
  show: (reply: Shape, shown: Shown<Options>) => Iterable<string>;
  /** Asks a person a question after the reply is printed. */
  after?: (context: Context, reply: Shape) => Promise<void>;
}

/** Creates such a command. With `--json`, it prints the reply unchanged. */
export function call<const Options extends Record<string, Option>, Shape = object>(
  spec: CallSpec<Options, Shape>,
): Command {
  const { warning, call, shape = {} as Shape, show, after, ...rest } = spec;
  return command<Record<string, Option>>({
    ...rest,
    options: { ...spec.options, ...(warning && { yes: YES }) },
    async run(context, args, given: OptionValues) {
      const values = given as Values<Options>;
      if (warning && given['yes'] !== true) await confirmed(context, warning(args, values));
      const reply = await done(call(context, args, values));
      if (context.json) return context.document(reply as object);
      const fields = read(shape, reply, oneLine);
      const { out } = context.terminal;
      for (const line of show(fields, { out, url: context.url, args, values, now: Date.now() })) out.line(line);
      await after?.(context, fields);
    },
  });
}

/** Parameters of a call on a server. */
export function on(id = ''): { params: { path: { id: string } } } {
  return { params: { path: { id } } };
}

/** Parameters of a call on the caller's own account. */
export async function ofAccount(api: Api): Promise<{ params: { path: { accountId: string } } }> {
  const { accountId } = read(WHO_AM_I, await done(api.GET('/v1/whoami')));
  return { params: { path: { accountId } } };
}

/** Shows a warning and asks for confirmation. Throws CommandError unless the answer is yes. */
export async function confirmed(context: Context, warning: string): Promise<void> {
  context.terminal.err.line(warning);
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
