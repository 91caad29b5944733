import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { joinRaw } from '../support/bot.ts';
import { isThorough } from '../support/needs.ts';
import { type Service, startService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { wakeAndPlay } from '../support/wake-and-play.ts';

const PLAYERS = isThorough ? 50 : 15;

test('players of 1.21.11 wake a sleeping server and find their builds again after the service restarts', async (t) => {
  const service = await startService(t);
  await wakeAndPlay(t, service, { versions: ['1.21.11'], holdMs: 0, afterwards: {} });
});

test('many simultaneous joins trigger one start, and all of them succeed', async (t) => {
  const service = await startService(t);
  await service.create('rush', '1.20.4', { properties: { 'max-players': '60' } });
  const address = { port: service.playersPort, version: '1.20.4', fakeHost: 'rush.localhost' };
  const players = await Promise.all(
    Array.from({ length: PLAYERS }, (_, n) => joinRaw({ ...address, name: `Player${n}` })),
  );
  t.is(players.length, PLAYERS);
  const { transitions } = await service.call<{ transitions: { to: string }[] }>('GET', '/v1/servers/rush/machine');
  t.is(transitions.filter(({ to }) => to === 'starting').length, 1);
  await Promise.all(players.map((player) => player.end()));
});

test('a try from the panel wakes a sleeping server, and its page shows that the game lets the bot in', async (t) => {
  const service = await startService(t);
  await service.create('lobby', '1.21.11');
  await service.call('POST', '/v1/servers/lobby:update', { waitingRoom: true });
  const browse = await signIn(service);
  t.regex(await browse('/servers/lobby'), /Wake it and try a join/);
  await browse('/servers/lobby/try/join', {});
  const page = await until({ everyMs: 500 }, async () => {
    const text = await browse('/servers/lobby/try');
    return /class="note (?:good|warn|bad)"/.test(text) && text;
  });
  const stages = [...page.matchAll(/<dt>([\w ]+)<\/dt>\s*<dd>✓/g)].map(([, name]) => name);
  t.deepEqual(stages, ['Name lookup', 'Connection', 'Server list', 'Login', 'Wake', 'Join']);
  t.regex(page, /A friend can join right now/);
  t.is((await service.call('GET', '/v1/servers/lobby')).state, 'running');
  const { transitions } = await service.call<{ transitions: { to: string; cause: { id: string } }[] }>(
    'GET',
    '/v1/servers/lobby/machine',
  );
  t.is(transitions.find(({ to }) => to === 'starting')?.cause.id, 'TryAJoin');
});

/** Signs in as the first operator. Returns a function that opens a page or submits a form, as a browser without scripts. */
async function signIn({ baseUrl, dataDir }: Service): Promise<(path: string, form?: object) => Promise<string>> {
  const { email, password } = JSON.parse(await readFile(join(dataDir, 'first-run.json'), 'utf8')) as Record<
    string,
    string
  >;
  let cookie = '';
  let csrf = '';
  const browse = async (path: string, form?: object): Promise<string> => {
    const body = form && new URLSearchParams({ csrf, ...form });
    const response = await fetch(baseUrl + path, {
      method: form ? 'POST' : 'GET',
      headers: { cookie, accept: 'text/html', origin: baseUrl.replace('127.0.0.1', 'localhost') },
      redirect: 'manual',
      ...(body && { body }),
    });
    const set = response.headers.getSetCookie().find((each) => !each.includes('=;'));
    if (set !== undefined) cookie = set.split(';', 1)[0] ?? '';
    const text = await response.text();
    if (response.status >= 400) throw new Error(`${path}: ${response.status} ${text}`);
    csrf = /name="csrf" value="([^"]+)"/.exec(text)?.[1] ?? csrf;
    return text;
  };
  await browse('/sign-in');
  await browse('/sign-in', { email, password });
  return browse;
}
