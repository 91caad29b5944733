import test from 'ava';
import { Routing } from '../../src/joining/routing.ts';
import { createLog } from '../../src/kernel/log.ts';
import { StatusError } from '../../src/kernel/status.ts';
import { listRoutes } from '../../src/servers/rows.ts';
import { OPEN_POLICY } from '../support/join-policy.ts';
import { world } from '../support/world.ts';

const HOST = 'lobby.play.example';

test('a player waiting for a server sees that it was deleted or why it stopped', async (t) => {
  const it = await world(t);
  const { servers, clock } = it;
  const log = createLog({ level: 'silent' });
  const routing = new Routing({
    servers,
    clock,
    log,
    publicHost: 'play.example',
    sleepers: [],
    joinPolicy: OPEN_POLICY,
  });
  t.teardown(() => routing.close());
  const steve = { name: 'Steve', uuid: null, ip: '127.0.0.1', protocol: 769 };
  const refused = async (end: () => Promise<unknown>) => {
    it.engine.hold('lobby');
    const waiting = t.throwsAsync(routing.wake('lobby', steve, new AbortController().signal));
    await it.until(async () => (await servers.get('lobby'))?.state === 'starting');
    await end();
    return (await waiting).message;
  };
  await it.create('lobby');
  for (const [cause, text] of [
    [{ kind: 'system', id: 'funds' }, 'This server is out of credit. Ask its owner.'],
    [{ kind: 'system', id: 'spend_cap' }, 'This server has reached its spend cap for this month. Ask its owner.'],
    [{ kind: 'system', id: 'quota' }, "This server's disk is full. Ask its owner."],
    [{ kind: 'system', id: 'shutdown' }, 'The host is shutting down. Join again later.'],
    [{ kind: 'operator', id: 'usr_host' }, 'The host has stopped lobby. Ask its owner.'],
    [{ kind: 'key', id: 'key_owner' }, 'lobby was stopped by its owner. Join again to wake it.'],
  ] as const) {
    t.is(await refused(() => it.command('lobby', 'STOP', { ...cause, note: '' })), text);
    await it.reach('lobby', 'hibernated');
  }
  t.is(await refused(() => it.command('lobby', 'DELETE')), 'This server was deleted.');
});

test('the server list shows why a sleeping server cannot wake, as long as the reason holds', async (t) => {
  const it = await world(t);
  let reason = '';
  it.servers.checkWakes(async () => () => {
    if (reason === '') return;
    const words = reason === 'unknown' ? {} : { words: { player: `Refused: ${reason}`, list: `§7${reason}` } };
    throw new StatusError('FAILED_PRECONDITION', 'BLOCKED', 'No.', words);
  });
  await it.create('lobby', { motd: 'The Lobby' });
  const { servers, clock } = it;
  const policy = { ...OPEN_POLICY.policyOf('lobby') };
  const routing = new Routing({
    servers,
    clock,
    log: createLog({ level: 'silent' }),
    publicHost: 'play.example',
    sleepers: await listRoutes(it.store),
    joinPolicy: { ...OPEN_POLICY, policyOf: () => policy },
  });
  t.teardown(() => routing.close());
  const shown = () => {
    const { motd = '', asleepMotd = '', asleepLine = '' } = routing.lookup(HOST) ?? {};
    return { motd, asleepMotd, asleepLine };
  };
  const becomes = async (line: RegExp) => {
    await it.until(async () => {
      await clock.advance(15_000);
      return line.test(shown().asleepLine);
    });
    t.regex(shown().asleepLine, line);
  };
  const usual = shown();
  t.is(usual.asleepLine, '');
  reason = 'unknown';
  await becomes(/^§7Not available right now$/);
  reason = 'out of credit';
  await becomes(/^§7out of credit$/);
  reason = 'suspended';
  await becomes(/^§7suspended$/);
  policy.asleepMotd = 'Asleep. Friends may wake me.';
  await servers.patch('lobby', {});
  t.deepEqual(shown(), { motd: 'Asleep. Friends may wake me.', asleepMotd: '', asleepLine: '§7suspended' });
  reason = '';
  await becomes(/^$/);
  t.is(shown().asleepMotd, 'Asleep. Friends may wake me.');
  t.deepEqual(it.engine.boots, [], 'checking wakes no server');

  // A join before the next check discovers the new reason.
  reason = 'starts are paused';
  const steve = { name: 'Steve', uuid: null, ip: '127.0.0.1', protocol: 769 };
  const refused = await t.throwsAsync(routing.wake('lobby', steve, new AbortController().signal));
  t.is(refused.message, 'Refused: starts are paused');
  t.regex(shown().asleepLine, /starts are paused$/);
  reason = '';
  await routing.wake('lobby', steve, new AbortController().signal).catch(() => {});
  t.is(shown().asleepLine, '', 'an awake server shows no reason');

  policy.maintenanceText = 'We move';
  reason = 'starts are paused';
  await it.command('lobby', 'KILL');
  await it.reach('lobby', 'hibernated');
  await clock.advance(30_000);
  t.regex(shown().asleepLine, /We move/, 'the owner’s text comes first');
});
