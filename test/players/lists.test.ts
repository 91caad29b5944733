import test from 'ava';
import { OPERATIONS } from '../../src/reference.ts';
import { type OtherNames, listedCount, onlinePlayers, sampledPlayers } from '../../src/game/online-players.ts';
import {
  type PlayerChange,
  commandOf,
  formatList,
  isAsWanted,
  kickCommand,
  parseList,
  withChange,
} from '../../src/game/players/changes.ts';
import { PLAYER_NAME, offlineUuid, profileOf } from '../../src/game/players/profiles.ts';
import type { StatusError } from '../../src/kernel/status.ts';
import { createMojangProfiles } from '../../src/players/mojang.ts';
import { offlineUuid as theGames } from '../../src/sandbox/player-lists.ts';
import { commandProblem } from '../../src/servers/game-console.ts';
import { fakeClock } from '../fakes/clock.ts';
import { accountUuid, accounts } from '../support/accounts.ts';
import * as fc from '../support/property.ts';
import { until } from '../support/until.ts';

const AT = Date.UTC(2026, 10, 20);
const NOBODY = { find: async () => undefined };

const name = fc.stringMatching(/^[.*+~!]?[A-Za-z0-9_]{1,16}$/);
const given = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 300 }),
  fc.stringMatching(/^[§"'\\;$ a-z\n\r@]{0,40}$/),
  fc.constant('x'.repeat(1_500)),
);

test('a player name is a single word of a command and contains no special characters', (t) => {
  fc.assert(
    fc.property(fc.oneof(name, fc.string({ unit: 'binary' })), (text) => {
      const isName = PLAYER_NAME.test(text);
      if (isName) t.is(`kick ${text}`.split(/[^\x21-\x7e]/).length, 2);
      t.is(isName, /^[.*+~!]?\w{1,16}$/.test(text) && !text.includes('\n'));
    }),
  );
  for (const text of ['', 'a b', 'a\nstop', 'x'.repeat(17), '@a', 'Zoë', '..a', '*.a', 'a.', '-x', '/op', '"a'])
    t.false(PLAYER_NAME.test(text), text);
});

test('every ban and kick with an accepted reason is one valid line for the console', (t) => {
  const body = bodyOf('SetBanEntry');
  let taken = 0;
  fc.assert(
    fc.property(name, given, (who, reason) => {
      const parsed = body.safeParse({ name: who, banned: true, reason });
      if (!parsed.success) return;
      taken++;
      const { reason: clean } = parsed.data as { reason: string };
      const profile = { name: who, uuid: '' };
      const changes: PlayerChange[] = [
        { list: 'banned', who: profile, listed: true, reason: clean, until: null },
        { list: 'banned', who: profile, listed: true, reason: clean, until: AT },
        { list: 'bannedIps', ip: '2001:db8::1', listed: true, reason: clean, until: AT },
      ];
      for (const command of [...changes.map(commandOf), kickCommand(who, clean)]) {
        t.is(commandProblem(command), undefined);
        t.notRegex(command, /[\p{Cc}\u2028\u2029@]/u);
        t.is(command, command.trim());
      }
    }),
    { numRuns: 500 },
  );
  t.true(taken > 5);
  for (const reason of ['a\nstop', 'a\rb', '\0', 'x'.repeat(257), '\u001b[31m', 'by @e', '\u202egnp'])
    t.false(body.safeParse({ name: 'Steve', banned: true, reason }).success, JSON.stringify(reason));
  const kept = body.parse({ name: 'Steve', banned: true, reason: ' "§cbad"  \'luck\' ' });
  t.like(kept, { reason: '"§cbad" \'luck\'' });
});

test('an IP ban accepts only valid addresses and puts them into canonical form', (t) => {
  const ipOf = (ip: string) => {
    const parsed = bodyOf('SetIpBanEntry').safeParse({ ip, banned: true });
    return parsed.success ? (parsed.data as { ip: string }).ip : undefined;
  };
  t.is(ipOf('203.0.113.7'), '203.0.113.7');
  t.is(ipOf('2001:DB8:0:0::0001'), '2001:db8::1');
  t.is(ipOf('::ffff:203.0.113.7'), '203.0.113.7');
  for (const ip of ['', '1.2.3', '1.2.3.4 x', 'fe80::1%eth0', 'Steve', '1.2.3.4/8', '01.2.3.4'])
    t.is(ipOf(ip), undefined, ip);
});

test('a list change keeps other entries, unknown fields, expiry, source and reason', (t) => {
  const old = {
    uuid: accountUuid('Old'),
    name: 'Old',
    created: 'c',
    source: 'Alex',
    expires: '2030-01-01 00:00:00 +0000',
    reason: 'r',
    note: 7,
  };
  const list = [old, 'odd', null, { uuid: accountUuid('Gone'), name: 'Gone', expires: '2020-01-01 00:00:00 +0000' }];
  const ban = (who: string, listed = true): PlayerChange => ({
    list: 'banned',
    who: { name: who, uuid: accountUuid(who) },
    listed,
    reason: 'new',
    until: null,
  });
  t.is(withChange(list, ban('Old'), AT), undefined);
  const more = withChange(list, ban('Steve'), AT) ?? [];
  t.deepEqual(more.slice(0, 4), list);
  t.deepEqual(more[4], {
    uuid: accountUuid('Steve'),
    name: 'Steve',
    created: '2026-11-20 00:00:00 +0000',
    source: 'Rcon',
    expires: 'forever',
    reason: 'new',
  });
  t.like(withChange(list, ban('Gone'), AT)?.[3], { expires: 'forever', reason: 'new' });
  t.deepEqual(withChange(list, ban('old', false), AT), list.slice(1));
  t.is(withChange(list, ban('Nobody', false), AT), undefined);
  t.true(isAsWanted(list, ban('Gone', false), AT), 'the ban has ended');
  t.deepEqual(parseList('ops.json', formatList(more)), more);
  t.deepEqual(parseList('ops.json', ' \n'), []);
  for (const text of ['{', '{}', 'null', '[1'])
    t.throws(() => parseList('ops.json', text), { message: /ops\.json is not a JSON list/ });
});

test('a renamed account keeps its entry and shows the new name', (t) => {
  const uuid = accountUuid('Anyone');
  const list = [{ uuid, name: 'Before', level: 2, bypassesPlayerLimit: true }];
  const op: PlayerChange = { list: 'ops', who: { name: 'After', uuid }, listed: true, level: 4 };
  t.deepEqual(withChange(list, op, AT), [{ uuid, name: 'After', level: 2, bypassesPlayerLimit: true }]);
  t.deepEqual(withChange(list, { ...op, listed: false }, AT), []);
});

test('offline players get the game’s offline UUID, and Bedrock players the UUID of their last join', async (t) => {
  const offline = { onlineMode: false, remembered: [], at: AT };
  t.is(offlineUuid('Notch'), 'b50ad385-829d-3141-a216-7e7d7539ba7f');
  for (const who of ['Steve', 'a', 'X_1'])
    t.deepEqual(await profileOf(who, offline, NOBODY), { name: who, uuid: theGames(who) });
  const uuid = '00000000-0000-0000-0009-01f64f65c7c3';
  for (const prefix of ['.', '*', '+', '~', '!']) {
    const bedrock = `${prefix}Steve`;
    await t.throwsAsync(profileOf(bedrock, offline, NOBODY), { message: /join once/ });
    const remembered = [7, { name: bedrock, uuid, expiresOn: '2027-01-01 00:00:00 +0000' }];
    for (const onlineMode of [true, false]) {
      const found = await profileOf(bedrock.toLowerCase(), { onlineMode, remembered, at: AT }, NOBODY);
      t.deepEqual(found, { name: bedrock, uuid });
    }
  }
  await t.throwsAsync(profileOf('Nobody', { ...offline, onlineMode: true }, NOBODY), {
    message: /no Minecraft account/,
  });
});

test('a kick quotes the prefixes that the game does not read as part of a name', (t) => {
  t.is(kickCommand('Steve', 'spam'), 'kick Steve spam');
  t.is(kickCommand('.Steve', 'spam'), 'kick .Steve spam');
  t.is(kickCommand('*Steve', 'spam'), 'kick "*Steve" spam');
});

test('account lookups are shared and cached, and pause for the Retry-After of a 429', async (t) => {
  const clock = fakeClock(AT);
  const there = await accounts(t, ['Steve']);
  const profiles = createMojangProfiles(`${there.url}/`, clock);
  const steve = { name: 'Steve', uuid: accountUuid('Steve') };
  t.deepEqual(await Promise.all([profiles.find('steve'), profiles.find('Steve')]), [steve, steve]);
  t.is(await profiles.find('Nobody'), undefined);
  t.is(await profiles.find('Nobody'), undefined);
  t.is(there.asked.length, 2);
  await clock.advance(60_000);
  await profiles.find('Nobody');
  await profiles.find('Steve');
  t.is(there.asked.length, 3);

  const down = { message: /cannot be looked up right now/ };
  for (const body of ['{', '{"id":"x","name":"Alex"}', `{"pad":"${'x'.repeat(20_000)}"}`]) {
    there.answer((response) => void response.end(body));
    await t.throwsAsync(profiles.find('Alex'), down, body.slice(0, 20));
  }
  there.answer((response) => void response.writeHead(500).end());
  await t.throwsAsync(profiles.find('Alex'), down);
  there.answer((response) => void response.writeHead(429, { 'retry-after': '20' }).end());
  await t.throwsAsync(profiles.find('Alex'), down);
  there.answer(undefined);
  const asked = there.asked.length;
  const busy = await t.throwsAsync<StatusError>(profiles.find('Alex'), down);
  t.is(busy.options.retryAfterSeconds, 20);
  t.is(there.asked.length, asked);
  t.deepEqual(await profiles.find('Steve'), steve, 'a cached account is still returned');
  await clock.advance(20_000);
  t.is(await profiles.find('Alex'), undefined);
});

test('hanging account lookups are limited to 16 at once, each with an abort signal', async (t) => {
  const there = await accounts(t, []);
  there.answer(() => {});
  const bounds: AbortSignal[] = [];
  const late = new AbortController();
  const hanging = createMojangProfiles(there.url, fakeClock(AT), (url, { signal } = {}) => {
    bounds.push(signal!);
    // The bound is 5 s of real time; the test does not wait for it.
    return fetch(url, { signal: late.signal });
  });
  const all = Array.from({ length: 40 }, (_, at) => hanging.find(`Steve${at}`));
  const settled = Promise.allSettled(all);
  await until(() => there.asked.length === 16);
  late.abort();
  t.true((await settled).every(({ status }) => status === 'rejected'));
  t.is(there.asked.length, 16);
  t.true(bounds.length === 16 && bounds.every((signal) => signal instanceof AbortSignal));
});

/** Returns the names online from a reply to `list`, the proxy, the game's cache and its status. */
async function online(answer: string, others: Partial<Pick<OtherNames, 'joined' | 'remembered'>> = {}, status = '{}') {
  return await onlinePlayers(answer, {
    joined: [],
    remembered: [],
    ...others,
    sample: async () => sampledPlayers(status),
  });
}

test('online players are read from the list replies of different cores and plugins', async (t) => {
  const of = async (answer: string, ...names: string[]) => t.deepEqual(await online(answer), names, answer);
  await of('There are 2 of a max of 20 players online: Alex, .Steve', 'Alex', '.Steve');
  await of('There are 0 of a max of 20 players online:');
  await of('There are 0 of a max of 20 players online: ');
  await of('There are 1/20 players online:\nAlex', 'Alex');
  await of(
    '§6There are §c3§6 out of maximum §c20§6 players online.\n§6admins§r: Alex\n§6default§r: [AFK] Steve, ~Bob',
    'Alex',
    'Steve',
    'Bob',
  );
  await of('There are 2 of a max of 20 players online: Steve (3, 64, -11), [Nether: 3f:11] Alex', 'Steve', 'Alex');
  await of('There are 1 of a max of 20 players online: Steve The Great');
  await of('Players online: 2/20\r\nAlex, Bob', 'Alex', 'Bob');
  await of('Players online: 1\nAlex', 'Alex');
  await of('There are 1 of a max of 20 players online: 12', '12');
  await of('&6There are &c2&6 out of maximum &c20&6 players online.\n&6admins: &7Alex, &7Bob', 'Alex', 'Bob');
  await of('\u001B[33mThere are \u001B[31;1m1\u001B[33m of a max of 20 players online:\u001B[0m Alex', 'Alex');
  await of('');
  await of('Unknown or incomplete command, see below for error\nlist<--[HERE]');
});

test('names from the proxy or the status override nicknames and titles in the list reply', async (t) => {
  const reworded = 'There are 2 out of maximum 20 players online.\nadmins: ~Steve The Great, *Nicky';
  const id = '00000000-0000-4000-8000-000000000001';
  const status = (players: object) => JSON.stringify({ players });
  const sample = [
    { name: 'Steve', id },
    { name: 'Alex', id },
  ];
  t.deepEqual(await online(reworded, { joined: ['Steve', 'Alex', 'alex'] }), ['Steve', 'alex']);
  t.deepEqual(await online(reworded, {}, status({ online: 2, sample })), ['Steve', 'Alex']);
  t.deepEqual(await online(reworded, { remembered: ['Steve', 'Alex'] }), ['Steve', 'Nicky']);
  const plain = 'There are 2 of a max of 20 players online: Nicky, Steve';
  t.deepEqual(await online(plain, { remembered: ['Steve', 'Alex'] }, status({ online: 2, sample })), ['Steve', 'Alex']);
  t.deepEqual(await online(plain, { joined: ['Alex', 'Steve'] }), ['Alex', 'Steve']);
  const advertised = [...sample, { name: 'Visit our shop', id: '00000000-0000-0000-0000-000000000000' }];
  for (const players of [{ online: 3, sample: advertised }, { online: 30, sample }, { online: 2, sample: 'x' }, {}])
    t.is(sampledPlayers(status(players)), undefined);
  const replies = [
    '&6There are &c0&6 of &c20',
    '\u001B[33mThere are \u001B[31m1\u001B[33m of 20',
    '[1.21] There are 2 of 20.',
  ];
  t.deepEqual(replies.map(listedCount), [0, 1, 2]);
  t.deepEqual([listedCount('§6There are §c12§6 out of maximum §c20'), listedCount('Es sind 0 von 20 online')], [12, 0]);
});

test('Bedrock players keep their prefix and spaces if the cache or the status names them', async (t) => {
  const reply = 'There are 2 of a max of 20 players online: *Alex, Some Guy 12';
  const names = ['*Alex', 'Some Guy 12'];
  const idOf = (end: string) => `00000000-0000-0000-0009-01f64f65c7${end}`;
  const sample = [
    { name: '*Alex', id: idOf('c3') },
    { name: 'Some Guy 12', id: idOf('c4') },
  ];
  t.deepEqual(await online(reply, { remembered: names }), names);
  t.deepEqual(await online(reply, { remembered: names.slice(0, 1) }), ['*Alex']);
  t.deepEqual(await online(reply, {}, JSON.stringify({ players: { online: 2, sample } })), names);
});

/** Returns the body schema of an operation. */
function bodyOf(id: string) {
  const found = OPERATIONS.find((operation) => operation.id === id);
  if (!found) throw new Error(`no ${id}`);
  return found.body;
}
