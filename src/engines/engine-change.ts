import type { Log } from '../kernel/log.ts';
import { StatusError } from '../kernel/status.ts';
import { getMeta, setMeta } from '../store/meta.ts';
import type { Store } from '../store/store.ts';
import type { EngineSetting } from './choose.ts';

/** The engine that runs an installation's games. */
export type EngineKind = Exclude<EngineSetting, 'auto'>;

export interface EngineChange {
  store: Store;
  /** The setting, and the engine it led to this time. */
  setting: EngineSetting;
  chosen: EngineKind;
  /** How many servers are not at rest, as far as is known. */
  awake: () => Promise<number>;
  /** Somebody has said that none of them runs any more. */
  accepted: boolean;
  log: Log;
}

/** The key of the note by which engine games ran last. */
const KEY = 'engine.kind';

/**
 * The engine to go on with. Games outlive the service, and an engine knows those of no other: one that took over while games are
 * awake would start each of them a second time, on the same world. `auto` then stays with the engine before;
 * FAILED_PRECONDITION ENGINE_CHANGED where another one is set.
 */
export async function engineAfter({ store, setting, chosen, awake, accepted, log }: EngineChange): Promise<EngineKind> {
  const before = (await getMeta(store, KEY)) as EngineKind | undefined;
  if (before === undefined || before === chosen || accepted) return chosen;
  const count = await awake();
  if (count === 0) return chosen;
  if (setting === 'auto' && before !== 'swarm') {
    log.info(
      { engine: before, awake: count },
      `servers are awake by ENGINE=${before}, which is kept until all sleep at a start`,
    );
    return before;
  }
  const servers = count === 1 ? '1 server is awake' : `${count} servers are awake`;
  throw new StatusError(
    'FAILED_PRECONDITION',
    'ENGINE_CHANGED',
    `ENGINE=${setting}, but ${servers} by ENGINE=${before}, as far as is known, and a second game on one world would ruin it: start ` +
      `with ENGINE=${before} and put them to sleep first. If none of them can run any more, as after the loss of their machine, start ` +
      'once with ENGINE_CHANGE=accept.',
  );
}

/** Notes by which engine games run from now on. */
export async function noteEngine(store: Store, kind: EngineKind): Promise<void> {
  if ((await getMeta(store, KEY)) !== kind) await store.write((tx) => setMeta(tx, KEY, kind));
}
