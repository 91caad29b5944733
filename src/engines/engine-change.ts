import type { Log } from '../kernel/log.ts';
import { StatusError } from '../kernel/status.ts';
import { getMeta, setMeta } from '../store/meta.ts';
import type { Store } from '../store/store.ts';
import type { EngineSetting } from './choose.ts';

/** The engine that runs an installation's games. */
export type EngineKind = Exclude<EngineSetting, 'auto'>;

export interface EngineChange {
  store: Store;
  /** The setting, and the engine chosen for it at this start. */
  setting: EngineSetting;
  chosen: EngineKind;
  /** Returns the last known number of servers that are not at rest. */
  awake: () => Promise<number>;
  /** Whether an operator has confirmed that no game of the previous engine still runs. */
  accepted: boolean;
  log: Log;
}

/** Key of the stored name of the engine that last ran games. */
const KEY = 'engine.kind';

/**
 * Returns the engine to use. Games outlive the service, and an engine does not know the games of another. A new engine
 * that took over while servers are awake would start their games a second time, on the same worlds. So `auto` keeps the
 * previous engine while servers are awake, unless that is Swarm. Otherwise rejects with FAILED_PRECONDITION
 * ENGINE_CHANGED.
 */
export async function engineAfter({ store, setting, chosen, awake, accepted, log }: EngineChange): Promise<EngineKind> {
  const before = (await getMeta(store, KEY)) as EngineKind | undefined;
  if (before === undefined || before === chosen || accepted) return chosen;
  const count = await awake();
  if (count === 0) return chosen;
  if (setting === 'auto' && before !== 'swarm') {
    log.info(
      { engine: before, awake: count },
      `servers were last seen awake on ENGINE=${before}; the engine changes at the first start at which all are asleep`,
    );
    return before;
  }
  const servers = count === 1 ? '1 server was last seen awake' : `${count} servers were last seen awake`;
  throw new StatusError(
    'FAILED_PRECONDITION',
    'ENGINE_CHANGED',
    `ENGINE=${setting}, but ${servers} on ENGINE=${before}. Two games on one world would corrupt it: ` +
      `start with ENGINE=${before} and stop these servers first. If they can no longer run, for example because ` +
      'their machine is lost, start once with ENGINE_CHANGE=accept.',
  );
}

/** Stores which engine runs games from now on. */
export async function noteEngine(store: Store, kind: EngineKind): Promise<void> {
  if ((await getMeta(store, KEY)) !== kind) await store.write((tx) => setMeta(tx, KEY, kind));
}
