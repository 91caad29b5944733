import { setImmediate as turn } from 'node:timers/promises';
import { type SnapshotFrom, assign, createActor, fromPromise, setup } from 'xstate';
import { type ActorKind, Outdated } from '../../src/actors/actor-kind.ts';
import { DurableActors } from '../../src/actors/durable-actors.ts';
import { pathOf } from '../../src/actors/machine-step.ts';
import { createLog } from '../../src/kernel/log.ts';
import type { Tx } from '../../src/store/store.ts';
import type { FakeClock } from '../fakes/clock.ts';

type Count = (input: { id: string; n: number }, signal: AbortSignal) => Promise<void>;
type TallyEvent = { type: 'ADD'; n: number } | { type: 'LOOK' } | { type: 'BREAK' };

/** Counts numbers one after the other. An effect counts each of them. */
export const tallyMachine = setup({
  types: {
    context: {} as { id: string; waiting: number[]; counted: number[]; looks: number },
    events: {} as TallyEvent,
    input: {} as { id: string },
  },
  actors: { count: fromPromise<void, { id: string; n: number }>(async () => {}) },
  guards: { isLast: ({ context }) => context.waiting.length === 1 },
  actions: {
    add: assign(({ context }, params: { n: number }) => ({ waiting: [...context.waiting, params.n] })),
    noteCounted: assign(({ context: { waiting, counted } }) => ({
      waiting: waiting.slice(1),
      counted: [...counted, ...waiting.slice(0, 1)],
    })),
    noteLook: assign(({ context }) => ({ looks: context.looks + 1 })),
    break: () => {
      throw new Error('broken');
    },
  },
}).createMachine({
  id: 'tally',
  context: ({ input: { id } }) => ({ id, waiting: [], counted: [], looks: 0 }),
  initial: 'idle',
  on: { LOOK: { actions: 'noteLook' }, BREAK: { actions: 'break' } },
  states: {
    idle: { on: { ADD: { target: 'counting', actions: { type: 'add', params: ({ event }) => event } } } },
    counting: {
      invoke: {
        src: 'count',
        input: ({ context }) => ({ id: context.id, n: context.waiting[0] ?? -1 }),
        onDone: [
          { guard: 'isLast', target: 'idle', actions: 'noteCounted' },
          { target: 'counting', reenter: true, actions: 'noteCounted' },
        ],
        onError: { target: 'counting', reenter: true },
      },
      on: { ADD: { actions: { type: 'add', params: ({ event }) => event } } },
    },
  },
});
type TallySnapshot = SnapshotFrom<typeof tallyMachine>;

export interface TallyRow {
  id: string;
  snapshot: string;
  note: string;
}

export interface TallyTypes {
  row: TallyRow;
  snapshot: TallySnapshot;
  event: TallyEvent;
  now: { state: string; waiting: number[]; counted: number[]; note: string };
}
export type Tallies = DurableActors<TallyTypes>;

/** How a write ends: stored, refused before it begins, undone at its end, or stored without an acknowledgement. */
export type Fate = 'stored' | 'refused' | 'undone' | 'unheard';

/** The caller cannot know whether the write was stored. */
export class Unheard extends Error {}

/** The stored rows, which outlive a process. */
export class Disk {
  readonly rows = new Map<string, TallyRow>();
  /** The fates of the next writes. An empty list means 'stored'. */
  readonly fates: Fate[] = [];
  /** The number of next reads that fail. */
  unreadable = 0;
  /** The number of failed writes and deaths. */
  mishaps = 0;

  constructor(ids: readonly string[]) {
    for (const id of ids) {
      const actor = createActor(tallyMachine, { input: { id } });
      this.rows.set(id, { id, snapshot: JSON.stringify(actor.getPersistedSnapshot()), note: '' });
    }
  }

  now(id: string): TallyTypes['now'] {
    return dormant(this.rows.get(id)!);
  }
}

/** One process with the tallies of a disk. */
export interface TallyProcess {
  tallies: Tallies;
  /** Stops all its work. Pending calls never settle. */
  die(): void;
  /** Writes wait until this resolves. */
  hold(until: Promise<void>): void;
}

export interface TallyOptions {
  disk: Disk;
  clock: FakeClock;
  /** The effect. It runs once the step that starts it is committed. */
  count: (input: { id: string; n: number }) => Promise<void>;
  keep?: ActorKind<TallyTypes>['keep'];
  /** Whether a write fails as outdated if the row has changed since its step began. Default: true. */
  isChecked?: boolean;
}

interface Waiting {
  work: (tx: Tx) => Promise<unknown>;
  resolve: (value: unknown) => void;
  reject: (error: unknown) => void;
}

export function tallyProcess({ disk, clock, count, keep, isChecked = true }: TallyOptions): TallyProcess {
  let isDead = false;
  let line: Promise<unknown> = Promise.resolve();
  const waiting: Waiting[] = [];
  const alive = async () => {
    await turn();
    if (isDead) await new Promise(() => {});
  };

  /** Commits waiting writes together, like the store. Callers get their results only after the commit. */
  async function commit(): Promise<void> {
    await alive();
    const staged = new Map<string, TallyRow>();
    const tell: (() => void)[] = [];
    let isHeard = true;
    for (const { work, resolve, reject } of waiting.splice(0)) {
      const fate = disk.fates.shift() ?? 'stored';
      isHeard &&= fate !== 'unheard';
      try {
        if (fate === 'refused') throw new Error('refused');
        const changed = new Map(staged);
        const value = await work(txOn(changed));
        await alive();
        if (fate === 'undone') throw new Error('undone');
        for (const [id, row] of changed) staged.set(id, row);
        tell.push(() => (isHeard ? resolve(value) : reject(new Unheard())));
      } catch (error) {
        tell.push(() => {
          // An outdated write follows from an earlier failure, which is already counted.
          if (!(error instanceof Outdated)) disk.mishaps += 1;
          reject(error);
        });
      }
    }
    for (const [id, row] of staged) disk.rows.set(id, row);
    await alive();
    if (!isHeard) disk.mishaps += 1;
    for (const each of tell) each();
  }

  /** `query` returns the row of an id, `run` stores a row. */
  function txOn(rows: Map<string, TallyRow>): Tx {
    return {
      query: async <R>(_: string, [id]: unknown[] = []) =>
        [rows.get(id as string) ?? disk.rows.get(id as string)] as R[],
      run: async (_, [row]: unknown[] = []) => rows.set((row as TallyRow).id, row as TallyRow).size,
    } as Tx;
  }

  function write<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    waiting.push({ work, resolve: resolve as (value: unknown) => void, reject });
    line = line.then(commit);
    return promise;
  }

  const kind = (actors: Tallies): ActorKind<TallyTypes> => ({
    name: 'server',
    ...(keep && { keep }),
    // Rows have no other writer. The limit is below the number of ids, so that some are evicted.
    remembered: { ms: 1_000_000_000, most: 2 },
    async read(id) {
      await alive();
      const row = disk.rows.get(id);
      await alive();
      if (disk.unreadable > 0) {
        disk.unreadable -= 1;
        throw new Error('unreadable');
      }
      return row;
    },
    revive: (row, inspect) =>
      createActor(machineOf(actors), { input: { id: row.id }, snapshot: JSON.parse(row.snapshot), inspect }),
    step({ row, before, after, event, persisted }) {
      if (event.type === 'LOOK') return undefined;
      const snapshot = JSON.stringify(persisted());
      const paths = { fromPath: pathOf(before.value), toPath: pathOf(after.value) };
      const cause = { kind: 'system', id: '', note: '' } as const;
      return {
        fields: { snapshot },
        save: async (tx) => {
          const [stored] = await tx.query<TallyRow>('', [row.id]);
          if (isChecked && stored?.snapshot !== row.snapshot) throw new Outdated();
          await tx.run('', [{ ...row, snapshot }]);
        },
        stepTaken: () => ({ id: row.id, kind: 'server', at: 0, event: event.type, from: '', to: '', ...paths, cause }),
      };
    },
    show: ({ note }, { value, context: { waiting, counted } }) => ({ state: pathOf(value), waiting, counted, note }),
    showDormant: dormant,
  });

  const machineOf = (actors: Tallies) => {
    const effect: Count = async (input, signal) => {
      await actors.committed(input.id, signal);
      await alive();
      signal.throwIfAborted();
      await count(input);
      await alive();
    };
    return tallyMachine.provide({
      actors: { count: fromPromise<void, { id: string; n: number }>(({ input, signal }) => effect(input, signal)) },
    });
  };

  return {
    tallies: new DurableActors({ store: { write }, clock, log: createLog({ level: 'silent' }), kind }),
    die: () => {
      isDead = true;
      disk.mishaps += 1;
    },
    hold: (until) => void (line = line.then(() => until)),
  };
}

function dormant({ snapshot, note }: TallyRow): TallyTypes['now'] {
  const { value, context } = JSON.parse(snapshot) as TallySnapshot;
  return { state: pathOf(value), waiting: context.waiting, counted: context.counted, note };
}
