import type { Command, Option } from './command.ts';
import { GLOBAL_OPTIONS } from './parse.ts';
import { aligned } from './table.ts';

/** The help of the program: a line per command. */
export function programHelp(commands: readonly Command[]): string {
  return lines(
    'Minecraft servers that sleep until somebody joins.',
    '',
    'Usage: npx dormouse <command> [options]',
    '',
    ...aligned(commands.map((each) => ['', [each.name, ...(each.args ?? []).map(argument)].join(' '), each.summary])),
    '',
    'Options of every command:',
    ...optionLines({
      ...GLOBAL_OPTIONS,
      version: { type: 'boolean', short: 'V', help: "Print this program's version (before a command only)." },
    }),
    '',
    'Exit codes: 0 done; 1 the service refused; 2 wrong usage; 3 not signed in, or no service there.',
    'DORMOUSE_KEY is used in place of a stored key. NO_COLOR turns colours off.',
  );
}

/** The help of one command. */
export function commandHelp({ name, summary, args = [], options = {}, details }: Command): string {
  return lines(
    summary,
    '',
    `Usage: ${['npx dormouse', name, ...args.map(argument), '[options]'].join(' ')}`,
    ...(details === undefined ? [] : ['', details.trim()]),
    '',
    'Options:',
    ...optionLines({ ...options, ...GLOBAL_OPTIONS }),
  );
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

function argument(name: string): string {
  return name.startsWith('[') ? name : `<${name}>`;
}

function lines(...all: string[]): string {
  return all.join('\n');
}
