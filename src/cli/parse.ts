import { parseArgs } from 'node:util';
import { DORMOUSE } from './called.ts';
import type { Command, Option, OptionValues } from './command.ts';
import { wrongUsage } from './errors.ts';
import { didYouMean, nearest } from './suggest.ts';

/** Options of all commands. */
export const GLOBAL_OPTIONS = {
  url: {
    type: 'string',
    value: 'address',
    help: 'Address of the service (or DORMOUSE_URL; default: your last sign-in, or .env in this folder).',
  },
  json: { type: 'boolean', help: "Print the API's JSON. Errors go to standard error." },
  help: { type: 'boolean', short: 'h', help: 'Show this help.' },
} as const satisfies Record<string, Option>;

const VERSION_OPTION = { version: { type: 'boolean', short: 'V' } } as const;

export interface GlobalValues {
  url?: string;
  json?: boolean;
  help?: boolean;
  /** Only before the command: after it, the word may be the command's own option. */
  version?: boolean;
}

/** A command line: the options before the command, its name, and the rest. */
interface CommandLine {
  globals: GlobalValues;
  /** Undefined if no command is named. */
  name: string | undefined;
  rest: string[];
}

/** Throws wrong usage for an unknown option before the command. */
export function splitCommandLine(argv: readonly string[]): CommandLine {
  let at = 0;
  while (at < argv.length && argv[at]?.startsWith('-')) at += argv[at] === '--url' ? 2 : 1;
  const options = { ...GLOBAL_OPTIONS, ...VERSION_OPTION };
  const { values } = explained(() => parseArgs({ args: argv.slice(0, at), options, strict: true }));
  return { globals: values, name: argv[at], rest: argv.slice(at + 1) };
}

interface Parsed {
  args: string[];
  values: GlobalValues & OptionValues;
}

/**
 * Parses the arguments and options of a command. Throws wrong usage for unknown options and a wrong number of
 * arguments.
 */
export function parseCommand(command: Command, rest: readonly string[]): Parsed {
  const { args: names, options = {} } = command;
  const takesRest = /…[>\]]$/.test(names.at(-1) ?? '');
  const { ours, raw } = takesRest ? apart(rest, names.length - 1) : { ours: [...rest], raw: [] };
  const all = { ...GLOBAL_OPTIONS, ...options };
  const { values, positionals } = explained(
    () => parseArgs({ args: ours, options: all, allowPositionals: true, strict: true }),
    Object.keys(all),
    command.tooMany,
  );
  const args = [...positionals, ...raw];
  if (!values['help']) checkCount(command, args, takesRest);
  return { args, values };
}

/**
 * Separates the words after the named arguments, which are passed on unchanged (`tp Steve -10 64 -3`), from options of
 * all commands. After `--`, those are passed on, too.
 */
function apart(rest: readonly string[], named: number): { ours: string[]; raw: string[] } {
  const ours: string[] = [];
  const raw: string[] = [];
  let seen = 0;
  for (let at = 0; at < rest.length; at++) {
    const word = rest[at] ?? '';
    if (word === '--') {
      const left = rest.slice(at + 1);
      ours.push(...left.slice(0, named - seen));
      raw.push(...left.slice(named - seen));
      break;
    }
    if (word === '--url') ours.push(word, ...rest.slice(++at, at + 1));
    else if (/^--(?:json|help|url=.*)$/s.test(word) || (seen < named && word.startsWith('-'))) ours.push(word);
    else if (seen === named) raw.push(word);
    else {
      ours.push(word);
      seen++;
    }
  }
  return { ours, raw };
}

function checkCount({ name, args: names, tooMany }: Command, args: string[], takesRest: boolean): void {
  const missing = names.filter((each) => each.startsWith('<'))[args.length];
  if (missing !== undefined) throw wrongUsage(`${name} needs ${missing}. See: ${DORMOUSE} ${name} --help`);
  // The extra word is not repeated, because it may be a key.
  if (args.length > names.length && !takesRest && !/\.\.\.[>\]]$/.test(names.at(-1) ?? ''))
    throw wrongUsage(tooMany ?? `Too many arguments. See: ${DORMOUSE} ${name} --help`);
}

function explained<Result>(
  parse: () => Result,
  known: readonly string[] = Object.keys(GLOBAL_OPTIONS),
  tooMany?: string,
): Result {
  try {
    return parse();
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    if (tooMany !== undefined && error.message.includes('does not take an argument')) throw wrongUsage(tooMany);
    const [sentence = ''] = error.message.split(/\. |\n/);
    const [, option = ''] = /^Unknown option '--([^'=]+)/.exec(sentence) ?? [];
    const suggestions = nearest(option, known).map((name) => `--${name}`);
    throw wrongUsage(`${sentence.replace(/\.$/, '')}. ${didYouMean(suggestions)}`.trimEnd());
  }
}

/** Parses a whole number from an option; undefined if it is not given. Throws wrong usage. */
export function wholeNumber(name: string, text: string | undefined, most: number): number | undefined {
  if (text === undefined) return undefined;
  if (/^\d{1,9}$/.test(text) && Number(text) <= most) return Number(text);
  throw wrongUsage(`--${name} must be a whole number from 0 to ${most}.`);
}

/** Parses a whole number from an argument. Throws wrong usage. */
export function argumentNumber(name: string, text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw wrongUsage(`<${name}> must be a whole number.`);
}

/** Returns the fields that have a value. */
export function given<Fields extends object>(fields: Fields) {
  const set = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(set) as { [Name in keyof Fields]?: Exclude<Fields[Name], undefined> };
}

/** Returns the choice that a text names. Throws wrong usage. */
export function oneOf<const Choice extends string>(choices: readonly Choice[], text: string, message: string): Choice {
  const found = choices.find((each) => each === text);
  if (found === undefined) throw wrongUsage(message);
  return found;
}

/** Parses `on` or `off` from an argument. Throws wrong usage. */
export function onOff(text: string): boolean {
  return oneOf(['on', 'off'], text, 'The value must be on or off.') === 'on';
}

const SECONDS: Record<string, number> = {
  s: 1,
  min: 60,
  m: 60,
  h: 3600,
  d: 86_400,
  day: 86_400,
  w: 604_800,
  week: 604_800,
};

/** Parses a duration into seconds: `90s`, `30min`, `12h`, `7d`, `2w`. Throws wrong usage. */
export function spanSeconds(name: string, text: string): number {
  const [, count = '', unit = ''] = /^(\d{1,6}) ?(s|min|m|h|d|days?|w|weeks?)$/.exec(text.trim()) ?? [];
  const each = SECONDS[unit.replace(/^(day|week)s$/, '$1')];
  if (each === undefined || Number(count) === 0)
    throw wrongUsage(`--${name} must look like 30s, 10min, 12h, 7d or 2w.`);
  return Number(count) * each;
}

/** Parses an instant: RFC 3339, a day, or a duration before or after `now`. */
export function instant(name: string, text: string, now: number, direction: 'ago' | 'ahead'): string {
  const at = /^\d{4}-/.test(text)
    ? Date.parse(text)
    : now + (direction === 'ahead' ? 1 : -1) * spanSeconds(name, text) * 1000;
  if (Number.isNaN(at)) throw wrongUsage(`--${name} must look like 2026-11-30, 2026-11-30T20:00:00Z or 7d.`);
  return new Date(at).toISOString();
}
