import { deflateSync } from 'node:zlib';
import test, { type ExecutionContext } from 'ava';
import { encodeFrame, encodeString, encodeVarInt } from '../../proxy/codec.ts';
import { loadConfig } from '../../src/config.ts';
import { BOT_NAME } from '../../src/joining/join-bot.ts';
import type { ProxySettings } from '../../src/joining/link/child-process.ts';
import { KEPT_MS, TRY_MS, TryJoins } from '../../src/joining/try-joins.ts';
import { createLog } from '../../src/kernel/log.ts';
import { type FakeLogin, fakeFront } from '../fakes/front.ts';
import { openPanel } from '../support/panel.ts';
import { until } from '../support/until.ts';
import { STEVE, type World, world } from '../support/world.ts';

const LET_IN = encodeFrame(0x02);
const ASKS_FOR_ACCOUNT = encodeFrame(0x01);
const refusal = (component: unknown) => encodeFrame(0x00, encodeString(JSON.stringify(component)));
const CASTLE = { id: 'castle', accountId: 'acc_test', addr: 'castle.localhost:25599', version: '1.20.4' };
const NOWHERE = async () => {
  throw new Error('getaddrinfo ENOTFOUND');
};

function triesOf(
  t: ExecutionContext,
  { servers, clock }: World,
  port: number,
  change: Partial<ProxySettings> = {},
  resolve?: (name: string) => Promise<{ address: string }>,
): TryJoins {
  const settings = { ...loadConfig({}, { envFile: null }), ...change };
  const shared = {
    servers,
    clock,
    log: createLog({ level: 'silent' }),
    onClose: (close: () => unknown) => t.teardown(close),
  };
  return new TryJoins(shared, settings, () => port, resolve);
}

async function awake(t: ExecutionContext): Promise<World> {
  const it = await world(t);
  await it.create('castle');
  await it.command('castle', 'JOIN', STEVE);
  await it.reach('castle', 'running');
  return it;
}

/** Tries a join of an awake server that answers each login with `packets`. */
async function tried(t: ExecutionContext, it: World, login: (login: FakeLogin) => unknown) {
  const tries = triesOf(t, it, (await fakeFront(t, login)).port);
  await tries.begin(CASTLE);
  return tries.of('castle')!;
}

test('a try of an awake server logs in as a client does and shows each stage', async (t) => {
  const it = await awake(t);
  const answers: number[][] = [];
  const front = await fakeFront(t, async ({ socket, next }) => {
    socket.write(encodeFrame(0x04, encodeVarInt(7), encodeString('dormouse:hold')));
    const before = await next();
    answers.push([before.varInt(), before.varInt(), before.byte(), before.remaining]);
    socket.write(encodeFrame(0x03, encodeVarInt(64)));
    const query = Buffer.concat([encodeVarInt(4), encodeVarInt(8), encodeString('mod:'.repeat(40))]);
    socket.write(encodeFrame(query.length, deflateSync(query)));
    const after = await next();
    answers.push([after.varInt(), after.varInt(), after.varInt(), after.byte(), after.remaining]);
    socket.write(encodeFrame(0, encodeVarInt(2)));
  });
  const tries = triesOf(t, it, front.port);
  await tries.begin(CASTLE);
  const { stages, result, address, isLocal } = tries.of('castle')!;
  t.deepEqual(
    stages.map(({ name, detail }) => [name, detail]),
    [
      ['Name lookup', 'a name that only this machine knows'],
      ['Connection', 'the proxy on this machine'],
      ['Server list', '1.20.4: A castle'],
      ['Login', 'as TryAJoin'],
      ['Join', 'the game lets the bot in'],
    ],
  );
  t.deepEqual(result, { tone: 'good', text: 'A friend can join right now.' });
  t.deepEqual({ address, isLocal }, { address: CASTLE.addr, isLocal: true });
  t.like(front.logins[0], { host: 'castle.localhost\0', port: 25_599, protocol: 765, name: BOT_NAME });
  t.deepEqual(answers, [
    [2, 7, 0, 0],
    [0, 2, 8, 0, 0],
  ]);
  await until(() => front.logins[0]?.socket.destroyed || front.logins[0]?.socket.readableEnded);
});

test('a server that asks for a Microsoft account lets friends in, and a refusal is shown as a client would see it', async (t) => {
  const it = await awake(t);
  const results: string[][] = [];
  const packets = [
    ASKS_FOR_ACCOUNT,
    refusal({ translate: 'multiplayer.disconnect.not_whitelisted' }),
    refusal({ text: '', extra: [{ text: 'castle is asleep. Only whitelisted\nplayers can wake it.' }] }),
    refusal('Only players who have §6played here before can wake it.'),
    refusal({ translate: 'multiplayer.disconnect.banned.reason', with: ['no'] }),
    refusal({ translate: 'multiplayer.disconnect.server_full' }),
    refusal('This server has mods that require Forge.'),
    refusal('This server is out of credit. Ask its owner.'),
    refusal({ translate: 'some.plugin.key' }),
  ];
  for (const packet of packets) {
    const { result } = await tried(t, it, ({ socket }) => socket.write(packet));
    results.push([result?.tone ?? '', result?.text ?? '']);
  }
  const refused = (text: string) => `The bot was refused: “${text}”`;
  t.deepEqual(results.slice(1), [
    [
      'warn',
      `${refused('You are not white-listed on this server!')} The whitelist keeps out strangers; a friend on it gets in.`,
    ],
    [
      'warn',
      `${refused('castle is asleep. Only whitelisted players can wake it.')} The whitelist keeps out strangers; a friend on it gets in.`,
    ],
    [
      'warn',
      `${refused('Only players who have played here before can wake it.')} A friend who has played here gets in.`,
    ],
    [
      'warn',
      `${refused('You are banned from this server.')} The ban is for the bot’s name or this machine’s address. Friends have others.`,
    ],
    ['warn', `${refused('The server is full!')} A friend gets in once a player leaves.`],
    [
      'warn',
      `${refused('This server has mods that require Forge.')} The bot has no mods. A friend with the server’s mods may get in.`,
    ],
    ['bad', refused('This server is out of credit. Ask its owner.')],
    ['bad', refused('some.plugin.key')],
  ]);
  t.is(results[0]?.[0], 'good');
  t.regex(results[0]?.[1] ?? '', /Friends with an account get in/);
});

test('a try of a sleeping server shows the wake as a stage of its own', async (t) => {
  const it = await world(t);
  await it.create('castle');
  const release = it.engine.hold('castle');
  const front = await fakeFront(t, async ({ socket }) => {
    await it.command('castle', 'JOIN', STEVE);
    await it.clock.advance(5_000);
    release();
    await it.reach('castle', 'running');
    socket.write(LET_IN);
  });
  const tries = triesOf(t, it, front.port);
  const over = tries.begin(CASTLE);
  t.like(tries.of('castle'), { stage: 'Connection', result: undefined });
  await over;
  const { stages, result } = tries.of('castle')!;
  t.deepEqual(
    stages.map(({ name }) => name),
    ['Name lookup', 'Connection', 'Server list', 'Login', 'Wake', 'Join'],
  );
  t.true((stages[4]?.ms ?? 0) >= 5_000);
  t.is(result?.tone, 'good');
});

test('a server that wakes only for verified accounts is not reported as woken', async (t) => {
  const it = await world(t);
  await it.create('castle');
  const { stages, result } = await tried(t, it, ({ socket }) => socket.write(ASKS_FOR_ACCOUNT));
  t.is(stages.at(-1)?.name, 'Login');
  t.is(result?.tone, 'warn');
  t.regex(result?.text ?? '', /Only players with a verified Microsoft account wake this server/);
});

test('a game that sends packets without end is left', async (t) => {
  const it = await awake(t);
  let answers = 0;
  const asksForCookie = encodeFrame(0x05, encodeString('k'.repeat(1_000)));
  const { result } = await tried(t, it, async ({ socket, next }) => {
    for (let nth = 0; nth < 300; nth += 1) socket.write(asksForCookie);
    for (;;) {
      await next();
      answers += 1;
    }
  });
  t.is(result?.tone, 'bad');
  t.true(answers <= 256);
});

test('each stage that fails is named with its reason', async (t) => {
  const it = await awake(t);
  const failed = async (tries: TryJoins, addr = CASTLE.addr) => {
    await tries.begin({ ...CASTLE, addr });
    const { stage, result } = tries.of('castle')!;
    return `${stage}, ${result?.tone}: ${result?.text}`;
  };
  const { port } = await fakeFront(t, ({ socket }) => socket.destroy());
  const silent = await fakeFront(t, undefined, null);
  const ageless = await fakeFront(t, undefined, { version: { name: '', protocol: -1 } });
  t.regex(await failed(triesOf(t, it, port, {}, NOWHERE), 'castle.play.example'), /^Name lookup, bad: .*Unknown host/);
  t.regex(await failed(triesOf(t, it, 1)), /^Connection, bad: Nothing accepts connections/);
  t.regex(await failed(triesOf(t, it, silent.port)), /^Server list, bad: .*sends no entry/);
  t.regex(await failed(triesOf(t, it, ageless.port)), /^Login, bad: .*no version yet/);
  t.regex(await failed(triesOf(t, it, port)), /^Join, bad: The game closed the connection/);
});

test('a try goes to the public address if proxies run elsewhere or expect forwarded players from this machine', async (t) => {
  const it = await awake(t);
  const { port } = await fakeFront(t, ({ socket }) => socket.write(LET_IN));
  const public_ = async () => ({ address: '127.0.0.1' });
  for (const change of [
    { proxy: 'external' },
    { proxyProtocolFrom: ['127.0.0.0/8'] },
    { forwardingFrom: ['127.0.0.1'] },
  ] as const) {
    const tries = triesOf(t, it, 1, change, public_);
    await tries.begin({ ...CASTLE, addr: `castle.play.example:${port}` });
    const { stages, isLocal, result } = tries.of('castle')!;
    t.is(result?.tone, 'good');
    t.false(isLocal);
    t.deepEqual(
      stages.slice(0, 2).map(({ detail }) => detail),
      ['127.0.0.1', `127.0.0.1:${port}`],
    );
  }
});

test('a stage without an answer ends after 10 s, and the whole try after 3 minutes', async (t) => {
  const it = await awake(t);
  const front = await fakeFront(t);
  const lost = triesOf(t, it, front.port, {}, () => new Promise(() => {}));
  const lookup = lost.begin({ ...CASTLE, addr: 'castle.play.example' });
  await it.clock.advance(9_999);
  t.is(lost.of('castle')?.result, undefined);
  await it.clock.advance(1);
  await lookup;
  t.like(lost.of('castle'), { stage: 'Name lookup' });
  t.is(lost.of('castle')?.result?.tone, 'bad');

  const held = triesOf(t, it, front.port);
  const hold = held.begin(CASTLE);
  await until(() => front.logins.length === 1);
  await it.clock.advance(TRY_MS);
  await hold;
  t.like(held.of('castle')?.result, { text: 'Not finished after 3 minutes. Players wait up to 15 minutes.' });
  await until(() => front.logins[0]?.socket.destroyed || front.logins[0]?.socket.readableEnded);
});

test('a server has one try at a time, the service has five, and a result is kept for 10 minutes', async (t) => {
  const it = await awake(t);
  const front = await fakeFront(t);
  const tries = triesOf(t, it, front.port);
  const overs = [tries.begin(CASTLE)];
  const first = tries.of('castle');
  await tries.begin(CASTLE);
  t.is(tries.of('castle'), first);
  const begin = (id: string, accountId: string) => tries.begin({ ...CASTLE, id, accountId });
  overs.push(begin('b', 'acc_test'));
  t.like(
    t.throws(() => begin('c', 'acc_test')),
    { reason: 'TOO_MANY_TRIES' },
    'an account has two',
  );
  for (const id of ['c', 'd', 'e']) overs.push(begin(id, `acc_${id}`));
  t.like(
    t.throws(() => begin('f', 'acc_f')),
    { reason: 'TOO_MANY_TRIES' },
  );
  t.like(
    t.throws(() => tries.begin({ ...CASTLE, id: 'g', addr: '' })),
    { reason: 'NO_PUBLIC_ADDRESS' },
  );
  await until(() => front.logins.length === 5);
  for (const { socket } of front.logins) socket.write(LET_IN);
  await Promise.all(overs);
  await it.clock.advance(KEPT_MS - 1);
  t.is(tries.of('castle'), first);
  await it.clock.advance(1);
  t.is(tries.of('castle'), undefined);

  await tried(t, it, ({ socket }) => socket.write(LET_IN));
  const again = triesOf(t, it, 1);
  await again.begin(CASTLE);
  await it.command('castle', 'DELETE');
  await it.reach('castle', 'gone');
  t.is(again.of('castle'), undefined, 'a later server of this id does not show it');
});

test('the pages start a try, show its stages, and warn that it wakes a sleeping server', async (t) => {
  const front = await fakeFront(t);
  const it = await openPanel(t, { playersPort: front.port, config: { publicHost: 'localhost' } });
  await it.create('castle');
  t.regex((await it.get('/servers/castle')).text, /action="\/servers\/castle\/try\/join"[\s\S]*Wake it and try a join/);
  t.regex((await it.get('/servers/castle/try')).text, /No try in the last 10 minutes/);
  const sent = await it.submit('/servers/castle/try/join');
  t.is(sent.status, 303);
  t.is(sent.headers.get('location'), '/servers/castle/try');
  const running = (await it.get('/servers/castle/try')).text;
  t.regex(running, /<noscript><meta http-equiv="refresh" content="3" \/><\/noscript>/);
  t.regex(running, /data-live="try" data-soon/);
  t.notRegex(running, /try\/join"/, 'no second try meanwhile');
  await until(() => front.logins.length === 1);
  front.logins[0]?.socket.write(refusal({ text: '<b>This host is full' }));
  const done = await until(async () => {
    const { text } = await it.get('/servers/castle/try');
    return text.includes('refused') && text;
  });
  t.regex(done, /role="status">\s*The bot was refused: “&lt;b&gt;This host is full”/);
  t.regex(done, /docs\/share\.md/);
  t.notRegex(done, /http-equiv|data-soon/);

  await it.stranger();
  const stranger = await it.browser('usr_other');
  t.is((await it.submit('/servers/castle/try/join', {}, stranger)).status, 404);
  t.is((await it.submit('/servers/castle/try/join', { csrf: 'x' })).status, 403);
});
