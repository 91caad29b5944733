import { pino } from 'pino';
import type { DestinationStream, Logger } from 'pino';
import { prettyStream } from './log-pretty.ts';

/**
 * The service's logger. Children are bound to what a line is about: `log.child({ server })`, `conn`, `op`, `requestId`.
 * error: somebody must act · warn: we healed it · info: state changes and joins · debug: the rest.
 */
export type Log = Logger;

export interface LogOptions {
  /** The least level that is written. */
  level: string;
  /** One readable line per entry instead of JSON. Default: whether standard output is a terminal. */
  pretty?: boolean;
  /** Default: standard output. */
  destination?: DestinationStream;
}

/** Names of fields that hold secrets or say where a player sits; letter case does not matter. */
const FIELDS = `authorization|x-api-key|cookie|set-cookie|(?:\\w*_?)(?:password|secret|token)|password_?hash|api_?key|
  device_?code|user_?code|ip|remote_?address`.replace(/\s+/g, '');
const STRING = '"(?:[^"\\\\]|\\\\.)*"';
/** Such a field with its value, in a line of JSON, at any depth: inside a string its quotes would be escaped. */
const SECRET_FIELD = new RegExp(`("(?:${FIELDS})":)(?:${STRING}|\\[(?:${STRING},?)*\\]|-?\\d[\\d.eE+-]*)`, 'gi');
/** API keys, app tokens and device codes wherever else they turn up: in a sentence, a URL, an error's message. */
const TOKEN = /\b(dm[kad]_)[0-9A-Za-z]{20,}/g;

/** Makes the root logger. What it writes has been through `redact`. */
export function createLog({ level, pretty, destination }: LogOptions): Log {
  const readable = pretty ?? (destination === undefined && process.stdout.isTTY);
  const sink = destination ?? process.stdout;
  return pino(
    {
      level,
      base: undefined,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      hooks: { streamWrite: redact },
    },
    readable ? prettyStream(sink) : sink,
  );
}

/** A line of JSON without its secrets: one pass over the text costs a tenth of looking for fields by path, at any depth. */
export function redact(line: string): string {
  return line.replace(SECRET_FIELD, '$1"[redacted]"').replace(TOKEN, '$1[redacted]');
}
