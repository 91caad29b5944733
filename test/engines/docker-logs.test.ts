import { PassThrough, Readable } from 'node:stream';
import test from 'ava';
import type Docker from 'dockerode';
import { serverLogs } from '../../src/engines/docker/logs.ts';
import { LOG_PACE } from '../../src/engines/process/log-pace.ts';
import { collect } from '../conformance/engine.ts';
import { fakeClock } from '../fakes/clock.ts';
import { turns } from '../support/turns.ts';
import { until } from '../support/until.ts';

/** A log line in Docker's framing, with a timestamp `ms` after the first line's. */
function framed(ms: number, text: string): Buffer {
  const payload = Buffer.from(`${new Date(1_700_000_000_000 + ms).toISOString().slice(0, -1)}000000Z ${text}\n`);
  const head = Buffer.alloc(8);
  head[0] = 1;
  head.writeUInt32BE(payload.length, 4);
  return Buffer.concat([head, payload]);
}

test('a follower of a container that prints without end is throttled, then moved to the end with a notice', async (t) => {
  t.timeout(300_000);
  let sent = 0;
  function* endless() {
    for (;;) yield Buffer.concat(Array.from({ length: 100 }, () => framed(sent, `line ${sent++} ${'x'.repeat(100)}`)));
  }
  const opened: string[] = [];
  const docker = {
    modem: {
      dial: (
        { options }: { options: { tail: number | 'all'; follow: boolean } },
        done: (e: null, s: Readable) => void,
      ) => {
        opened.push(`${options.tail}${options.follow ? ' follow' : ''}`);
        if (!options.follow) return done(null, Readable.from([]));
        if (options.tail === 'all') return done(null, Readable.from(endless(), { highWaterMark: 4 }));
        const end = new PassThrough();
        end.write(framed(sent, 'near the end'));
        return done(null, end);
      },
    },
  } as unknown as Docker;
  const present = async () => ({ docker, id: 'c', running: true, createdAt: '' });
  const archive = { read: async () => ({ container: undefined, lines: [] }) };
  const clock = fakeClock();
  const logs = serverLogs(archive as unknown as Parameters<typeof serverLogs>[0], present, clock);
  const stop = new AbortController();
  const texts: string[] = [];
  const reading = (async () => {
    for await (const { text } of logs.read('alpha', { follow: true, signal: stop.signal })) {
      texts.push(text);
      if (text === 'near the end') stop.abort();
    }
  })();
  let windows = 0;
  for (; !stop.signal.aborted; await turns(1)) {
    if (clock.pending() === 0) continue;
    windows++;
    await clock.advance(LOG_PACE.windowMs);
  }
  await reading;
  t.regex(texts.at(-2) ?? '', /lines of the log left out/);
  t.is(windows, 25, 'the follower skips after five seconds');
  const chars = texts.slice(0, -2).reduce((sum, text) => sum + text.length, 0);
  t.true(chars > 0 && chars <= windows * LOG_PACE.amount, `${chars} characters in ${windows} windows`);
  t.deepEqual(opened.slice(-2), ['all follow', '100 follow']);
});

test('a Docker log stream that never ends is closed after 30 seconds, and its lines are kept', async (t) => {
  const clock = fakeClock();
  const silent = new PassThrough();
  silent.write(framed(0, 'the last line'));
  const dial = (_: unknown, done: (e: null, s: Readable) => void) => done(null, silent);
  const kept: string[] = [];
  const archive = {
    read: async () => ({ container: undefined, lines: [] }),
    append: async (_: string, __: string, lines: { text: string }[]) =>
      void kept.push(...lines.map(({ text }) => text)),
  };
  const docker = { modem: { dial } } as unknown as Docker;
  const logs = serverLogs(archive as unknown as Parameters<typeof serverLogs>[0], async () => undefined, clock);
  const keeping = logs.keep('alpha', { docker, id: 'c' });
  await until(() => silent.listenerCount('readable') > 0);
  await clock.advance(29_999);
  t.false(silent.destroyed);
  await clock.advance(1);
  await keeping;
  t.deepEqual(kept, ['the last line']);
});

/** The logs of a server whose container output comes from `stream`. */
function logsOf(stream: () => Readable) {
  const docker = { modem: { dial: (_: unknown, done: (e: null, s: Readable) => void) => done(null, stream()) } };
  const present = async () => ({ docker: docker as unknown as Docker, id: 'c', running: true, createdAt: '' });
  const archive = { read: async () => ({ container: undefined, lines: [] }) };
  return serverLogs(archive as unknown as Parameters<typeof serverLogs>[0], present);
}

test('a stalled Docker log stream is closed when its reader leaves', async (t) => {
  const begun: PassThrough[] = [];
  const logs = logsOf(() => {
    const stream = new PassThrough();
    stream.write(framed(0, 'the beginning'));
    begun.push(stream);
    return stream;
  });
  for (const query of [{ tail: 10 }, {}]) {
    const gone = new AbortController();
    const before = begun.length;
    const reading = collect(logs.read('alpha', { ...query, signal: gone.signal }));
    await until(() => begun.length > before);
    gone.abort();
    await reading;
  }
  t.true(
    begun.every(({ destroyed }) => destroyed),
    'every log stream is closed',
  );
});

test('long log lines from Docker are cut to the requested length', async (t) => {
  const logs = logsOf(() => Readable.from([framed(0, 'x'.repeat(20_000)), framed(1, 'short')]));
  const lines = await collect(logs.read('alpha', { tail: 2, lineChars: 100 }));
  t.deepEqual(
    lines.map(({ text }) => text),
    ['x'.repeat(100), 'short'],
  );
});
