import test from 'ava';
import { closeBrowser } from '../support/browser.ts';
import { isHere } from '../support/needs.ts';
import { PHONE, accessible, openPanel } from '../support/panel.ts';
import { STEVE } from '../support/world.ts';

test.after.always(closeBrowser);

test('the machine page describes in words how the server reached its state', async (t) => {
  const it = await openPanel(t);
  await it.create('castle');
  t.regex((await it.get('/servers/castle/machine')).text, /No transitions yet/);
  await it.command('castle', 'JOIN', STEVE);
  await it.reach('castle', 'running');
  const { text } = await it.get('/servers/castle/machine');
  t.regex(text, /Ready for players[\s\S]*Started[\s\S]*<bdi>Steve<\/bdi> joined/);
  t.regex(text, /stop, restart/);
  t.regex(text, /data-state="running.open" class="lit"/);
  await it.stranger();
  await it.share('castle', 'limited');
  t.is((await it.get('/servers/castle/machine', await it.browser('usr_other'))).status, 200);
});

test('an awake server without players shows when it sleeps, on the machine page and the front page', async (t) => {
  const it = await openPanel(t);
  await it.create('castle', { idleTimeoutMinutes: 20 });
  const restAt = async (name: string) => {
    const { deadlines } = await it.ok('GET', '/v1/servers/castle/machine');
    return (deadlines as { name: string; at: string }[]).find((each) => each.name === name)?.at;
  };
  const says = async (path: string, words: string, at: string) =>
    t.regex((await it.get(path)).text, new RegExp(`${words}\\s+<time datetime="${at.replaceAll('.', '\\.')}`));
  await it.command('castle', 'START');
  const ready = (await it.reach('castle', 'running'))!.context.readyAt!;
  await it.until(async () => (await restAt('idle')) !== undefined);
  const at = (await restAt('idle'))!;
  t.is(Date.parse(at), ready + 20 * 60_000);
  await says('/servers/castle', 'Sleeps at', at);
  await says('/servers/castle/machine', 'Sleeps unless someone joins', at);
  it.games.players.set('castle', 1);
  await it.passUntil(async () => (await restAt('idle')) === undefined, 10_000);
  t.regex((await it.get('/servers/castle')).text, /Sleeps 20 minutes after the last player has left/);
  it.games.players.set('castle', 0);
  await it.command('castle', 'STOP');
  await it.reach('castle', 'hibernated');
  await it.command('castle', 'JOIN', STEVE);
  const woken = (await it.reach('castle', 'running'))!.context.readyAt!;
  await it.until(async () => (await restAt('falseWake')) !== undefined);
  t.is(Date.parse((await restAt('falseWake'))!), woken + 3 * 60_000, 'a wake without a visit ends after three minutes');
  await says('/servers/castle', 'The player who woke it has not joined. It sleeps at', (await restAt('falseWake'))!);
});

test('an awake server shows what keeps it awake', async (t) => {
  const it = await openPanel(t);
  await it.create('castle', { idleTimeoutMinutes: -1 });
  await it.command('castle', 'START');
  await it.reach('castle', 'running');
  const reads = async () =>
    (await it.get('/servers/castle')).text.replaceAll(/<[^>]*>|\s+/g, ' ').replaceAll(/ +/g, ' ');
  t.regex(await reads(), /Awake because: never sleeps/);
  it.games.players.set('castle', 1);
  await it.passUntil(async () => (await reads()).includes('Awake because: 1 player, never sleeps'), 10_000);
  t.notRegex(await reads(), /Sleeps /);
  const now = new Date(it.clock.now());
  const hour = now.getUTCHours();
  await it.ok('POST', '/v1/servers/castle:setProperties', {
    idleTimeoutMinutes: 0,
    awakeHours: `${hour}-${(hour + 2) % 24}`,
  });
  await it.ok('POST', '/v1/servers/castle:keepAwake', { minutes: 30 });
  t.regex(await reads(), /Awake because: 1 player, hours until .*, kept awake until /);
  const { keptAwakeBy } = await it.ok('GET', '/v1/servers/castle/machine');
  const until = Math.floor(now.getTime() / 3_600_000) * 3_600_000 + 2 * 3_600_000;
  t.like(keptAwakeBy, [
    { reason: 'players', until: null, players: 1 },
    { reason: 'awakeHours', until: new Date(until).toISOString() },
    { reason: 'keepAwake' },
  ]);
});

test('a long history is shortened until the full list is requested', async (t) => {
  const it = await openPanel(t);
  await it.create('castle');
  for (let times = 0; times < 5; times++) {
    await it.command('castle', 'JOIN', STEVE);
    await it.reach('castle', 'running');
    await it.command('castle', 'STOP', STEVE);
    await it.reach('castle', 'hibernated');
  }
  const steps = async (path: string) => (await it.get(path)).text.match(/Started/g)?.length;
  t.is(await steps('/servers/castle/machine'), 3, 'the short list has three of the starts');
  t.regex((await it.get('/servers/castle/machine')).text, /href="\/servers\/castle\/machine\?all">Show the last 2\d</);
  t.is(await steps('/servers/castle/machine?all'), 5);
});

for (const colorScheme of ['light', 'dark'] as const) {
  test.runIf(isHere('chromium'))(`the state chart follows the server and is accessible, ${colorScheme}`, async (t) => {
    const it = await openPanel(t);
    await it.create('castle');
    const isPhone = colorScheme === 'dark';
    const { page, complaints } = await it.open('/servers/castle/machine', { ...(isPhone && PHONE), colorScheme });
    const lit = (state: string) => page.locator(`.${isPhone ? 'slim' : 'broad'} [data-state=${state}].lit`);
    await lit('hibernated').waitFor();
    await it.command('castle', 'JOIN', STEVE);
    await it.reach('castle', 'running');
    await lit('running').waitFor();
    await accessible(t, page);
    t.deepEqual(complaints, []);
  });
}
