import type { Api } from './api.ts';
import type { Credentials } from './credentials.ts';
import type { History } from './history.ts';
import type { Terminal } from './terminal.ts';
import type { Readable } from 'node:stream';

/** An option as `parseArgs` of `node:util` takes it, with its text in help. */
export interface Option {
  type: 'string' | 'boolean';
  short?: string;
  multiple?: boolean;
  /** The placeholder of the value in help; for `string` only. */
  value?: string;
  help: string;
}

/** The values of options, by their names. */
export type Values<Options> = {
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
  /** For calls that are answered once long work is done. */
  slow: Api;
  /** Its calls also end with the signal. */
  apiUntil: (signal: AbortSignal) => Api;
  terminal: Terminal;
  /** Print the API's JSON rather than text. */
  json: boolean;
  /** Aborted by Ctrl-C. */
  signal: AbortSignal;
  input: Readable & { isTTY?: boolean; setRawMode?(on: boolean): unknown };
  credentials: { load(): Promise<Credentials>; save(credentials: Credentials): Promise<void> };
  /** Commands typed at consoles. */
  history: History;
  /** Prints one JSON document. */
  document: (value: object) => void;
}

/** A command with its arguments and options; `Options` is inferred. */
export interface CommandSpec<Options extends Record<string, Option>> {
  /** One word; in a subject its word after that of the subject: `backups make`. */
  name: string;
  summary: string;
  /**
   * Names of its arguments. One in brackets is optional. A last one that ends in `...` may come more than once; one that ends in
   * `…` takes all the rest as written.
   */
  args?: readonly string[];
  options?: Options;
  /** The refusal of an argument too many, in place of the usual sentence. */
  tooMany?: string;
  /** Paragraphs and examples for its help. */
  details?: string;
  run(context: Context, args: string[], values: Values<Options>): Promise<void> | void;
}

/** The values of a command's options, by their names. */
export type OptionValues = Record<string, string | boolean | string[] | undefined>;

/** A command whose options are known only when it runs. */
export interface Command extends Omit<CommandSpec<Record<string, Option>>, 'run'> {
  run(context: Context, args: string[], values: OptionValues): Promise<void> | void;
}

/** A command whose options' types are known to its `run`. */
export function command<const Options extends Record<string, Option>>(spec: CommandSpec<Options>): Command {
  return spec;
}

/** Commands about one thing, each named by a second word. Without that word the first of them is meant: `backups castle`. */
export interface Subject {
  name: string;
  summary: string;
  /** Paragraphs for its help. */
  details?: string;
  commands: readonly Command[];
}

/** A part of help: what belongs together. */
export interface Section {
  title: string;
  entries: readonly (Command | Subject)[];
}

/** Whether it is a subject. */
export function isSubject(entry: Command | Subject): entry is Subject {
  return 'commands' in entry;
}
