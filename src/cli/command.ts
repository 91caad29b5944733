import type { Api } from './api.ts';
import type { Credentials } from './credentials.ts';
import type { History } from './history.ts';
import type { Terminal } from './terminal.ts';
import type { Readable } from 'node:stream';

/** An option for `parseArgs` of `node:util`, with its help text. */
export interface Option {
  type: 'string' | 'boolean';
  short?: string;
  multiple?: boolean;
  /** The placeholder of the value in help, for `string` only. */
  value?: string;
  help: string;
}

/** The values of options by name. */
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
  /** For calls that are answered only after long work. */
  slow: Api;
  /** Its calls are also cancelled by the signal. */
  apiUntil: (signal: AbortSignal) => Api;
  terminal: Terminal;
  /** Print the API's JSON instead of text. */
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
  /** A single word; for a subject's command, both words: `backups make`. */
  name: string;
  summary: string;
  /**
   * Names of its arguments. One in brackets is optional. The last one may be repeated if it ends in `...`, and takes
   * the rest of the line unchanged if it ends in `…`.
   */
  args?: readonly string[];
  options?: Options;
  /** The error for too many arguments, in place of the default. */
  tooMany?: string;
  /** Paragraphs and examples for the help. */
  details?: string;
  run(context: Context, args: string[], values: Values<Options>): Promise<void> | void;
}

/** The values of a command's options by name. */
export type OptionValues = Record<string, string | boolean | string[] | undefined>;

/** A command whose option types are not known statically. */
export interface Command extends Omit<CommandSpec<Record<string, Option>>, 'run'> {
  run(context: Context, args: string[], values: OptionValues): Promise<void> | void;
}

/** Creates a command whose `run` knows its options' types. */
export function command<const Options extends Record<string, Option>>(spec: CommandSpec<Options>): Command {
  return spec;
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
