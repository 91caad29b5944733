import test from 'ava';
import { watchDefaultServer } from '../../src/joining/open.ts';
import { Routing } from '../../src/joining/routing.ts';
import { createLog } from '../../src/kernel/log.ts';
import { Addresses } from '../../src/servers/api/addresses.ts';
import { listRoutes } from '../../src/servers/rows.ts';
import { OPEN_POLICY } from '../support/join-policy.ts';
import { world } from '../support/world.ts';

test('an unknown DEFAULT_SERVER is logged with the nearest id, at start and when the server is deleted', async (t) => {
  const w = await world(t);
  const { servers } = w;
  await w.create('castle');
  const known = new Set(['castle']);
  const ids = () => [...known];
  const logged: string[] = [];
  const log = createLog({ level: 'warn', pretty: false, destination: { write: (line) => void logged.push(line) } });
  const watch = (id: string) => {
    const watched = watchDefaultServer(servers, log, id, ids);
    t.teardown(() => watched.close());
    return watched.trouble();
  };
  t.is(watch(''), undefined);
  t.is(watch('castle'), undefined);
  t.deepEqual(logged, []);
  t.regex(watch('castel') ?? '', /^DEFAULT_SERVER is castel, but no server has that id\. .* Did you mean castle\?$/);
  t.notRegex(watch('lobby') ?? '', /Did you mean/);
  t.is(logged.length, 2);
  known.clear();
  await servers.send('castle', { type: 'DELETE', at: 0, cause: { kind: 'user', id: 'usr_test', note: '' } });
  await w.reach('castle', 'gone');
  t.regex(logged.at(-1) ?? '', /DEFAULT_SERVER is castle, but/);
  t.is(logged.length, 3);
});

test('deleting the server at localhost does not change the address of other servers', async (t) => {
  const w = await world(t);
  const { servers, clock } = w;
  const log = createLog({ level: 'silent' });
  let kept: string | undefined;
  const open = async () => {
    const localhost = { id: kept, changed: (id: string) => void (kept = id) };
    const at = { publicHost: 'localhost', localhost, sleepers: await listRoutes(w.store) };
    const routing = new Routing({ servers, clock, log, joinPolicy: OPEN_POLICY, ...at });
    t.teardown(() => routing.close());
    const meant = () => routing.meant();
    const addresses = new Addresses('localhost', () => 25_565, { meant });
    const addressOf = (id: string) => addresses.of({ id, hostname: id, networkPort: null });
    return { addressOf, joined: (host: string) => routing.lookup(host)?.serverId };
  };
  await w.create('castle', { createdAt: 1 });
  await w.create('tower', { createdAt: 2 });
  const before = await open();
  t.deepEqual([before.addressOf('castle'), before.addressOf('tower')], ['localhost', 'tower.localhost']);
  await w.command('castle', 'DELETE');
  await w.reach('castle', 'gone');
  for (const each of [before, await open()]) {
    t.is(each.addressOf('tower'), 'tower.localhost');
    t.is(each.joined('localhost'), 'tower', 'localhost leads to the remaining server');
  }
  await w.create('keep', { createdAt: 3 });
  for (const each of [before, await open()]) {
    t.deepEqual([each.addressOf('tower'), each.addressOf('keep')], ['tower.localhost', 'localhost']);
    t.is(each.joined('localhost'), 'keep');
  }
});
