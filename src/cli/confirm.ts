import type { Context } from './command.ts';
import { failed } from './errors.ts';
import { firstLine } from './input.ts';

/** Asks for a yes after a sentence that says what would happen. Throws CommandError where the answer is another. */
export async function confirmed({ terminal, input, signal }: Context, warning: string): Promise<void> {
  terminal.err.line(warning);
  terminal.err.write('Go on? [y/N] ');
  const answer = await firstLine(input, signal);
  if (!input.isTTY) terminal.err.line('');
  if (/^\s*y(?:es)?\s*$/i.test(answer)) return;
  throw failed('NOT_CONFIRMED', 'Nothing was done: that was not yes. With --yes nothing is asked.');
}
