import { setImmediate as turn } from 'node:timers/promises';
import test from 'ava';
import { Outdated } from '../../src/actors/actor-kind.ts';
import { fakeClock } from '../fakes/clock.ts';
import { turns } from '../support/turns.ts';
import { until } from '../support/until.ts';
import * as fc from '../support/property.ts';
import { Disk, type Fate, type Tallies, type TallyOptions, type TallyProcess, Unheard, tallyProcess } from './tally.ts';

const IDS = ['a', 'b', 'c'];

function bench(options: Partial<TallyOptions> = {}) {
  const clock = fakeClock();
  const disk = new Disk(IDS);
  const counted: number[] = [];
  const count = async ({ n }: { n: number }) => void counted.push(n);
  const process = tallyProcess({ disk, clock, count, ...options });
  return { clock, disk, counted, process, tallies: process.tallies };
}

const add = (tallies: Tallies, id: string, n: number, implied?: () => Promise<void>) =>
  tallies.use(id, (live) => tallies.give(live, { type: 'ADD', n }, implied));
const refuse = async () => {
  throw new Error('no room');
};

test('an effect starts only after its step is stored, and readers wait for that as well', async (t) => {
  const { process, tallies, counted } = bench();
  const held = Promise.withResolvers<void>();
  process.hold(held.promise);
  const shown: (string | undefined)[] = [];
  tallies.observe((_, now) => void shown.push(now?.state));
  const steps: string[] = [];
  tallies.feed.follow(({ event }) => void steps.push(event));
  const added = add(tallies, 'a', 1);
  await until(() => shown.includes('counting'));
  let isRead = false;
  const read = tallies.get('a').then((now) => ((isRead = true), now));
  await turns(20);
  t.false(isRead);
  t.deepEqual([counted, steps], [[], []]);
  held.resolve();
  await added;
  t.deepEqual(steps, ['ADD']);
  t.deepEqual((await read)?.waiting.concat((await read)?.counted ?? []), [1]);
  await until(() => shown.at(-1) === 'idle');
  t.deepEqual(counted, [1]);
});

test('a failed write rejects its senders, returns observers to the stored state and starts no effect', async (t) => {
  const { disk, clock, tallies, counted } = bench();
  const shown: (string | undefined)[] = [];
  tallies.observe((id, now) => void (id === 'a' && shown.push(now?.state)));
  disk.fates.push('undone');
  const [first, second] = await Promise.allSettled(
    [1, 2].map((n) =>
      tallies.use('a', async (live) => ({
        given: tallies.give(live, { type: 'ADD', n }).catch((error: unknown) => error),
      })),
    ),
  ).then((all) => all.map((each) => (each.status === 'fulfilled' ? each.value?.given : undefined)));
  t.regex(String(await first), /undone/);
  t.true((await second) instanceof Outdated, 'the event behind it is rejected too');
  t.true(tallies.isUndone('a'));
  disk.unreadable = 3;
  t.is(shown.at(-1), 'counting');
  for (let tries = 1; disk.unreadable > 0; tries++) {
    await clock.advance(1_000);
    await until(() => disk.unreadable === 3 - tries && clock.pending() === 1);
    t.true(tallies.isUndone('a'));
  }
  await clock.advance(1_000);
  await until(() => !tallies.isUndone('a'));
  t.is(shown.at(-1), 'idle');
  t.deepEqual([counted, tallies.live(), clock.pending()], [[], [], 0]);
  await add(tallies, 'a', 3);
  await until(() => disk.now('a').counted.length === 1);
  t.deepEqual(counted, [3]);
});

test('observers receive undefined if the row of a failed write is gone when it is reloaded', async (t) => {
  const { disk, clock, tallies } = bench();
  const shown: (string | undefined)[] = [];
  tallies.observe((_, now) => void shown.push(now?.state));
  disk.fates.push('undone');
  await t.throwsAsync(add(tallies, 'a', 1));
  disk.rows.delete('a');
  await clock.advance(1_000);
  await until(() => !tallies.isUndone('a'));
  t.deepEqual(shown, ['counting', undefined]);
});

test('a write awaited inside `use` is retried when the write before it fails', async (t) => {
  const { disk, tallies } = bench();
  disk.fates.push('undone');
  const added = await Promise.allSettled([1, 2, 3].map((n) => add(tallies, 'a', n)));
  t.deepEqual(
    added.map(({ status }) => status),
    ['rejected', 'fulfilled', 'fulfilled'],
  );
  await until(() => disk.now('a').state === 'idle');
  t.deepEqual(disk.now('a').counted, [2, 3]);
});

test('a step and its implied work are stored together or not at all, even if the step changes no state', async (t) => {
  const { disk, tallies } = bench();
  const give = (type: 'LOOK' | 'ADD', implied: () => Promise<unknown>) =>
    tallies.use('a', (live) => tallies.give(live, type === 'LOOK' ? { type } : { type, n: 1 }, implied));
  await t.throwsAsync(give('ADD', refuse), { message: 'no room' });
  t.is(disk.now('a').state, 'idle');
  await t.throwsAsync(give('LOOK', refuse), { message: 'no room' });
  t.is(await give('LOOK', async () => 'seen'), 'seen');
  t.is(await give('ADD', async () => 'kept'), 'kept');
  t.deepEqual(await tallies.get('a').then((now) => now?.waiting.concat(now.counted)), [1]);
});

test('a write that shares a commit with a failed write is not stored either', async (t) => {
  const { disk, tallies } = bench({ isChecked: false });
  const given = await tallies.use('a', async (live) => {
    const [first, second] = [
      tallies.give(live, { type: 'ADD', n: 1 }, refuse),
      tallies.give(live, { type: 'ADD', n: 2 }),
    ];
    return Promise.allSettled([first, second]);
  });
  t.deepEqual(
    given?.map(({ status }) => status),
    ['rejected', 'rejected'],
  );
  t.deepEqual([disk.now('a').waiting, disk.now('a').counted], [[], []]);
});

test('an actor stays in memory only while it invokes an effect or a `use` call is open', async (t) => {
  const { disk, tallies } = bench();
  const decided = Promise.withResolvers<void>();
  const deciding = tallies.use('a', async () => decided.promise);
  await until(() => tallies.live().length === 1);
  await tallies.use('a', async () => {});
  t.is(tallies.live().length, 1);
  decided.resolve();
  await deciding;
  t.deepEqual(tallies.live(), []);
  await add(tallies, 'a', 1);
  await until(() => disk.now('a').state === 'idle');
  await until(() => tallies.live().length === 0);
  t.is(await add(tallies, 'unknown', 1), undefined);
  await tallies.restore(IDS);
  t.deepEqual(tallies.live(), []);
});

test('a cached actor is evicted when its keep time has passed or too many are kept', async (t) => {
  const { clock, tallies } = bench({ keep: { ms: 60_000, most: 2 } });
  const look = (id: string) => tallies.use(id, (live) => tallies.give(live, { type: 'LOOK' }));
  await look('a');
  await look('b');
  t.is(tallies.live().length, 2);
  await look('c');
  t.deepEqual(
    IDS.map((id) => tallies.find(id) !== undefined),
    [false, true, true],
  );
  await clock.advance(59_999);
  await look('b');
  await clock.advance(1);
  await look('b');
  t.deepEqual(
    IDS.map((id) => tallies.find(id) !== undefined),
    [false, true, false],
  );
});

test('a changed row is shown at once, and a load in progress returns the new row', async (t) => {
  const { disk, tallies } = bench();
  const change = async (note: string) => {
    disk.rows.set('a', { ...disk.rows.get('a')!, note });
    return tallies.changed('a', { note });
  };
  const shown: (string | undefined)[] = [];
  tallies.observe((_, now) => void shown.push(now?.note));
  const loaded = tallies.use('a', async (live) => live.row.note);
  // The load has read the old row but has not returned it yet.
  await turn();
  t.is((await change('new'))?.note, 'new');
  t.is(await loaded, 'new');
  await tallies.use('a', async (live) => {
    await change('newer');
    t.is(live.row.note, 'newer');
  });
  t.deepEqual(shown, ['new', 'newer']);
  t.is(await tallies.changed('unknown', { note: '' }), undefined);
});

test('the row of a dormant actor is read once and cached until it changes', async (t) => {
  const { disk, tallies } = bench();
  const noteOf = async (id: string) => (await tallies.get(id))?.note;
  t.is(await noteOf('a'), '');
  disk.unreadable = 1;
  t.is(await noteOf('a'), '');
  disk.rows.set('a', { ...disk.rows.get('a')!, note: 'new' });
  await t.throwsAsync(tallies.changed('a', { note: 'new' }), { message: 'unreadable' });
  t.is(await noteOf('a'), 'new');
  await add(tallies, 'a', 1);
  await until(() => tallies.find('a') === undefined);
  t.deepEqual((await tallies.get('a'))?.counted, [1]);
});

test('a read overtaken by a change of a dormant row is not cached', async (t) => {
  const { disk, tallies } = bench();
  const begun = tallies.get('a');
  await turn();
  disk.rows.set('a', { ...disk.rows.get('a')!, note: 'new' });
  const [changed] = await Promise.all([tallies.changed('a', { note: 'new' }), begun]);
  t.is(changed?.note, 'new');
  t.is((await tallies.get('a'))?.note, 'new');
});

test('an actor whose machine throws resumes from its stored state', async (t) => {
  const { clock, disk, tallies } = bench();
  const broken = tallies.use('a', (live) => tallies.give(live, { type: 'BREAK' }, async () => t.fail('stored')));
  await t.throwsAsync(broken, { message: 'broken' });
  const both = tallies.use('a', async (live) => {
    const first = tallies.give(live, { type: 'ADD', n: 7 });
    const second = tallies.give(live, { type: 'BREAK' });
    // The machine has already thrown.
    const third = tallies.give(live, { type: 'LOOK' }, async () => t.fail('stored'));
    return Promise.allSettled([first, second, third]);
  });
  t.deepEqual(
    (await both)?.map(({ status }) => status),
    ['rejected', 'rejected', 'rejected'],
  );
  t.is(disk.now('a').state, 'idle');
  await clock.advance(1_000);
  await until(() => !tallies.isUndone('a'));
  await add(tallies, 'a', 1);
  t.deepEqual(await tallies.get('a').then((now) => now?.waiting.concat(now.counted)), [1]);
});

test('closing stores the last change and loads no further actors', async (t) => {
  const { disk, tallies } = bench({ count: () => new Promise(() => {}) });
  const added = add(tallies, 'a', 1);
  await until(() => tallies.live().length === 1);
  await tallies.close();
  await added;
  t.deepEqual([disk.now('a').waiting, tallies.live(), await add(tallies, 'b', 1)], [[1], [], undefined]);
});

type Act =
  | { do: 'add'; id: string; isRefused: boolean }
  | { do: 'wait'; turns: number }
  | { do: 'spoil'; fate: Fate }
  | { do: 'blind' }
  | { do: 'advance' }
  | { do: 'kill' };

const act: fc.Arbitrary<Act> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constant('add' as const), id: fc.constantFrom(...IDS), isRefused: fc.boolean() }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('wait' as const), turns: fc.nat(6) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('spoil' as const),
      fate: fc.constantFrom<Fate>('stored', 'refused', 'undone', 'unheard'),
    }),
  },
  { weight: 1, arbitrary: fc.constant<Act>({ do: 'blind' }) },
  { weight: 1, arbitrary: fc.constant<Act>({ do: 'advance' }) },
  { weight: 2, arbitrary: fc.constant<Act>({ do: 'kill' }) },
);

/** Performs the acts, then lets every actor settle without further failures. Returns the broken guarantees. */
async function broken(acts: readonly Act[], isChecked: boolean): Promise<string[]> {
  const clock = fakeClock();
  const disk = new Disk(IDS);
  const wrong: string[] = [];
  /** The outcome of each number. Absent if the process died or could not know whether the write was stored. */
  const fates = new Map<number, 'acknowledged' | 'refused'>();
  /** For each number, the numbers acknowledged before it was added. */
  const before = new Map<number, number[]>();
  const begun = new Map<number, number>();
  const shown = new Map<string, string>();
  const count = async ({ id, n }: { id: string; n: number }) => {
    const { state, waiting } = disk.now(id);
    if (state !== 'counting' || waiting[0] !== n) wrong.push(`${n} begun before it was stored`);
    if (begun.get(n) === disk.mishaps) wrong.push(`${n} begun again without a reason`);
    begun.set(n, disk.mishaps);
  };
  const begin = (): TallyProcess => {
    const begun = tallyProcess({ disk, clock, count, isChecked });
    // Ignore changes that a dead process still makes in memory.
    begun.tallies.observe((id, now) => void (begun === process && shown.set(id, JSON.stringify(now))));
    return begun;
  };
  let process = begin();
  let n = 0;
  for (const each of acts) {
    if (each.do === 'add') {
      const added = n++;
      const acknowledged = [...fates].flatMap(([other, fate]) => (fate === 'acknowledged' ? [other] : []));
      before.set(added, acknowledged);
      add(process.tallies, each.id, added, each.isRefused ? refuse : undefined).then(
        () => fates.set(added, 'acknowledged'),
        (error: unknown) => error instanceof Unheard || fates.set(added, 'refused'),
      );
    } else if (each.do === 'wait') await turns(each.turns);
    else if (each.do === 'spoil') disk.fates.push(isChecked || each.fate === 'unheard' ? each.fate : 'stored');
    else if (each.do === 'blind') disk.unreadable += 1;
    else if (each.do === 'advance') await clock.advance(1_000);
    else {
      process.die();
      shown.clear();
      process = begin();
      const awake = IDS.filter((id) => disk.now(id).state !== 'idle');
      // A process that cannot read the rows at its start would die again.
      disk.unreadable = 0;
      await process.tallies.restore(awake);
    }
  }
  disk.fates.length = 0;
  disk.unreadable = 0;
  for (let rounds = 0; rounds < 20 + 4 * n; rounds++) {
    await clock.advance(1_000);
    await turns(10);
  }
  for (const id of IDS) {
    const { state, counted } = disk.now(id);
    if (state !== 'idle') wrong.push(`${id} never came to rest`);
    if (shown.has(id) && shown.get(id) !== JSON.stringify(disk.now(id))) wrong.push(`${id} was last shown otherwise`);
    const isInOrder = (each: number, index: number) =>
      counted.indexOf(each) === index && !before.get(each)?.some((other) => counted.indexOf(other) > index);
    if (!counted.every(isInOrder)) wrong.push(`${id} counted ${counted.join(', ')}`);
  }
  const counted = new Set(IDS.flatMap((id) => disk.now(id).counted));
  for (const [added, fate] of fates) {
    if ((fate === 'acknowledged') !== counted.has(added)) wrong.push(`${added} was ${fate}`);
    if (fate === 'refused' && begun.has(added)) wrong.push(`${added} was refused and begun`);
  }
  for (const each of counted) if (!begun.has(each)) wrong.push(`${each} was counted and not begun`);
  if (process.tallies.live().length > 0) wrong.push('an actor is left in memory');
  return wrong;
}

for (const isChecked of [true, false]) {
  const how = isChecked ? 'with checked writes' : 'with ordered writes';
  test(`random kills and failures, ${how}: acknowledged events survive, no effect starts early or twice without cause`, async (t) => {
    t.timeout(300_000);
    const {
      failed,
      counterexample,
      seed,
      counterexamplePath: path,
    } = await fc.check(
      fc.asyncProperty(fc.array(act, { maxLength: 40 }), async (acts) => (await broken(acts, isChecked)).length === 0),
      { numRuns: 200 },
    );
    if (failed) t.log({ seed, path }, JSON.stringify(counterexample));
    t.deepEqual(await broken(counterexample?.[0] ?? [], isChecked), []);
  });
}
