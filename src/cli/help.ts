import { DORMOUSE } from './called.ts';
import { type Command, type Option, type Section, type Subject, isSubject } from './command.ts';
import { verbsOf } from './find.ts';
import { aligned } from './format.ts';
import { GLOBAL_OPTIONS } from './parse.ts';

/** Returns the program's help: a line per command or subject, grouped by topic. */
export function programHelp(sections: readonly Section[]): string {
  const rows = sections.flatMap(({ entries }) => entries.map((each) => ['', heading(each), each.summary]));
  const entryLines = aligned(rows);
  return lines(
    'Minecraft servers that sleep until someone joins.',
    '',
    `Usage: ${DORMOUSE} <command> [options]`,
    ...sections.flatMap(({ title, entries }) => ['', `${title}:`, ...entryLines.splice(0, entries.length)]),
    '',
    'Global options:',
    ...optionLines({
      ...GLOBAL_OPTIONS,
      version: { type: 'boolean', short: 'V', help: "Print this program's version (before a command only)." },
    }),
    '',
    `Details: ${DORMOUSE} help backups, ${DORMOUSE} help backups restore`,
    'Exit codes: 0 success; 1 refused by the service; 2 wrong usage; 3 not signed in, or service not reachable.',
    'DORMOUSE_KEY overrides a stored API key. NO_COLOR turns colours off.',
  );
}

/** Returns a subject's help: a line per command. */
export function subjectHelp({ name, summary, details, commands }: Subject): string {
  return lines(
    summary,
    '',
    `Usage: ${DORMOUSE} ${name} <command> [options]`,
    '',
    ...aligned(commands.map((each) => ['', heading(each), each.summary])),
    ...(details === undefined ? [] : ['', details.trim()]),
    '',
    'Global options:',
    ...optionLines(GLOBAL_OPTIONS),
    '',
    `Details: ${DORMOUSE} help ${commands[0]?.name ?? name}`,
  );
}

/** Returns the help of one command. */
export function commandHelp({ usage, summary, options = {}, details }: Command): string {
  return lines(
    summary,
    '',
    `Usage: ${DORMOUSE} ${usage} [options]`,
    ...(details === undefined ? [] : ['', details.trim()]),
    '',
    'Options:',
    ...optionLines({ ...options, ...GLOBAL_OPTIONS }),
  );
}

function heading(entry: Command | Subject): string {
  return isSubject(entry) ? `${entry.name} ${few(verbsOf(entry))}` : entry.usage;
}

/** Names the first commands of a subject, whose help lists them all. */
function few(verbs: readonly string[]): string {
  const shown = verbs.slice(0, 3).join('|');
  return verbs.length > 3 ? `${shown}|…` : shown;
}

function optionLines(options: Record<string, Option>): string[] {
  return aligned(
    Object.entries(options).map(([name, { short, value, multiple, help }]) => [
      '',
      short === undefined ? '' : `-${short}`,
      `--${name}${value === undefined ? '' : ` <${value}>`}${multiple ? ' …' : ''}`,
      help,
    ]),
  );
}

function lines(...all: string[]): string {
  return all.join('\n');
}
