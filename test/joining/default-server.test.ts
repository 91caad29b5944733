import test from 'ava';
import { watchDefaultServer } from '../../src/joining/default-server.ts';
import { createLog } from '../../src/kernel/log.ts';
import { world } from '../support/world.ts';

test('a server that is set and is not there: said at once, with the nearest, and when it is deleted', async (t) => {
  const w = await world(t);
  const { servers } = w;
  await w.create('castle');
  const known = new Set(['castle']);
  const ids = () => [...known];
  const logged: string[] = [];
  const log = createLog({ level: 'warn', pretty: false, destination: { write: (line) => void logged.push(line) } });
  const watch = (id: string) => {
    const watched = watchDefaultServer({ id, ids, servers, log });
    t.teardown(() => watched.close());
    return watched.trouble();
  };
  t.is(watch(''), undefined);
  t.is(watch('castle'), undefined);
  t.deepEqual(logged, []);
  t.regex(watch('castel') ?? '', /^DEFAULT_SERVER is castel, but no server has that id: .* Did you mean castle\?$/);
  t.notRegex(watch('lobby') ?? '', /Did you mean/);
  t.is(logged.length, 2);
  known.clear();
  await servers.send('castle', { type: 'DELETE', at: 0, cause: { kind: 'user', id: 'usr_test', note: '' } });
  await w.reach('castle', 'gone');
  t.regex(logged.at(-1) ?? '', /DEFAULT_SERVER is castle, but/);
  t.is(logged.length, 3);
});
