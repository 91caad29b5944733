import type { DestinationStream } from 'pino';

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
export function prettyStream(sink: DestinationStream): DestinationStream {
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
