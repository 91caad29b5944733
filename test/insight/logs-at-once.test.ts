import test from 'ava';
import type { LogLine, LogQuery } from '../../src/engines/engine.ts';
import { logOperations } from '../../src/insight/logs-api.ts';

const TAIL = { cursor: '', tail: 1_000 };

interface Answer {
  lines: string[];
}

/** Calls GetServerLogs on an engine whose logs come from `log`. Counts concurrent reads. */
function bench(log: (query: LogQuery) => AsyncIterable<LogLine>) {
  const reading = { now: 0, most: 0 };
  const engine = {
    inspect: async () => undefined,
    async *logs(_: string, query: LogQuery) {
      reading.most = Math.max(reading.most, ++reading.now);
      try {
        yield* log(query);
      } finally {
        reading.now--;
      }
    },
  };
  const shared = { serveServer: (_: unknown, run: unknown) => ({ run }) };
  const [getServerLogs] = logOperations(shared as never, engine as never, undefined as never) as unknown as [
    { run: (call: object) => Promise<Answer> },
  ];
  const read = (accountId: string, signal = new AbortController().signal) =>
    getServerLogs.run({ params: { id: 'abc' }, query: TAIL, server: { row: { accountId } }, signal });
  return { reading, read };
}

test('an account reads two logs at once without delaying other accounts, and an aborted read leaves the queue', async (t) => {
  const gate = Promise.withResolvers<void>();
  const { reading, read } = bench(async function* () {
    await gate.promise;
    yield { position: '1', text: 'x' };
  });
  const eager = Array.from({ length: 10 }, () => read('ann'));
  const other = read('bob');
  const leaving = new AbortController();
  const left = read('ann', leaving.signal);
  leaving.abort();
  await t.throwsAsync(left, { message: /caller/i });
  await new Promise(setImmediate);
  t.is(reading.now, 3);
  gate.resolve();
  t.deepEqual(
    (await Promise.all([...eager, other])).map(({ lines }) => lines.length),
    Array.from({ length: 11 }, () => 1),
  );
  t.is(reading.most, 3);
});

test('log lines are returned without inner line breaks, and long lines are cut', async (t) => {
  const asked: LogQuery[] = [];
  const { read } = bench(async function* (query) {
    asked.push(query);
    yield { position: '1', text: `a\rb\n${'😀'.repeat(8_192)}` };
  });
  const { lines } = await read('ann');
  t.is(lines[0], `ab${'😀'.repeat(4_095)}`);
  t.like(asked[0], { tail: 1_000, lineChars: 8_192 });
});
