import type { Context } from './command.ts';
import { failed } from './errors.ts';
import { firstLine } from './input.ts';

/** Shows a warning and asks for confirmation. Throws CommandError unless the answer is yes. */
export async function confirmed(context: Context, warning: string): Promise<void> {
  const { terminal } = context;
  terminal.err.line(warning);
  if (await saysYes(context, 'Continue?')) return;
  throw failed('NOT_CONFIRMED', 'Nothing was done: that was not yes. With --yes nothing is asked.');
}

/** Reports whether the answer to a question is yes. */
export async function saysYes({ terminal, input, signal }: Context, question: string): Promise<boolean> {
  terminal.err.write(`${question} [y/N] `);
  const answer = await firstLine(input, signal);
  if (!input.isTTY) terminal.err.line('');
  return /^\s*y(?:es)?\s*$/i.test(answer);
}
