import test from 'ava';
import { type EventFromLogic, getInitialSnapshot, getNextSnapshot } from 'xstate';
import type { Cause, ServerEvent } from '../../machines/server-types.ts';
import { type ServerSnapshot, serverMachine, serverState } from '../../machines/server.ts';

const KEY: Cause = { kind: 'key', id: 'key_1', note: '' };
const input = { id: 'lobby', at: 0, cause: KEY, limits: { startMs: 600_000, stopMs: 120_000, installMs: 1_800_000 } };

const done = (id: string, output: object) => ({ type: `xstate.done.actor.${id}`, output }) as const;
const BOOTED = done('boot', { at: 10_000, address: { host: '127.0.0.1', port: 25565 }, rcon: null, logAfter: null });
const HALTED = done('halt', { at: 45_000 });
type Step = ServerEvent | typeof BOOTED;

const command = (type: 'START' | 'JOIN' | 'STOP', at = 1_000) => ({ type, at, cause: KEY }) as const;
const warned = (type: 'STOP' | 'RESTART', at = 11_000) => ({ type, at, cause: KEY, dueAt: at + 30_000 }) as const;
const sample = (at: number, players: number | null) => ({ type: 'SAMPLE', at, players, idleAfterMs: 600_000 }) as const;

const next = (snapshot: ServerSnapshot, step: Step): ServerSnapshot =>
  getNextSnapshot(serverMachine, snapshot, step as EventFromLogic<typeof serverMachine>);
const run = (...steps: Step[]): ServerSnapshot => steps.reduce(next, getInitialSnapshot(serverMachine, input));

test('an announced restart begins at its time, with the cause of the request', (t) => {
  const announced = run(command('START'), BOOTED, sample(10_500, 1), warned('RESTART'));
  t.is(serverState(announced), 'running');
  t.deepEqual(announced.context.announced, { type: 'RESTART', at: 41_000, cause: KEY });
  t.true('alarm' in announced.children && 'warn' in announced.children && 'watch' in announced.children);
  const stopping = next(announced, { type: 'ALARM', at: 41_000 });
  t.is(serverState(stopping), 'stopping');
  t.deepEqual([stopping.context.cause, stopping.context.queued], [KEY, KEY]);
  t.is(stopping.context.deadlineAt, 41_000 + input.limits.stopMs);
  t.is(serverState(next(stopping, HALTED)), 'starting');
});

test('an announced stop puts the server to sleep, and leaves nothing queued', (t) => {
  const stopping = run(command('START'), BOOTED, warned('STOP'), { type: 'ALARM', at: 41_000 });
  t.is(stopping.context.queued, null);
  t.is(serverState(next(stopping, HALTED)), 'hibernated');
});

test('an announced stop begins at once when the last player has left', (t) => {
  const announced = run(command('START'), BOOTED, sample(10_500, 1), warned('RESTART'));
  t.is(serverState(next(announced, sample(12_000, 1))), 'running');
  t.is(serverState(next(announced, sample(12_000, null))), 'running', 'players cannot be counted');
  const loading = { ...sample(12_000, 0), joined: { inside: 1, knocking: 0, insideAt: 12_000 } };
  t.is(serverState(next(announced, loading)), 'running', 'a player loads the world');
  const empty = next(announced, sample(12_000, 0));
  t.is(serverState(empty), 'stopping');
  t.deepEqual(empty.context.queued, KEY);
});

test('a warning without players, or whose time is over, is a stop at once', (t) => {
  t.is(serverState(run(command('START'), BOOTED, sample(10_500, 0), warned('STOP'))), 'stopping');
  t.is(serverState(run(command('START'), BOOTED, { ...warned('STOP'), dueAt: 11_000 })), 'stopping');
  t.is(serverState(run(command('START'), warned('STOP'))), 'stopping', 'a start has no players');
});

test('a start cancels an announced stop, a join does not, and another stop replaces it', (t) => {
  const announced = run(command('START'), BOOTED, sample(10_500, 1), warned('RESTART'));
  const cancelled = next(announced, command('START', 12_000));
  t.deepEqual([cancelled.value, cancelled.context.announced], [{ running: 'open' }, null]);
  t.is(serverState(next(cancelled, { type: 'ALARM', at: 41_000 })), 'running');
  t.is(next(announced, command('JOIN', 12_000)).context.announced?.at, 41_000);
  const replaced = next(announced, warned('STOP', 20_000));
  t.deepEqual(replaced.context.announced, { type: 'STOP', at: 50_000, cause: KEY });
  t.not(replaced.children['alarm'], announced.children['alarm']);
  t.is(serverState(next(announced, command('STOP', 12_000))), 'stopping');
});
