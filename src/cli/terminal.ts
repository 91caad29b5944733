import type { Writable } from 'node:stream';
import { styleText } from 'node:util';
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
export type TerminalEnv = Readonly<{ NO_COLOR?: string; TERM?: string }>;

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
