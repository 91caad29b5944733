import test from 'ava';
import type { EngineEvent } from '../../src/engines/engine.ts';
import { fakeClock } from '../fakes/clock.ts';
import { fakeEngine } from '../fakes/engine.ts';
import { onNodes } from '../fakes/nodes.ts';
import { nodesHold } from './nodes.ts';

const spec = {
  serverId: 'alpha',
  core: 'sandbox',
  version: '',
  ramMb: 64,
  cpus: 1,
  ports: [],
  image: '',
  dataDir: '/nowhere',
  env: {},
};
const never = new AbortController().signal;

test('the fake clock fires timers in order of time, including nested ones, and cancels them', async (t) => {
  const clock = fakeClock(1_000);
  const fired: string[] = [];
  const note = (name: string) => () => void fired.push(`${name} ${clock.now()}`);
  clock.at(1_300, note('late'));
  clock.at(1_100, () => {
    note('first')();
    // This timer is set two promises later, still within the same span.
    void Promise.resolve()
      .then(() => undefined)
      .then(() => clock.at(1_200, note('nested')));
  });
  clock.at(1_100, note('second'));
  const cancel = clock.at(1_150, note('never'));
  cancel();
  await clock.advance(250);
  t.deepEqual(fired, ['first 1100', 'second 1100', 'nested 1200']);
  t.is(clock.now(), 1_250);
  t.is(clock.pending(), 1);
  await clock.jump(5_000);
  t.is(fired.at(-1), 'late 5000');
  clock.at(10, note('past'));
  t.is(fired.at(-1), 'late 5000');
  await new Promise((resolve) => void setImmediate(resolve));
  t.is(fired.at(-1), 'past 5000');
  t.is(clock.pending(), 0);
});

test('the fake engine can be away, refuse, hold and crash, on its own clock', async (t) => {
  const clock = fakeClock();
  const engine = fakeEngine({ clock });
  const events: EngineEvent[] = [];
  engine.watch((event) => events.push(event));
  engine.script('alpha', { refuse: 'image_pull_failed' });
  t.like(await t.throwsAsync(engine.boot(spec, never)), { code: 'image_pull_failed' });
  engine.script('alpha', { ignoreStop: true });
  const release = engine.hold('alpha');
  const booting = engine.boot(spec, never);
  await clock.advance(60_000);
  t.deepEqual(engine.boots, []);
  release();
  t.is((await booting).startedAt, clock.now());
  t.deepEqual(engine.boots, ['alpha']);
  engine.away();
  engine.crash('alpha', { code: null });
  t.like(await t.throwsAsync(engine.list()), { code: 'engine_unavailable' });
  engine.back();
  t.deepEqual(
    events.map((event) => event.type),
    ['up', 'away', 'resync'],
  );
  t.like(await engine.inspect('alpha'), { up: false, exit: { code: null } });
  await engine.boot(spec, never);
  const halting = engine.halt('alpha', 30_000);
  await clock.advance(29_999);
  t.true((await engine.inspect('alpha'))?.up);
  await clock.advance(1);
  await halting;
  t.is(await engine.inspect('alpha'), undefined);
});

test('the fake engine’s nodes behave like those of a real one', async (t) => {
  const clock = fakeClock(1_000);
  await nodesHold(t, onNodes(fakeEngine({ clock }), [{ id: 'n1' }], clock), spec);
});
