import test from 'ava';
import type { Pinger } from '../../src/engines/pinger.ts';
import { motdText } from '../../src/game/motd/motd.ts';
import { listEntry } from '../../src/joining/list-entry.ts';
import { route } from '../proxy/support.ts';

const answers = (raw: string): Pinger => ({
  status: async () => ({ playersOnline: 0, playersMax: 0, versionName: '', protocol: 0, raw }),
});
const SILENT: Pinger = {
  status: async () => {
    throw new Error('timeout');
  },
};
const RUNNING = { state: 'running', address: { host: '127.0.0.1', port: 25_565 }, motd: '§6Keep' } as const;

async function shown(...given: Parameters<typeof listEntry>) {
  const { description, ...players } = await listEntry(...given);
  return { text: motdText(description), ...players };
}

test('a running game shows its own description and players', async (t) => {
  const raw = JSON.stringify({ players: { online: 3, max: 9 }, description: { text: 'Event', extra: [' tonight'] } });
  const entry = await shown(route(RUNNING), answers(raw));
  t.deepEqual(entry, { text: 'Event tonight', playersOnline: 3, playersMax: 9 });
});

test('a game that does not answer, or answers nonsense, shows the owner’s description, as the proxy does', async (t) => {
  for (const pinger of [SILENT, answers('{"players"'), answers('null')]) {
    const entry = await shown(route(RUNNING), pinger);
    t.deepEqual(entry, { text: 'Keep', playersOnline: 0, playersMax: route().maxPlayers });
  }
});

test('a sleeping server shows its state below the description, and its game is not asked', async (t) => {
  const asleep = route({ state: 'hibernated', motd: '§6Keep' });
  t.regex((await shown(asleep, SILENT)).text, /^Keep\n.*Asleep/);
  t.is((await shown(route({ state: 'hibernated', asleepMotd: '§7Zzz' }), SILENT)).text, 'Zzz');
});
