import { reserves } from '../billing/reservations.ts';
import { StatusError } from '../kernel/status.ts';
import type { Servers } from '../servers/servers.ts';
import { deleteMeta, getMeta, setMeta } from '../store/meta.ts';
import type { Store, Tx } from '../store/store.ts';

/** Why and since when a node takes no new starts. */
export interface Drained {
  reason: string;
  at: number;
}

/** Whether this node takes new starts. It survives restarts. */
export interface NodeDrain {
  /** Undefined: it takes new starts. */
  now(): Drained | undefined;
  /** Stores a drain, in force from the commit on; undefined ends it. `also` runs in the same write. */
  set(drained: Drained | undefined, also: (tx: Tx) => Promise<void>): Promise<void>;
}

export interface NodeDrainOptions {
  store: Store;
  nodeLabel: string;
  servers: Pick<Servers, 'checkWakes'>;
}

const KEY = 'node-drain';

/** While the node is drained, starts are refused with FAILED_PRECONDITION NODE_DRAINED; a server that is awake stays so. */
export async function openNodeDrain({ store, nodeLabel, servers }: NodeDrainOptions): Promise<NodeDrain> {
  let drained = JSON.parse((await getMeta(store, KEY)) ?? 'null') as Drained | null;
  servers.checkWakes(async () => (now) => {
    if (drained === null || reserves(now)) return;
    const message = `${nodeLabel} starts no servers now: ${drained.reason}`;
    throw new StatusError('FAILED_PRECONDITION', 'NODE_DRAINED', message, { metadata: { node: nodeLabel } });
  });

  return {
    now: () => drained ?? undefined,
    async set(next, also) {
      await store.write(async (tx) => {
        if (next === undefined) await deleteMeta(tx, KEY);
        else await setMeta(tx, KEY, JSON.stringify(next));
        await also(tx);
      });
      drained = next ?? null;
    },
  };
}
