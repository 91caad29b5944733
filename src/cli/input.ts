import process from 'node:process';
import { addAbortSignal } from 'node:stream';
import type { Context } from './command.ts';
import { wrongUsage } from './errors.ts';

const MAX_LINE = 4096;
const MAX_INPUT = 8 * 1024 * 1024;

/**
 * Returns the first line of the input; '' if it is empty. Rejects when the signal is aborted. Closes the input
 * afterwards, because its writer may keep it open.
 */
export async function firstLine(input: Context['input'], signal: AbortSignal): Promise<string> {
  let text = '';
  try {
    for await (const chunk of chunks(input, signal)) {
      text += chunk;
      if (/[\r\n]/.test(text) || text.length > MAX_LINE) break;
    }
  } finally {
    input.destroy();
  }
  return text.split(/[\r\n]/, 1)[0] ?? '';
}

/** Returns the whole input, up to some megabytes. Rejects when the signal is aborted. */
export async function wholeInput(input: Context['input'], signal: AbortSignal): Promise<string> {
  let text = '';
  for await (const chunk of chunks(input, signal)) {
    text += chunk;
    if (text.length > MAX_INPUT) throw wrongUsage('The input is too long for one call.');
  }
  return text;
}

/**
 * Reads the first line without echo. On a terminal, `ask` is called once the echo is off, so that text pasted
 * immediately is not shown. Always restores the terminal's mode.
 */
export async function secretLine(input: Context['input'], signal: AbortSignal, ask: () => void): Promise<string> {
  if (!input.isTTY || input.setRawMode === undefined) return firstLine(input, signal);
  let text = '';
  input.setRawMode(true);
  try {
    ask();
    for await (const chunk of chunks(input, signal)) {
      for (const letter of chunk) {
        if (letter === '\r' || letter === '\n' || letter === '\u0004') return text;
        // In raw mode, Ctrl-C sends no signal.
        if (letter === '\u0003') process.kill(process.pid, 'SIGINT');
        else if (letter === '\u007f' || letter === '\b') text = text.slice(0, -1);
        else if (text.length < MAX_LINE) text += letter;
      }
    }
    return text;
  } finally {
    input.setRawMode(false);
    input.destroy();
  }
}

async function* chunks(input: Context['input'], signal: AbortSignal): AsyncGenerator<string> {
  input.setEncoding('utf8');
  addAbortSignal(signal, input);
  // Keeps the input open, so that the terminal's mode can be restored.
  yield* input.iterator({ destroyOnReturn: false }) as AsyncIterable<string>;
}
