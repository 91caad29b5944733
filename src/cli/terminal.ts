import process from 'node:process';
import { type Readable, type Writable, addAbortSignal } from 'node:stream';
import { styleText } from 'node:util';
import { wrongUsage } from './errors.ts';
import { cut } from './text.ts';

type Format = Parameters<typeof styleText>[0];

/** The two streams of a command: results go to `out`, progress and notes to `err`. */
export interface Terminal {
  out: Output;
  err: Output;
  /**
   * Shows a changing line: redrawn in place on a terminal, otherwise `plain` once per change. The next note clears it.
   */
  progress(line: string, plain?: string): void;
  /** Prints a line for the person at the terminal and ends the progress line. */
  note(line: string): void;
  /** Removes the progress line. */
  clear(): void;
}

/** A stream and its capabilities. */
export interface Output {
  /** 80 if unknown. */
  readonly columns: number;
  readonly isTerminal: boolean;
  readonly colours: boolean;
  /** The raw stream. */
  readonly stream: Writable;
  /** Returns the text in a style if the stream shows colours, otherwise unchanged. */
  style(format: Format, text: string): string;
  line(text: string): void;
  write(text: string): void;
  /** Writes bytes, and resolves once there is room for more. */
  bytes(chunk: Uint8Array): Promise<void>;
}

/** The environment's settings for colours (https://no-color.org). */
type TerminalEnv = Readonly<{ NO_COLOR?: string; TERM?: string }>;

type Stream = Writable & { isTTY?: boolean; columns?: number };

export function createTerminal(streams: { stdout: Stream; stderr: Stream }, env: TerminalEnv): Terminal {
  const out = output(streams.stdout, env);
  const err = output(streams.stderr, env);
  let drawn = false;
  let last = '';

  function clear(): void {
    if (drawn) err.write('\r\x1b[K');
    drawn = false;
  }

  return {
    out,
    err,
    clear,
    note(line) {
      clear();
      err.line(line);
    },
    progress(line, plain = line) {
      if (err.isTerminal) {
        // A line that wraps could not be redrawn.
        err.write(`\r\x1b[K${cut(line, err.columns - 1)}`);
        drawn = true;
      } else if (plain !== last) {
        err.line(plain);
      }
      last = plain;
    },
  };
}

function output(stream: Stream, env: TerminalEnv): Output {
  const isTerminal = stream.isTTY === true;
  const colours = isTerminal && !env.NO_COLOR && env.TERM !== 'dumb';
  return {
    isTerminal,
    colours,
    stream,
    get columns() {
      return stream.columns || 80;
    },
    style: (format, text) => (colours ? styleText(format, text, { validateStream: false }) : text),
    line: (text) => void stream.write(`${text}\n`),
    write: (text) => void stream.write(text),
    bytes: (chunk) => new Promise((resolve) => void (stream.write(chunk) ? resolve() : stream.once('drain', resolve))),
  };
}

/** Standard input, which may be a terminal. */
export type Input = Readable & { isTTY?: boolean; setRawMode?(on: boolean): unknown };

const MAX_LINE = 4096;
const MAX_INPUT = 8 * 1024 * 1024;

/**
 * Returns the first line of the input; '' if it is empty. Rejects when the signal is aborted. Closes the input
 * afterwards, because its writer may keep it open.
 */
export async function firstLine(input: Input, signal: AbortSignal): Promise<string> {
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
export async function wholeInput(input: Input, signal: AbortSignal): Promise<string> {
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
export async function secretLine(input: Input, signal: AbortSignal, ask: () => void): Promise<string> {
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

async function* chunks(input: Input, signal: AbortSignal): AsyncGenerator<string> {
  input.setEncoding('utf8');
  addAbortSignal(signal, input);
  // Keeps the input open, so that the terminal's mode can be restored.
  yield* input.iterator({ destroyOnReturn: false }) as AsyncIterable<string>;
}
