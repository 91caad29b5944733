import { readFile } from 'node:fs/promises';
import test from 'ava';
import {
  type EventFromLogic,
  type Snapshot,
  createActor,
  fromPromise,
  getInitialSnapshot,
  getNextSnapshot,
} from 'xstate';
import { FALSE_WAKE_MS, KNOCK_MS, ROOM_MS, UNCLAIMED_ROOM_MS } from '../../machines/server-context.ts';
import {
  type Booted,
  type Cause,
  type Ending,
  type Failure,
  type Finished,
  type Job,
  type Maintained,
  SERVER_STATES,
  type ServerEvent,
  type ServerState,
  type ServerTag,
} from '../../machines/server-types.ts';
import { CRASH_GRACE_MS, type ServerSnapshot, isTagged, serverMachine, serverState } from '../../machines/server.ts';
import { inertScope, shortestWays } from './ways.ts';

const KEY: Cause = { kind: 'key', id: 'key_1', note: '' };
const STEVE: Cause = { kind: 'player', id: 'Steve', note: 'joined' };
const FAILURE: Failure = { code: 'out_of_memory', summary: 'Out of memory: x', suggestion: 'Raise RAM.', raw: 'OOM' };
const ADDRESS = { host: '127.0.0.1', port: 25565 };
const input = { id: 'lobby', at: 0, cause: KEY, limits: { startMs: 600_000, stopMs: 120_000, installMs: 1_800_000 } };

/** The reports of invoked effects, in addition to the machine's own events. */
type Reported = { type: `xstate.${'done' | 'error'}.actor.${string}`; output?: unknown; error?: unknown };
type Step = ServerEvent | Reported;

const done = (id: string, output: object = { at: 5_000 }): Reported => ({ type: `xstate.done.actor.${id}`, output });
const failed = (id: string, error: unknown = FAILURE): Reported => ({ type: `xstate.error.actor.${id}`, error });
const booted = (at = 10_000) => done('boot', { at, address: ADDRESS, rcon: null, logAfter: null });
const command = (
  type: 'START' | 'JOIN' | 'STOP' | 'RESTART' | 'KILL' | 'DELETE' | 'REINSTALL' | 'RETRY_INSTALL',
  at = 1_000,
) => ({ type, at, cause: type === 'JOIN' ? STEVE : KEY }) as const;
const warned = (type: 'STOP' | 'RESTART', at = 11_000) => ({ type, at, cause: KEY, dueAt: at + 30_000 }) as const;
const maintain = (kind: Job['kind'] = 'backup.restore', at = 1_000) =>
  ({ type: 'MAINTAIN', at, cause: KEY, job: { id: `job_${kind}`, kind, target: 'x' } }) as const;
const sample = (at: number, players: number | null, idleAfterMs = 600_000) =>
  ({ type: 'SAMPLE', at, players, idleAfterMs }) as const;
/** A reading of a game that has been silent on all ports and in its log for `silentMs`, or that answers (null). */
const silent = (at: number, silentMs: number | null) =>
  ({ ...sample(at, silentMs === null ? 1 : null), silentMs, hungAfterMs: 180_000 }) as const;
const down = (at: number, how: Ending = 'crashed') => ({ type: 'DOWN', at, how, failure: FAILURE }) as const;
const up = (at: number) => ({ type: 'UP', at, address: ADDRESS, rcon: null }) as const;

/** A boot that fails because no machine has room for the game. */
const noRoom = (at = 5_000) =>
  failed('boot', { code: 'no_room', summary: 'No room: none.', suggestion: 'x', raw: '', at });

const ALL: Step[] = [
  ...(['START', 'JOIN', 'STOP', 'RESTART', 'KILL', 'DELETE', 'REINSTALL', 'RETRY_INSTALL'] as const).map((type) =>
    command(type),
  ),
  ...(['STOP', 'RESTART'] as const).map((type) => warned(type)),
  { type: 'KEEP_AWAKE', at: 1_000, cause: KEY, until: 2_000 },
  maintain(),
  maintain('world.reset'),
  { type: 'PROGRESS', phase: 'generating_world', percent: 40 },
  sample(10_000 + FALSE_WAKE_MS, 0),
  sample(10_000 + 600_000, 0),
  sample(20_000, 1),
  silent(20_000, null),
  silent(200_000, 180_000),
  up(1_000),
  down(20_000),
  down(10_000 + CRASH_GRACE_MS),
  down(20_000, 'lost'),
  down(20_000, 'ended'),
  down(20_000, 'stopped'),
  { type: 'ALARM', at: 700_000 },
  booted(),
  failed('boot'),
  noRoom(),
  done('halt'),
  failed('halt'),
  done('install'),
  failed('install'),
  done('maintain', { at: 5_000, failure: null }),
  done('maintain', { at: 5_000, failure: FAILURE }),
  failed('maintain'),
  done('erase'),
  failed('erase'),
];

const next = (snapshot: ServerSnapshot, step: Step): ServerSnapshot =>
  getNextSnapshot(serverMachine, snapshot, step as EventFromLogic<typeof serverMachine>);
const run = (...steps: Step[]): ServerSnapshot => steps.reduce(next, getInitialSnapshot(serverMachine, input));
const can = (snapshot: ServerSnapshot, event: ServerEvent) => snapshot.can(event);

/** Returns the invariants that a snapshot breaks. Every snapshot must keep all of them, regardless of its history. */
function invariants(snapshot: ServerSnapshot): string[] {
  const broken: string[] = [];
  const expect = (holds: boolean, rule: string) => void (holds || broken.push(rule));
  const tags = SERVER_STATES.filter((state) => snapshot.hasTag(state));
  const { context } = snapshot;
  expect(snapshot.status !== 'error', 'the actor is alive');
  expect(tags.length === 1, `exactly one wire state, not ${tags.join(',') || 'none'}`);
  expect(snapshot.hasTag('billed') === (tags[0] === 'running'), 'billed while running and only then');
  expect((context.address !== null) === (tags[0] === 'running'), 'an address while running and only then');
  expect((context.readyAt !== null) === (tags[0] === 'running'), 'a ready instant while running and only then');
  expect(tags[0] !== 'starting' || context.deadlineAt !== null, 'a start has a deadline');
  expect(tags[0] !== 'start_failed' || context.startFailure !== null, 'a failed start says why');
  expect(tags[0] !== 'install_failed' || context.installFailure !== null, 'a failed install says why');
  expect(tags[0] !== 'running' || context.startFailure === null, 'a running server carries no start failure');
  const maintaining = snapshot.matches('maintaining');
  expect(
    context.queued === null || maintaining || ['stopping', 'start_failed', 'install_failed'].includes(tags[0] ?? ''),
    'something is queued only on the way down, or behind a job',
  );
  expect(!maintaining || (tags[0] === 'hibernated' && context.job !== null), 'maintenance has a job, and nobody plays');
  expect(context.job === null || maintaining || tags[0] === 'stopping', 'a job waits only for the stop before it');
  expect(tags[0] !== 'starting' || context.installFailure === null, 'nothing starts that is not installed');
  const atRest = ['hibernated', 'start_failed', 'install_failed'].includes(tags[0] ?? '');
  const stands = snapshot.matches({ startFailed: 'inLine' });
  expect(
    !stands || (context.noRoom !== null && context.deadlineAt !== null),
    'who stands in line is there since and until',
  );
  expect(context.noRoom === null || stands || tags[0] === 'starting', 'nobody else is in the line');
  const holds = Object.keys(snapshot.children).length > 0 && !maintaining && !stands;
  expect(!atRest || (context.wokenAt !== null) === holds, 'at rest it holds a place until nothing of it can run');
  expect(atRest || tags[0] === 'deleting' || context.wokenAt !== null || tags[0] === 'stopping', 'awake it holds one');
  const waits = snapshot.matches({ running: 'warned' });
  expect((context.announced !== null) === waits, 'a stop is announced while it waits');
  expect(context.hangs.length <= 2, 'hangs are not counted for ever');
  expect(context.crashes.length <= 3, 'crashes are not counted for ever');
  expect(snapshot.status !== 'active' || can(snapshot, command('DELETE')), 'deletion is always possible');
  return broken;
}

const scope = inertScope();
const ways = shortestWays({
  first: getInitialSnapshot(serverMachine, input),
  next: (snapshot, step: Step) =>
    serverMachine.transition(snapshot, step as EventFromLogic<typeof serverMachine>, scope),
  events: (snapshot) => (snapshot.status === 'active' ? ALL.filter((step) => canCome(snapshot, step)) : []),
  keyOf: (snapshot) => {
    const { context, value } = snapshot;
    const { queued, kill, played, retries, startFailure, installFailure, bakedAt, cause, keepAwakeUntil, job } =
      context;
    const facts = [
      queued?.kind,
      kill,
      played,
      retries.length,
      startFailure?.code,
      installFailure?.code,
      bakedAt !== null,
      job?.kind,
      context.maintained?.failure === null,
      context.answered,
      context.hangs.length,
      context.noRoom !== null,
      context.announced?.type,
    ];
    return JSON.stringify([value, facts, cause.kind, keepAwakeUntil > 0]);
  },
});

/** An effect reports only while it is invoked. */
function canCome(snapshot: ServerSnapshot, { type }: Step): boolean {
  const [, , , effect] = type.split('.');
  return effect === undefined || effect in snapshot.children;
}

// Each prefix of a path is a path itself, so checking the last state of every path covers every step.
for (const state of SERVER_STATES) {
  test(`every step of every path to ${state} keeps the invariants`, (t) => {
    const there = ways.filter((way) => serverState(way.state) === state);
    t.true(there.length > 0, 'the state can be reached');
    for (const { state: reached, steps } of there) {
      const broken = invariants(reached);
      if (broken.length > 0) t.fail(`${steps.map(({ event }) => event.type).join(' → ')}: ${broken.join('; ')}`);
    }
  });
}

test('a stored server snapshot restores to the same state, and an unknown state name throws', (t) => {
  for (const { state } of ways) {
    const { value, context } = JSON.parse(JSON.stringify(state)) as ServerSnapshot;
    const restored = serverMachine.resolveState({ value, context });
    t.deepEqual(restored.value, value);
    t.is(serverState(restored as ServerSnapshot), serverState(state));
  }
  t.throws(() => serverMachine.resolveState({ value: 'dozing', context: run().context }));
});

const reaches = test.macro<[Step[], ServerState]>({
  exec: (t, steps, state) => t.is(serverState(run(...steps)), state),
  title: (_, steps, state) =>
    `${steps.map((step) => `${step.type}${'at' in step ? `@${step.at}` : ''}`).join(', ')} → ${state}`,
});

test(reaches, [], 'hibernated');
test(reaches, [command('START')], 'starting');
test(reaches, [command('JOIN')], 'starting');
test(reaches, [command('START'), booted()], 'running');
test(reaches, [command('START'), failed('boot')], 'start_failed');
test(reaches, [command('START'), { type: 'ALARM', at: 601_000 }], 'start_failed');
test(reaches, [command('START'), noRoom(), command('START')], 'starting');
test(reaches, [command('START'), noRoom(), command('DELETE')], 'deleting');
test(reaches, [command('START'), noRoom(), up(6_000)], 'start_failed');
test(reaches, [command('START'), down(5_000, 'lost')], 'starting');
test(reaches, [command('START'), down(6_000, 'crashed')], 'starting');
test(reaches, [command('START'), command('STOP')], 'stopping');
test(reaches, [command('START'), command('KILL'), done('halt')], 'hibernated');
test(reaches, [command('START'), booted(), command('STOP'), done('halt')], 'hibernated');
test(reaches, [command('START'), booted(), command('RESTART'), done('halt')], 'starting');
test(reaches, [command('START'), booted(), command('STOP'), command('JOIN'), done('halt')], 'starting');
test(reaches, [command('START'), booted(), command('RESTART'), command('STOP'), done('halt')], 'hibernated');
test(reaches, [command('START'), booted(), command('STOP'), failed('halt')], 'stopping');
test(
  reaches,
  [command('START'), booted(), command('STOP'), { type: 'ALARM', at: 999_999 }, done('halt')],
  'hibernated',
);
test(reaches, [command('START'), booted(), down(10_000 + CRASH_GRACE_MS)], 'starting');
test(reaches, [command('START'), booted(), down(10_000 + CRASH_GRACE_MS - 1)], 'start_failed');
test(reaches, [command('START'), booted(), down(11_001, 'lost')], 'starting');
test(reaches, [command('START'), booted(), down(11_002, 'ended')], 'starting');
test(reaches, [command('START'), booted(), down(11_002, 'stopped'), done('halt')], 'hibernated');
test(reaches, [command('START'), booted(), up(11_000)], 'running');
test(reaches, [up(1_000)], 'stopping');
test(reaches, [command('REINSTALL')], 'installing');
test(reaches, [command('REINSTALL'), done('install')], 'hibernated');
test(reaches, [command('REINSTALL'), failed('install')], 'install_failed');
test(reaches, [command('REINSTALL'), { type: 'ALARM', at: 2_000_000 }], 'install_failed');
test(reaches, [command('REINSTALL'), command('STOP')], 'install_failed');
test(reaches, [command('REINSTALL'), failed('install'), done('halt'), command('RETRY_INSTALL')], 'installing');
test(reaches, [command('REINSTALL'), failed('install'), command('RETRY_INSTALL')], 'install_failed');
test(reaches, [command('REINSTALL'), failed('install'), command('RETRY_INSTALL'), done('halt')], 'installing');
test(reaches, [command('START'), failed('boot'), done('halt'), command('REINSTALL')], 'installing');
test(reaches, [command('START'), failed('boot'), command('START')], 'start_failed');
test(reaches, [command('START'), failed('boot'), command('START'), done('halt')], 'starting');
test(reaches, [command('START'), booted(), command('DELETE')], 'deleting');
test(reaches, [command('DELETE'), failed('erase'), { type: 'ALARM', at: 9_000 }, done('erase')], 'deleting');

const restored = done('maintain', { at: 5_000, failure: null });
const notRestored = done('maintain', { at: 5_000, failure: FAILURE });
test(reaches, [maintain()], 'hibernated');
test(reaches, [maintain(), restored], 'hibernated');
test(reaches, [maintain(), command('START')], 'hibernated');
test(reaches, [maintain(), command('START'), restored], 'starting');
test(reaches, [maintain(), command('JOIN'), notRestored], 'starting');
test(reaches, [maintain(), command('JOIN'), command('STOP'), restored], 'hibernated');
test(reaches, [maintain(), failed('maintain'), command('START'), { type: 'ALARM', at: 9_000 }, restored], 'starting');
test(reaches, [maintain(), up(1_000)], 'hibernated');
test(reaches, [maintain(), command('DELETE')], 'deleting');
test(reaches, [command('START'), booted(), maintain()], 'stopping');
test(reaches, [command('START'), booted(), maintain(), done('halt')], 'hibernated');
test(reaches, [command('START'), booted(), maintain(), done('halt'), restored], 'starting');
test(reaches, [command('START'), booted(), maintain(), command('STOP'), done('halt'), restored], 'hibernated');
test(reaches, [command('START'), booted(), command('STOP'), maintain(), done('halt'), restored], 'hibernated');
test(reaches, [command('START'), maintain(), done('halt'), restored], 'starting');
test(reaches, [command('START'), failed('boot'), maintain()], 'stopping');
test(reaches, [command('START'), failed('boot'), maintain(), done('halt'), restored], 'hibernated');
test(reaches, [command('START'), failed('boot'), done('halt'), maintain(), restored], 'hibernated');
test(reaches, [command('REINSTALL'), failed('install'), done('halt'), maintain(), restored], 'hibernated');
test(reaches, [command('REINSTALL'), failed('install'), done('halt'), maintain(), notRestored], 'install_failed');

test('a server runs one maintenance job at a time and keeps its outcome', (t) => {
  t.false(can(run(maintain()), maintain('world.reset')));
  t.false(can(run(command('START'), booted(), maintain()), maintain('world.reset')));
  t.false(can(run(command('REINSTALL')), maintain()));
  t.false(can(run(command('REINSTALL'), failed('install'), done('halt')), maintain('world.reset')));
  t.deepEqual(run(maintain(), restored).context.maintained, { jobId: 'job_backup.restore', failure: null });
  t.is(run(maintain(), notRestored).context.maintained?.failure?.code, FAILURE.code);
  t.is(run(command('START'), failed('boot'), maintain()).context.kill, true, 'a hanging game is killed');
  const after = run(command('START'), booted(), maintain(), command('JOIN'), down(20_000));
  t.is(after.context.queued?.kind, 'player');
});

test('a start requested during a stop follows the stop, and another stop cancels it', (t) => {
  const asked = run(command('START'), booted(), command('STOP'), command('START'));
  t.is(serverState(asked), 'stopping');
  t.is(asked.context.queued?.kind, 'key');
  t.is(serverState(next(asked, done('halt'))), 'starting');
  t.is(serverState(next(next(asked, command('STOP')), done('halt'))), 'hibernated');
});

test('a start that loses its machine begins anew with its first cause and the full start time', (t) => {
  const { context } = run(command('JOIN'), command('START', 2_000), down(400_000, 'lost'));
  t.deepEqual(context.cause, STEVE);
  t.like(context, { wokenAt: 400_000, deadlineAt: 1_000_000, played: true });
  t.deepEqual(run(command('START'), down(400_000, 'crashed')).context, run(command('START')).context);
  t.deepEqual(run(command('START'), down(400_000, 'lost')).context.crashes, []);
});

test('a start that finds no room waits in line for an hour and does not count as a failed start', (t) => {
  const now = run(command('START'), booted(10_000), down(20_000, 'lost'), noRoom(30_000));
  t.deepEqual(now.value, { startFailed: 'inLine' });
  t.like(now.context, {
    wokenAt: null,
    noRoom: { foundAt: 30_000, tryAt: 30_000, until: 30_000 + ROOM_MS },
    deadlineAt: 30_000 + ROOM_MS,
  });
  t.like(now.context.cause, { kind: 'system', id: 'lost' });
  t.like(now.context.startFailure, { code: 'no_room', summary: 'No room: none.' });
  t.regex(now.context.startFailure!.suggestion, /starts automatically when there is room/);
  for (const type of ['START', 'JOIN'] as const) {
    const again = next(now, command(type, 90_000));
    t.is(serverState(again), 'starting');
    t.is(again.context.startFailure, null);
    t.deepEqual(again.context.retries, []);
    t.is(next(again, booted(95_000)).context.noRoom, null);
    const missed = next(again, noRoom(100_000));
    t.deepEqual(
      missed.context.noRoom,
      { foundAt: 30_000, tryAt: 170_000, until: 30_000 + ROOM_MS },
      'the place in line stays, and retries become rarer',
    );
    t.is(serverState(next(missed, down(110_000, 'lost'))), 'start_failed');
  }
  const over = next(now, { type: 'ALARM', at: 30_000 + ROOM_MS });
  t.deepEqual(over.value, { startFailed: 'cleared' });
  t.like(over.context, { noRoom: null, deadlineAt: null });
  t.is(over.context.startFailure?.code, 'no_room_found', 'a different code than during the wait');
  t.regex(over.context.startFailure!.summary, /^No room: the server waited 60 minutes .* Start it again later\.$/);
  const refused = next(now, { type: 'ALARM', at: 40_000, failure: FAILURE });
  t.deepEqual(refused.context.startFailure, FAILURE);
  for (const type of ['STOP', 'KILL'] as const) {
    const left = next(now, command(type, 40_000));
    t.deepEqual(left.value, { startFailed: 'cleared' }, type);
    t.is(left.context.noRoom, null);
    t.notRegex(left.context.startFailure!.suggestion, /automatically/);
  }
});

test('a start requested only by a player waits in line for a shorter time', (t) => {
  const woken = run(command('JOIN'), noRoom(30_000));
  t.is(woken.context.deadlineAt, 30_000 + UNCLAIMED_ROOM_MS);
  const wanted = run(command('JOIN'), command('START', 10_000), noRoom(30_000));
  t.is(wanted.context.deadlineAt, 30_000 + ROOM_MS);
});

test('commands that a state does not allow are refused', (t) => {
  const refused: [ServerSnapshot, Parameters<typeof command>[0][]][] = [
    [run(), ['RESTART', 'RETRY_INSTALL']],
    [run(command('REINSTALL')), ['START', 'JOIN', 'RESTART', 'REINSTALL', 'RETRY_INSTALL']],
    [run(command('START')), ['REINSTALL', 'RETRY_INSTALL']],
    [run(command('START'), booted()), ['REINSTALL', 'RETRY_INSTALL']],
    [run(command('START'), booted(), command('STOP')), ['REINSTALL']],
    [run(command('DELETE')), ['START', 'JOIN', 'STOP', 'RESTART', 'KILL', 'REINSTALL']],
  ];
  for (const [snapshot, types] of refused)
    for (const type of types) t.false(can(snapshot, command(type)), `${type} in ${JSON.stringify(snapshot.value)}`);
});

test('commands that change nothing are accepted', (t) => {
  t.true(can(run(), command('STOP')));
  t.true(can(run(command('START')), command('START')));
  t.true(can(run(command('START'), booted()), command('START')));
  t.true(can(run(command('START'), booted(), command('STOP')), command('STOP')));
});

test('players can retry a failed start twice an hour, owners without limit', (t) => {
  const fail = [failed('boot'), done('halt')];
  const twice = [command('JOIN'), ...fail, command('JOIN', 2_000), ...fail, command('JOIN', 3_000), ...fail];
  t.false(can(run(...twice), command('JOIN', 4_000)));
  t.true(can(run(...twice), command('START', 4_000)));
  t.true(can(run(...twice), command('JOIN', 2_000 + 3_600_000)));
});

/** A boot that is ready at `readyAt` and ends `ranMs` later. */
const endsAfter = (readyAt: number, ranMs: number, how: Ending = 'crashed'): Step[] => [
  booted(readyAt),
  down(readyAt + ranMs, how),
];

test('a crashing game is restarted at most twice within an hour', (t) => {
  const twice = [command('START'), ...endsAfter(0, 300_000), ...endsAfter(301_000, 300_000)];
  t.is(serverState(run(...twice)), 'starting');
  const loop = run(...twice, ...endsAfter(602_000, 300_000));
  t.is(serverState(loop), 'start_failed');
  t.like(loop.context.startFailure, { code: 'crash_loop', raw: FAILURE.raw });
  t.regex(loop.context.startFailure?.summary ?? '', /^Crash loop: .*Out of memory: x$/);
  const cleared = next(loop, done('halt'));
  t.deepEqual([...invariants(loop), ...invariants(cleared)], []);
  t.false(can(cleared, command('JOIN', 1_000_000)), 'players cannot start it yet');
  t.true(can(cleared, command('START', 1_000_000)));
  t.true(can(cleared, command('JOIN', 300_000 + 3_600_000)));
  const later = run(...twice, ...endsAfter(602_000, 3_300_000));
  t.is(serverState(later), 'starting', 'the first crash is an hour ago');
  t.is(later.context.crashes.length, 2);
});

test('an unrequested clean exit counts as a crash, but a lost engine does not', (t) => {
  const three = (how: Ending) => [0, 10_000, 20_000].flatMap((at) => endsAfter(at, 5_000, how));
  t.like(run(command('START'), ...three('ended')).context.startFailure, { code: 'crash_loop' });
  const lost = run(command('START'), ...three('lost'));
  t.is(serverState(lost), 'starting');
  t.deepEqual(lost.context.crashes, []);
});

test('a crash soon after the start fails with its own cause, not as a crash loop', (t) => {
  const crashes = [0, 300_000].flatMap((at) => endsAfter(at, 200_000));
  const now = run(command('START'), ...crashes, ...endsAfter(600_000, 1_000));
  t.is(now.context.startFailure?.code, FAILURE.code);
  t.false(can(next(now, done('halt')), command('JOIN', 700_000)));
});

test('a game that stops answering is killed and restarted once within an hour, then it fails', (t) => {
  const answers = [command('START'), booted(10_000), silent(20_000, null)];
  t.is(serverState(run(...answers, silent(200_000, 179_999))), 'running');
  t.is(run(...answers, silent(100_000, 79_000)).context.live.silentSince, 21_000);
  t.is(run(...answers, silent(100_000, 79_000), silent(115_000, null)).context.live.silentSince, null);
  const ended = run(...answers, silent(200_000, 180_000));
  t.is(serverState(ended), 'stopping');
  t.true(ended.context.kill, 'a hanging game is killed');
  t.like(ended.context, { cause: { kind: 'system', id: 'hung' }, queued: { kind: 'system', id: 'hung' } });
  const again = [...answers, silent(200_000, 180_000), done('halt', { at: 210_000 }), booted(220_000)];
  t.is(serverState(run(...again, silent(500_000, 180_000))), 'running', 'the game has not answered in this run');
  const failed = run(...again, silent(235_000, null), silent(500_000, 180_000));
  t.like(failed.context.startFailure, { code: 'hung' });
  t.is(serverState(failed), 'start_failed');
  t.false(can(next(failed, done('halt')), command('JOIN', 600_000)), 'players cannot start it yet');
  t.true(can(next(failed, done('halt')), command('START', 600_000)));
  const later = run(...again, silent(235_000, null), silent(4_000_000, 180_000));
  t.is(serverState(later), 'stopping', 'the first hang is an hour ago');
  const woken = [command('JOIN'), booted(10_000), { ...silent(20_000, null), players: 0 }];
  t.is(run(...woken, silent(200_000, 180_000)).context.queued, null, 'no player had joined');
});

test('a game that has never answered, or cannot be checked, does not count as hung', (t) => {
  t.is(serverState(run(command('START'), booted(10_000), silent(9_999_999, 9_000_000))), 'running');
  const never = { ...silent(9_999_999, 9_000_000), hungAfterMs: 0 };
  t.is(serverState(run(command('START'), booted(10_000), silent(20_000, null), never)), 'running');
  const unknown = run(command('START'), booted(10_000), silent(20_000, null), sample(9_999_999, null));
  t.is(serverState(unknown), 'running');
});

test('a server woken by a player but never joined is not restarted when its game ends', (t) => {
  for (const [how, id] of [
    ['crashed', 'crash'],
    ['ended', 'lost'],
    ['lost', 'lost'],
  ] as const) {
    const now = run(command('JOIN'), ...endsAfter(10_000, 90_000, how));
    t.is(serverState(now), 'stopping', how);
    t.like(now.context.cause, { kind: 'system', id });
    t.is(serverState(next(now, done('halt'))), 'hibernated');
    const entered = run(command('JOIN'), booted(10_000), sample(20_000, 1), down(100_000, how));
    t.is(serverState(entered), 'starting', how);
    const keep: Step = { type: 'KEEP_AWAKE', at: 20_000, cause: KEY, until: 900_000 };
    t.is(serverState(run(command('JOIN'), booted(10_000), keep, down(100_000, how))), 'starting', 'kept awake');
  }
});

test('an empty server goes to sleep after its idle time, counted from the last player', (t) => {
  const running = [command('START'), booted(10_000)];
  t.is(serverState(run(...running, sample(609_999, 0))), 'running');
  t.is(serverState(run(...running, sample(610_000, 0))), 'stopping');
  t.is(serverState(run(...running, sample(600_000, 3), sample(1_199_999, 0))), 'running');
  t.is(serverState(run(...running, sample(600_000, 3), sample(1_200_000, 0))), 'stopping');
  t.is(serverState(run(...running, command('JOIN', 600_000), sample(1_199_999, 0))), 'running');
  t.is(serverState(run(...running, sample(9_999_999, null))), 'running', 'a missing reading does not count as empty');
  t.is(serverState(run(...running, sample(9_999_999, 0, 0))), 'running', 'no idle stop without an idle time');
  const kept: Step = { type: 'KEEP_AWAKE', at: 20_000, cause: KEY, until: 900_000 };
  t.is(serverState(run(...running, kept, sample(899_999, 0))), 'running');
  t.is(serverState(run(...running, kept, sample(900_000, 0))), 'stopping');
});

/** The proxy's counts at a reading: players inside, players logging in, and when a player was last inside. */
const joined = (inside: number, knocking: number, insideAt: number | null) => ({
  joined: { inside, knocking, insideAt },
});

test('a player joined through the proxy keeps a server awake, even if the game counts no players', (t) => {
  const running = [command('START'), booted(10_000)];
  const reading = (at: number, who: object) => ({ ...sample(at, 0), ...who });
  t.is(
    serverState(run(...running, reading(9_999_999, joined(1, 0, 9_999_999)))),
    'running',
    'a player in the configuration phase',
  );
  const visited = [...running, reading(500_000, joined(0, 0, 490_000))];
  t.is(serverState(run(...visited, sample(1_089_999, 0))), 'running', 'a visit between two readings');
  t.is(serverState(run(...visited, sample(1_090_000, 0))), 'stopping');
  const knocking = joined(0, 3, null);
  t.is(serverState(run(...running, reading(610_000 + KNOCK_MS - 1, knocking))), 'running', 'a player is logging in');
  t.is(serverState(run(...running, reading(610_000 + KNOCK_MS, knocking))), 'stopping', 'login expired');
});

test('a visit that only the proxy has seen prevents a false wake', (t) => {
  const woken = [command('JOIN'), booted(10_000)];
  const visited = { ...sample(25_000, 0), ...joined(0, 0, 20_000) };
  t.true(run(...woken, visited).context.played);
  t.is(serverState(run(...woken, visited, sample(20_000 + FALSE_WAKE_MS, 0))), 'running');
  const refused = { ...sample(25_000, 0), ...joined(0, 1, null) };
  t.is(run(...woken, refused, sample(10_000 + FALSE_WAKE_MS, 0)).context.cause.id, 'false_wake');
});

test('a player’s wake counts as false if no player joins in time', (t) => {
  const woken = [command('JOIN'), booted(10_000)];
  t.is(serverState(run(...woken, sample(10_000 + FALSE_WAKE_MS - 1, 0))), 'running');
  const slept = run(...woken, sample(10_000 + FALSE_WAKE_MS, 0));
  t.is(slept.context.cause.id, 'false_wake');
  t.is(serverState(run(...woken, sample(20_000, 1), sample(20_000 + FALSE_WAKE_MS, 0))), 'running');
  t.is(
    serverState(run(command('START'), booted(10_000), sample(10_000 + FALSE_WAKE_MS, 0))),
    'running',
    'an owner’s start is no false wake',
  );
  const wanted = [command('JOIN'), command('START', 5_000), booted(10_000)];
  t.is(serverState(run(...wanted, sample(10_000 + FALSE_WAKE_MS, 0))), 'running', 'START after JOIN');
  t.is(
    serverState(run(...woken, command('START', 20_000), sample(20_000 + FALSE_WAKE_MS, 0))),
    'running',
    'the owner’s start came while it ran',
  );
});

test('a wake does not count as false if the players cannot be counted', (t) => {
  const woken = [command('JOIN'), booted(10_000)];
  const played = (...steps: Step[]) => run(...woken, ...steps).context.played;
  t.false(played(sample(10_000 + FALSE_WAKE_MS - 1, null)));
  t.true(played(sample(10_000 + FALSE_WAKE_MS - 1, null), sample(10_000 + FALSE_WAKE_MS, null)));
  const missed = [sample(9_000 + FALSE_WAKE_MS, 0), sample(10_000 + FALSE_WAKE_MS, null)];
  t.false(played(...missed), 'one missing answer');
  t.is(run(...woken, ...missed, sample(11_000 + FALSE_WAKE_MS, 0)).context.cause.id, 'false_wake');
});

test('a server keeps the causes and times of its starts', (t) => {
  const { context } = run(command('JOIN', 1_234));
  t.deepEqual(context.cause, STEVE);
  t.is(context.wokenAt, 1_234);
  t.is(context.deadlineAt, 601_234);
  const baked = run(command('START'), booted(10_000), command('STOP'), done('halt'), command('START'), booted(90_000));
  t.is(baked.context.bakedAt, 10_000);
  t.is(baked.context.readyAt, 90_000);
  const queued = run(
    command('START'),
    booted(),
    command('STOP'),
    command('JOIN', 40_000),
    done('halt', { at: 50_000 }),
  );
  t.deepEqual(queued.context.cause, STEVE);
  t.is(queued.context.wokenAt, 50_000);
});

test('isTagged finds the states that share a tag, and agrees with the machine’s own tags', (t) => {
  const of = (tag: ServerTag) => SERVER_STATES.filter((state) => isTagged(state, tag));
  t.deepEqual(of('awake'), ['starting', 'running']);
  t.deepEqual(of('billed'), ['running']);
  t.deepEqual(of('at-rest'), ['hibernated', 'install_failed', 'start_failed']);
  t.deepEqual(of('preparing'), ['installing', 'starting']);
  t.deepEqual(of('passing'), ['installing', 'starting', 'stopping', 'deleting']);
  t.deepEqual(of('holds-place'), ['installing', 'starting', 'running', 'stopping']);
  t.false(isTagged('of another version', 'at-rest'));
  for (const { state } of ways) for (const tag of state.tags) t.true(isTagged(serverState(state), tag as ServerTag));
});

test('a persisted server snapshot contains no tags', (t) => {
  const actor = createActor(serverMachine, { input });
  t.true(actor.getSnapshot().hasTag('at-rest'));
  t.notRegex(JSON.stringify(actor.getPersistedSnapshot()), /tags|at-rest/);
});

async function stored(): Promise<{ wire: ServerState; snapshot: Snapshot<unknown> }[]> {
  const url = new URL('../fixtures/snapshots/server-0.1.json', import.meta.url);
  return JSON.parse(await readFile(url, 'utf8')) as { wire: ServerState; snapshot: Snapshot<unknown> }[];
}

test('snapshots stored by version 0.1 can be restored', async (t) => {
  const never = () => new Promise<never>(() => {});
  const idle = serverMachine.provide({
    actors: {
      install: fromPromise<Finished, { id: string }>(never),
      boot: fromPromise<Booted, { id: string }>(never),
      halt: fromPromise<Finished, { id: string; kill: boolean }>(never),
      erase: fromPromise<Finished, { id: string }>(never),
      maintain: fromPromise<Maintained, { id: string; jobId: string }>(never),
    },
  });
  for (const { wire, snapshot } of await stored()) {
    const actor = createActor(idle, { snapshot, input });
    actor.start();
    t.is(serverState(actor.getSnapshot()), wire);
    t.is(actor.getSnapshot().status, 'active');
    actor.stop();
  }
});

test('the snapshot fixture of version 0.1 holds every server state', async (t) => {
  const all = await stored();
  t.deepEqual([...new Set(all.map(({ wire }) => wire))].sort(), [...SERVER_STATES].sort());
  t.true(all.some(({ snapshot }) => JSON.stringify(snapshot).includes('"maintaining":"waiting"')));
});
