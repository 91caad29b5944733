import type { Writable } from 'node:stream';
import { styleText } from 'node:util';
import { cut } from './text.ts';

type Format = Parameters<typeof styleText>[0];

/** The two streams of a command: results go to `out`, progress and notes to `err`. */
export interface Terminal {
  out: Output;
  err: Output;
  /**
   * One line that changes: redrawn in place on a terminal, otherwise `plain` once per change. Cleared by the next note.
   */
  progress(line: string, plain?: string): void;
  /** A line for the person at the terminal; ends the progress line. */
  note(line: string): void;
  /** Removes the progress line. */
  clear(): void;
}

/** One stream, and what it can show. */
export interface Output {
  /** 80 where it is unknown. */
  readonly columns: number;
  readonly isTerminal: boolean;
  readonly colours: boolean;
  /** For what draws by itself. */
  readonly stream: Writable;
  /** The text in a style where the stream shows colours, otherwise as it is. */
  style(format: Format, text: string): string;
  line(text: string): void;
  write(text: string): void;
  /** Resolves once there is room for more. */
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
