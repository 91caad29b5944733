import test from 'ava';
import { api } from '../support/api-harness.ts';

const SMALL = { name: 'My World', ramMb: 256 };

test('logs return the newest lines, then only newer ones', async (t) => {
  const { ok, call, engine } = await api(t);
  await ok('POST', '/v1/servers', SMALL);
  const logs = (query: string) => ok('GET', `/v1/servers/my-world/logs${query}`);
  const empty = await logs('');
  t.like(empty, { containerMissing: true });
  t.deepEqual(empty['lines'], []);

  engine.print('my-world', ...Array.from({ length: 150 }, (_, n) => `line ${n + 1}`), 'a\u001B[31m\rb\n');
  const after = await logs(`?cursor=${String(empty['cursor'])}`);
  t.is((after['lines'] as string[]).length, 100);
  t.is((after['lines'] as string[])[0], 'line 1');
  const rest = await logs(`?cursor=${String(after['cursor'])}`);
  t.deepEqual((rest['lines'] as string[]).slice(-2), ['line 150', 'a\u001B[31mb']);
  t.is((rest['lines'] as string[]).length, 51);
  t.deepEqual(await logs(`?cursor=${String(rest['cursor'])}`), { ...rest, lines: [] });

  t.is(((await logs(''))['lines'] as string[]).at(-2), 'line 150');
  t.deepEqual((await logs('?tail=2'))['lines'], ['line 150', 'a\u001B[31mb']);
  t.deepEqual(await logs('?tail=0'), { lines: [], cursor: rest['cursor'], containerMissing: true });
  t.deepEqual((await logs('?tail=-5'))['lines'], []);
  for (const tail of ['99999', '99999999999'])
    t.is(((await logs(`?tail=${tail}`))['lines'] as string[]).length, 151, tail);
  for (const unknown of ['nonsense', '%00', Buffer.from('["other","1"]').toString('base64url'), 'bnVsbA']) {
    t.is(((await logs(`?cursor=${unknown}`))['lines'] as string[]).length, 100, unknown);
  }
  for (const query of ['?tail=x', '?tail=1.5', '?tail=1&tail=2', `?cursor=${'x'.repeat(2000)}`]) {
    t.is((await call('GET', `/v1/servers/my-world/logs${query}`)).reason, 'INVALID_FIELD', query);
  }
  t.is((await call('GET', '/v1/servers/my-world/logs?nonsense=1&nonsense=2')).status, 200);
});

test('logs report whether a container runs, and return 503 while the engine is away', async (t) => {
  const { ok, call, engine, reach } = await api(t);
  await ok('POST', '/v1/servers', SMALL);
  await ok('POST', '/v1/servers/my-world:start');
  await reach('my-world', 'running');
  t.like(await ok('GET', '/v1/servers/my-world/logs'), { containerMissing: false });
  engine.away();
  const { status, reason, headers } = await call('GET', '/v1/servers/my-world/logs');
  t.deepEqual([status, reason, headers.get('retry-after')], [503, 'LOGS_UNAVAILABLE', '1']);
});
