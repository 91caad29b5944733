import type { Log } from './ports.ts';

const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'];
/** Fields whose values are redacted: players' addresses. */
const REDACTED = new Set(['ip']);
/** Most bytes logged here while the service is away, because the log file of this process is not rotated. */
const MOST_BYTES = 16 * 1024 * 1024;

type Write = (level: 'debug' | 'info' | 'warn', fields: object, message: string) => boolean;

/**
 * Writes lines in pino's format to standard output. With `elsewhere`, each line goes there first; only rejected lines
 * are written, and at most 16 MiB until `elsewhere` accepts a line again. Without it, all lines are written, and the
 * parent process rotates the log.
 */
export function createProxyLog(level: string, elsewhere?: Write): Log & { setLevel(level: string): void } {
  let least = LEVELS.indexOf(level);
  let written = 0;
  const log = (level: 'debug' | 'info' | 'warn') => (fields: object, msg: string) => {
    if (LEVELS.indexOf(level) < least) return;
    const plain = Object.fromEntries(Object.entries(fields).map(([key, value]) => [key, plainOf(key, value)]));
    const isTaken = elsewhere?.(level, plain, msg) ?? false;
    if (isTaken) written = 0;
    if (isTaken || (elsewhere && written > MOST_BYTES)) return;
    const line = `${JSON.stringify({ level, time: new Date().toISOString(), room: 'proxy', ...plain, msg })}\n`;
    written += line.length;
    process.stdout.write(line);
  };
  return {
    debug: log('debug'),
    info: log('info'),
    warn: log('warn'),
    setLevel(level) {
      least = LEVELS.indexOf(level);
    },
  };
}

function plainOf(key: string, value: unknown): unknown {
  if (REDACTED.has(key)) return '[redacted]';
  if (!(value instanceof Error)) return value;
  const { name, message, stack } = value;
  return { type: name, message, stack };
}
