import { type DestinationStream, type Logger, pino, stdSerializers } from 'pino';
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
const FIELDS =
  `(?:proxy-)?authorization|(?:x-)?api[-_]?key|cookie|set-cookie|[\\w-]*(?:password|secret|token|webhook_?url)|
  password_?hash|csrf|sid|device_?code|user_?code|ip|(?:ip|remote|client|peer|player)_?address|x-forwarded-for|forwarded|
  x-real-ip`.replace(/\s+/g, '');
const STRING = '"(?:[^"\\\\]|\\\\.)*"';
/** Such a field with its value, in a line of JSON, at any depth: inside a string its quotes would be escaped. */
const SECRET_FIELD = new RegExp(`("(?:${FIELDS})":)(?:${STRING}|\\[(?:${STRING},?)*\\]|-?\\d[\\d.eE+-]*)`, 'gi');
/** API keys, app tokens and device codes wherever else they turn up: in a sentence, a URL, an error's message. */
const TOKEN = /\b(dm[kad]_)[0-9A-Za-z]{20,}/g;
/** Keys of the payment provider, and what it signs with. */
const PAYMENT_KEY = /\b((?:sk|rk)_(?:live|test)_|whsec_)[0-9A-Za-z]{8,}/g;
/** User and password before the host of a URL. */
const USERINFO = /(:\/\/)[^\s"/@\\]{1,256}@/g;
/** The path of a chat platform's webhook is its password. */
const WEBHOOK =
  /(:\/\/(?:[\w-]{1,32}\.)?(?:discord(?:app)?\.com\/api\/(?:v\d{1,3}\/)?webhooks|slack(?:-gov)?\.com\/(?:services|workflows|triggers)))\/[^\s"\\]{1,1024}/gi;

/** Makes the root logger. What it writes has been through `redact`. */
export function createLog({ level, pretty, destination }: LogOptions): Log {
  const readable = pretty ?? (destination === undefined && process.stdout.isTTY);
  const sink = destination ?? process.stdout;
  return pino(
    {
      level,
      base: undefined,
      timestamp: pino.stdTimeFunctions.isoTime,
      serializers: { err: errorFields },
      formatters: { level: (label) => ({ level: label }) },
      hooks: { streamWrite: redact },
    },
    readable ? prettyStream(sink) : sink,
  );
}

/** Errors that say in words what is the matter, and in whose making no line of ours is at fault. */
const EXPECTED = new Set(['StatusError', 'EngineError', 'ConfigError', 'JoinRefused', 'GameEnded']);

/** Returns an error for the log, without its stack if that adds nothing. */
function errorFields(error: unknown): unknown {
  if (!(error instanceof Error) || !EXPECTED.has(error.name)) return stdSerializers.err(error as Error);
  const { name: type, message, cause } = error;
  const { code, reason } = error as { code?: unknown; reason?: unknown };
  const why = cause instanceof Error ? `${message} (${cause.message})` : message;
  if (code === 'INTERNAL') return stdSerializers.err(error);
  return { type, message: why, code, ...(reason !== undefined && { reason }) };
}

/** A line of JSON without its secrets: one pass over the text costs a tenth of looking for fields by path, at any depth. */
export function redact(line: string): string {
  const text = line.replace(SECRET_FIELD, '$1"[redacted]"').replace(TOKEN, '$1[redacted]');
  // Few lines hold a URL or such a key.
  if (!text.includes('://') && !text.includes('_')) return text;
  return text.replace(PAYMENT_KEY, '$1[redacted]').replace(USERINFO, '$1[redacted]@').replace(WEBHOOK, '$1/[redacted]');
}
