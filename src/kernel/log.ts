import { type DestinationStream, type Logger, pino, stdSerializers } from 'pino';

/**
 * The service's logger. Child loggers carry the subject of an entry: `log.child({ server })`, `conn`, `op`,
 * `requestId`. error: an operator must act · warn: the service recovered · info: state changes and joins · debug: the
 * rest.
 */
export type Log = Logger;

/** Names of fields that contain secrets or IP addresses, in any letter case. */
const FIELDS =
  `(?:proxy-)?authorization|(?:x-)?api[-_]?key|cookie|set-cookie|[\\w-]*(?:password|secret|token|webhook_?url)|
  password_?hash|csrf|sid|device_?code|user_?code|ip|(?:ip|remote|client|peer|player)_?address|x-forwarded-for|forwarded|
  x-real-ip`.replace(/\s+/g, '');
const STRING = '"(?:[^"\\\\]|\\\\.)*"';
/**
 * Matches such a field with its value, at any depth of a JSON line. Text inside strings does not match, because its
 * quotes are escaped.
 */
const SECRET_FIELD = new RegExp(`("(?:${FIELDS})":)(?:${STRING}|\\[(?:${STRING},?)*\\]|-?\\d[\\d.eE+-]*)`, 'gi');
/** API keys, app tokens and device codes in any other place: a sentence, a URL, an error's message. */
const TOKEN = /\b(dm[kad]_)[0-9A-Za-z]{20,}/g;
/** Keys and webhook signing secrets of the payment provider. */
const PAYMENT_KEY = /\b((?:sk|rk)_(?:live|test)_|whsec_)[0-9A-Za-z]{8,}/g;
/** User and password before the host of a URL. */
const USERINFO = /(:\/\/)[^\s"/@\\]{1,256}@/g;
/** The path of a chat platform's webhook acts as its password. */
const WEBHOOK =
  /(:\/\/(?:[\w-]{1,32}\.)?(?:discord(?:app)?\.com\/api\/(?:v\d{1,3}\/)?webhooks|slack(?:-gov)?\.com\/(?:services|workflows|triggers)))\/[^\s"\\]{1,1024}/gi;

/** Creates the root logger. All its output passes through `redact`. */
export function createLog({
  level,
  pretty,
  destination,
}: {
  /** The lowest level that is written. */
  level: string;
  /** One readable line per entry instead of JSON. Default: whether standard output is a terminal. */
  pretty?: boolean;
  /** Default: standard output. */
  destination?: DestinationStream;
}): Log {
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

/** Errors with a clear message that no defect in our code has caused, so that their stack adds nothing. */
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

/**
 * Returns a line of JSON without its secrets. One pass over the text costs a tenth of a search for fields by path, and
 * covers any depth.
 */
export function redact(line: string): string {
  const text = line.replace(SECRET_FIELD, '$1"[redacted]"').replace(TOKEN, '$1[redacted]');
  // Most lines contain neither a URL nor such a key.
  if (!text.includes('://') && !text.includes('_')) return text;
  return text.replace(PAYMENT_KEY, '$1[redacted]').replace(USERINFO, '$1[redacted]@').replace(WEBHOOK, '$1/[redacted]');
}

/** The fields with the subject of an entry, shown before the message in this order. */
const BINDINGS = ['server', 'conn', 'op', 'requestId'];
const COLOURS: Record<string, string> = { error: '31', fatal: '31', warn: '33', info: '32', debug: '90', trace: '90' };

/** Fields left out because the message already contains them, by the fields that identify the kind of entry. */
const SAID: readonly (readonly [kind: readonly string[], said: readonly string[]])[] = [
  [
    ['server', 'from', 'to', 'event'],
    ['server', 'from', 'to', 'event', 'cause', 'failure'],
  ],
  [
    ['method', 'status', 'ms'],
    ['op', 'requestId', 'method', 'path', 'status', 'reason', 'ms'],
  ],
  [
    ['server', 'player'],
    ['server', 'player', 'room', 'playedMs', 'protocol'],
  ],
  [
    ['host', 'player', 'rule'],
    ['host', 'player', 'room', 'rule'],
  ],
  [
    ['http', 'players', 'sftp'],
    ['sftpKey', 'engine'],
  ],
];
/** A field with a text of several lines, shown below the entry. */
const LETTER = 'letter';

/**
 * Converts pino's JSON lines to `12:34:56.789 info  [server=amber] message key=value`, with an error's stack below.
 * Leaves out the proxy's `info` entries before the first `ready`, which summarizes them.
 */
function prettyStream(sink: DestinationStream): DestinationStream {
  let isReady = false;
  return {
    write(line) {
      let entry: Record<string, unknown>;
      try {
        entry = JSON.parse(line) as Record<string, unknown>;
      } catch {
        return sink.write(line);
      }
      isReady ||= entry['msg'] === 'ready';
      if (isReady || entry['room'] !== 'proxy' || entry['level'] !== 'info') sink.write(prettyLine(entry));
    },
  };
}

function prettyLine(entry: Record<string, unknown>): string {
  const { time, level, msg, err, [LETTER]: letter, ...rest } = entry;
  const said = SAID.find(([kind]) => kind.every((name) => name in rest))?.[1] ?? [];
  const about = BINDINGS.filter((name) => name in rest && !said.includes(name)).map(
    (name) => `${name}=${show(rest[name])}`,
  );
  const fields = Object.entries(rest).filter(([name]) => !BINDINGS.includes(name) && !said.includes(name));
  const parts = [
    String(time).slice(11, 23),
    `\x1b[${COLOURS[String(level)] ?? '0'}m${String(level).padEnd(5)}\x1b[0m`,
    ...(about.length > 0 ? [`[${about.join(' ')}]`] : []),
    visible(typeof msg === 'string' ? msg : ''),
    ...fields.map(([name, value]) => `\x1b[90m${name}=\x1b[0m${show(value)}`),
  ];
  return `${parts.join(' ')}\n${below(typeof letter === 'string' ? letter.trimEnd() : '')}${stackOf(err)}`;
}

function show(value: unknown): string {
  return typeof value === 'string' && /^[^\s"=\p{Cc}]+$/u.test(value) ? value : visible(JSON.stringify(value));
}

/** Escapes control characters, so that text from outside cannot move the terminal's cursor or change its colours. */
function visible(text: string): string {
  return text.replace(/\p{Cc}/gu, (control) => `\\x${control.charCodeAt(0).toString(16).padStart(2, '0')}`);
}

function stackOf(err: unknown): string {
  if (typeof err !== 'object' || err === null) return '';
  const { stack, message } = err as { stack?: string; message?: string };
  return below(stack ?? message ?? '');
}

/** Returns a text with each line indented; '' for ''. */
function below(text: string): string {
  if (text === '') return '';
  return text
    .split('\n')
    .map((line) => `    ${visible(line)}\n`)
    .join('');
}
