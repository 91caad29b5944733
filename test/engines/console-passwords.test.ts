import test from 'ava';
import { openConsolePasswords } from '../../src/engines/console/passwords.ts';
import type { Secret } from '../../src/store/secret.ts';
import { world } from '../support/world.ts';

const secret: Secret = { derive: (purpose, id) => `${purpose}(${id})` };

test('each start gets its own console password, and a restarted service knows it', async (t) => {
  const it = await world(t);
  const { store } = it;
  await it.create('castle');
  const passwords = await openConsolePasswords(store, secret);
  t.is(passwords.of('castle'), 'rcon(castle)');
  const first = await passwords.renew('castle');
  t.not(first, 'rcon(castle)');
  t.is(passwords.of('castle'), first);
  t.is((await openConsolePasswords(store, secret)).of('castle'), first);
  const second = await passwords.renew('castle');
  t.not(second, first);
  t.is((await openConsolePasswords(store, secret)).of('castle'), second);
  await passwords.forget('castle');
  t.is((await openConsolePasswords(store, secret)).of('castle'), 'rcon(castle)');
});
