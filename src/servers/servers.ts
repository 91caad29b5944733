import type { Cause, ServerCommand, ServerEvent, ServerLimits } from '../../machines/server-types.ts';
import type { StepListener } from '../actors/machine-step.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Log } from '../kernel/log.ts';
import { StatusError } from '../kernel/status.ts';
import type { SteadyClock } from '../kernel/steady-clock.ts';
import { type ServerStep, recordStep } from '../people/audit/audit.ts';
import type { Store, Tx } from '../store/store.ts';
import { changeRow, createServerActors } from './actors.ts';
import { createServerCommands } from './commands.ts';
import type { Effects } from './effects.ts';
import type { Intervention } from './operator-events.ts';
import { type MachineView, type ServerPage, createServerReading } from './reading.ts';
import { dormant, untouched } from './dormant.ts';
import { inMachineTime } from './machine-time.ts';
import { type ServerPlace, type ServerRow, countServersOfAccount, insertServer } from './rows.ts';
import type { EffectHost } from './effect-host.ts';
import type { RowChange, ServerNow } from './server-now.ts';
import { listServersNotAtRest } from './transition-rows.ts';
import { type CheckedCommand, type WakeCheck, createWakeChecks } from './wake-checks.ts';

/** Every server of the installation, each one an actor. */
export interface Servers {
  /** Stores the server and its first snapshot; with a mod pack it goes to `installing`. ALREADY_EXISTS for a taken id or host name. */
  create(row: ServerRow, cause: Cause): Promise<ServerNow>;
  /** Undefined for unknown servers and for those being deleted. */
  get(id: string): Promise<ServerNow | undefined>;
  /** How many an account has. */
  count(accountId: string): Promise<number>;
  listByAccount(accountId: string): Promise<ServerNow[]>;
  /** The same in pages of at most `size`, each read when it is asked for, from a place on. */
  pagesByAccount(accountId: string, size: number, after?: ServerPlace): AsyncGenerator<ServerPage>;
  /**
   * Gives a command and resolves once it is stored. NOT_FOUND; FAILED_PRECONDITION where the state does not allow it;
   * UNAVAILABLE where it could not be stored (then nothing has happened). `fields` are what its owner changes with it, in the
   * same write.
   */
  send(id: string, command: ServerCommand, fields?: Partial<ServerRow>): Promise<ServerNow>;
  /**
   * Gives an operator's event, also to a server that is being deleted; otherwise as `send`. FAILED_PRECONDITION
   * EVENT_NOT_LEGAL, which names what would be taken.
   */
  intervene(id: string, event: Intervention): Promise<void>;
  /** Changes what the owner sets; effects read it when they next act. `also` runs in the same write. */
  patch(id: string, change: RowChange, also?: (tx: Tx) => Promise<void>): Promise<ServerNow>;
  /**
   * The same for what a run is made and charged by: NOT_FOUND; FAILED_PRECONDITION SERVER_NOT_STOPPED where anything of the
   * server runs or is about to. What would wake it meanwhile waits until the change is stored.
   */
  patchAtRest(id: string, change: RowChange, also?: (tx: Tx) => Promise<void>): Promise<ServerNow>;
  inspect(id: string): Promise<MachineView | undefined>;
  /**
   * Tells a fact and resolves once what it changed is stored; a server that does not know it in its state, or is gone, ignores
   * it. Rejects where it could not be stored: then it is to be told again.
   */
  tell(id: string, fact: ServerEvent): Promise<void>;
  /** Calls after every change of any server, with null once it is gone. Returns the cancellation. */
  observe(listener: (id: string, now: ServerNow | null) => void): () => void;
  /** Tells every step of every server once it is stored; readings are none. Returns the cancellation. */
  follow(listener: StepListener): () => void;
  /** Resolves with the first state of the server, the present one included, that satisfies; rejects when `signal` fires. */
  until(id: string, satisfies: (now: ServerNow | null) => boolean, signal: AbortSignal): Promise<ServerNow | null>;
  /**
   * From now on asks `check` before one of these commands: by default those that wake a server that is not awake, or will
   * once it has stopped. With CREATE, one that is refused leaves no server behind. Returns the cancellation.
   */
  checkWakes(check: WakeCheck, commands?: readonly CheckedCommand[]): () => void;
  /** What those who are asked before a wake have against a player's join now; undefined: nothing, or nobody is asked. */
  refusal(id: string): Promise<StatusError | undefined>;
  /** Says what the machines make happen and what is stored with their steps: once, before the first command and `restore`. */
  provide(parts: ServerParts): void;
  /** Brings every server that is not at rest back to life. */
  restore(): Promise<void>;
  /** The awake, passing and failed ones: all that the engine may know something of. */
  live(): ServerNow[];
  /**
   * The job on a server's files from the very turn in which it is accepted until it has ended, stored or not. A server whose
   * last change could not be stored counts as having one until it is known what is.
   */
  jobOf(id: string): string | undefined;
  /** Stops all actors as they are, after their last change is stored; games run on. */
  close(): Promise<void>;
}

export interface ServersOptions {
  store: Store;
  clock: Clock;
  /** What the machines live by; see `machine-time.ts`. */
  steady: SteadyClock;
  log: Log;
  limits: ServerLimits;
  /** Runs in the write of every step of every server. Default: into the audit log. */
  audit?: (tx: Tx, server: ServerRow, step: ServerStep) => Promise<void>;
  /** Told the stable reason whenever a server may not be woken. */
  onRefusal?: (reason: string) => void;
}

/** What is done in the write of a step, with the server as the step leaves it: what must be stored with it or not at all. */
export type OnStep = (tx: Tx, now: ServerNow, step: ServerStep) => Promise<void>;

/** What the rooms that know servers do with their steps. */
export interface ServerParts {
  effects: (host: EffectHost) => Effects;
  onStep?: OnStep | undefined;
}

/** Servers from creation on. How each step is stored: `actors.ts`; what they take, and when: `commands.ts`. */
export function createServers({ onRefusal = () => {}, ...options }: ServersOptions): Servers {
  const { store, clock, steady, limits, audit = recordStep } = options;
  const parts = createParts();
  const actors = createServerActors({ ...options, audit, parts: parts.get });
  const wakeChecks = createWakeChecks();
  const { send, intervene, patchAtRest } = createServerCommands({
    store,
    clock,
    steady,
    actors,
    wakeChecks,
    onRefusal,
  });
  const { listByAccount, pagesByAccount, inspect, until } = createServerReading({ store, clock, steady, actors, get });

  async function get(id: string): Promise<ServerNow | undefined> {
    const now = await actors.get(id);
    return now?.state === 'deleting' ? undefined : now;
  }

  return {
    async create(row, cause) {
      const stored = { ...row, snapshot: JSON.stringify(untouched(row, limits, cause)), state: 'hibernated' };
      const withPack = row.modpackPlatform !== '';
      if (withPack) for (const check of wakeChecks.before('CREATE', 'hibernated')) (await check(row))(dormant(stored));
      await store.write(async (tx) => {
        await insertServer(tx, stored);
        await audit(tx, stored, { at: row.createdAt, event: 'CREATE', from: '', to: stored.state, cause });
      });
      const now = dormant(stored);
      actors.announce(row.id, now);
      const step = { id: row.id, kind: 'server', at: row.createdAt, event: 'CREATE', cause } as const;
      actors.feed.tell(() => ({ ...step, from: '', to: now.state, fromPath: '', toPath: now.state }));
      if (!withPack) return now;
      try {
        return await send(row.id, { type: 'REINSTALL', at: row.createdAt, cause });
      } catch (error) {
        // The last place was taken while it was stored.
        await send(row.id, { type: 'DELETE', at: clock.now(), cause });
        throw error;
      }
    },
    get,
    count: (accountId) => countServersOfAccount(store, accountId),
    listByAccount,
    pagesByAccount,
    send,
    intervene,
    patch: (id, change, also) => changeRow(options, actors, { id, change, also }),
    patchAtRest,
    inspect,
    tell: (id, fact) => actors.tell(id, inMachineTime(fact, steady)),
    observe: (listener) => actors.observe(listener),
    follow: (listener) => actors.feed.follow(listener),
    until,
    checkWakes: wakeChecks.add,
    async refusal(id) {
      const now = await get(id);
      try {
        for (const check of now ? wakeChecks.before('JOIN', now.state) : []) (await check(now!.row))(now!);
      } catch (error) {
        if (error instanceof StatusError) return error;
        throw error;
      }
      return undefined;
    },
    provide: parts.provide,
    restore: async () => actors.restore(await listServersNotAtRest(store)),
    live: () => actors.live(),
    jobOf(id) {
      const live = actors.find(id);
      if (live !== undefined) return live.snapshot.context.job?.kind;
      return actors.isUndone(id) ? 'the change before it' : undefined;
    },
    close: () => actors.close(),
  };
}

/** What is provided once, after the rooms that it is made of are open. */
function createParts(): { provide: (parts: ServerParts) => void; get: () => Required<ServerParts> } {
  let provided: Required<ServerParts> | undefined;
  return {
    provide({ effects, onStep = async () => {} }) {
      provided = { effects, onStep };
    },
    get() {
      if (provided === undefined) throw new Error('a server acts before its effects are provided');
      return provided;
    },
  };
}
