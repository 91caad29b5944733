import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

type Level = 'INFO' | 'WARN' | 'ERROR';

/**
 * Writes lines in the vanilla server's format, `[HH:MM:SS] [thread/LEVEL]: text`, to stdout and to `logs/latest.log`.
 */
export interface Log {
  info(text: string, thread?: string): void;
  warn(text: string, thread?: string): void;
  error(text: string, thread?: string): void;
}

/** Opens the log of one run in `directory`. Compresses the previous run's log there, with its date in the name. */
export function openLog(directory: string): Log {
  const path = join(directory, 'latest.log');
  // Runs even if the log cannot be stored, because the lines still go to stdout.
  attempt(() => {
    mkdirSync(directory, { recursive: true });
    archive(directory, path);
  });
  process.stdout.on('error', () => undefined);
  const write = (level: Level, thread: string, text: string) => {
    const line = `[${clock(new Date())}] [${thread}/${level}]: ${text}\n`;
    process.stdout.write(line);
    attempt(() => appendFileSync(path, line));
  };
  return {
    info: (text, thread = 'Server thread') => write('INFO', thread, text),
    warn: (text, thread = 'Server thread') => write('WARN', thread, text),
    error: (text, thread = 'Server thread') => write('ERROR', thread, text),
  };
}

function archive(directory: string, path: string): void {
  if (!existsSync(path)) return;
  const day = new Date().toISOString().slice(0, 10);
  for (let n = 1; n <= 1_000; n++) {
    const kept = join(directory, `${day}-${n}.log.gz`);
    if (existsSync(kept)) continue;
    writeFileSync(kept, gzipSync(readFileSync(path)));
    break;
  }
  rmSync(path);
}

function clock(date: Date): string {
  return [date.getHours(), date.getMinutes(), date.getSeconds()].map((n) => String(n).padStart(2, '0')).join(':');
}

function attempt(action: () => void): void {
  try {
    action();
  } catch {
    // The error cannot be handled or reported.
  }
}
