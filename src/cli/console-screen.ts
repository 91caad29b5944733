import { type Interface, clearScreenDown, createInterface, cursorTo, moveCursor } from 'node:readline';
import type { Context } from './command.ts';
import type { Output } from './terminal.ts';

/** An input line below the output. */
export interface ConsoleScreen {
  /** The entered lines, until Ctrl-C, Ctrl-D or `close`. */
  lines: AsyncIterable<string>;
  /** Prints a line above the current input, which stays unchanged. */
  above: (text: string) => void;
  /** Shows an empty input line. */
  prompt(): void;
  close(): void;
}

const HISTORY_LINES = 500;

/** The number of rows of the redrawn line: internal to readline and missing from its types. */
type Drawn = Interface & { prevRows?: number };

/** `history` is newest first. `remember` gets it after each change, without lines that start with a space. */
export function openScreen(
  { input, signal }: Pick<Context, 'input' | 'signal'>,
  out: Output,
  name: string,
  history: readonly string[],
  remember: (history: readonly string[]) => void,
): ConsoleScreen {
  const { stream } = out;
  const prompt = `${out.style('dim', `${name}>`)} `;
  const options = { historySize: HISTORY_LINES, removeHistoryDuplicates: true, history: [...history], terminal: true };
  const typed: Drawn = createInterface({ input, output: stream, prompt, ...options });
  let isOpen = true;
  const close = () => typed.close();
  typed.on('close', () => {
    isOpen = false;
    signal.removeEventListener('abort', close);
    // Keeps the current input and starts a new line.
    stream.write('\n');
  });
  typed.on('SIGINT', close);
  typed.on('history', (lines: string[]) => {
    if (lines[0]?.startsWith(' ')) lines.shift();
    remember(lines);
  });
  signal.addEventListener('abort', close);
  if (signal.aborted) close();
  return {
    lines: typed,
    close,
    prompt: () => {
      if (isOpen) typed.prompt();
    },
    above(text) {
      if (!isOpen) {
        stream.write(`${text}\n`);
        return;
      }
      const { rows } = typed.getCursorPos();
      if (rows > 0) moveCursor(stream, 0, -rows);
      cursorTo(stream, 0);
      clearScreenDown(stream);
      stream.write(`${text}\n`);
      typed.prevRows = 0;
      typed.prompt(true);
    },
  };
}
