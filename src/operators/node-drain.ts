import { reserves } from '../billing/reservations.ts';
import type { EngineNodes } from '../engines/engine.ts';
import { regionState, regionsOf } from '../engines/regions.ts';
import { StatusError } from '../kernel/status.ts';
import { WAKES_AND_INSTALLS, type WakeCheck, type WakeRule } from '../servers/wake-checks.ts';
import { deleteMeta, getMeta, setMeta } from '../store/meta.ts';
import type { Sql, Store, Tx } from '../store/store.ts';

/** Why and since when a node takes no new starts. */
export interface Drained {
  reason: string;
  at: number;
}

/** Which regions and nodes take new starts. It survives restarts. */
export interface NodeDrain {
  /** The codes of the regions that there are. */
  regions(): readonly string[];
  /** Why nothing new begins in a region, or anywhere where none is named; undefined: it does. */
  closed(region?: string): { reason: string } | undefined;
  /** Returns a node's drain, by its id; of the only one, without an id. */
  of(nodeId?: string): Drained | undefined;
  /** Stores a drain of a node, in force from the commit on; undefined ends it. `also` runs in the same write. */
  set(nodeId: string | undefined, drained: Drained | undefined, also: (tx: Tx) => Promise<void>): Promise<void>;
  /** Refuses starts where nothing new begins. */
  wakeRule: WakeRule;
}

export interface NodeDrainOptions {
  store: Store;
  /** The machines that games run on, where they are several. */
  nodes?: EngineNodes | undefined;
  settings: { nodeLabel: string; region: string };
}

const KEY = 'node-drain';
const KEY_OF_NODES = 'node-drains';
/** Drained by other means than this service. */
const NO_REASON = 'its machines are drained';

/** While the node is drained, `wakeRule` refuses starts with FAILED_PRECONDITION NODE_DRAINED; a server that is awake stays so. */
export async function openNodeDrain(options: NodeDrainOptions): Promise<NodeDrain> {
  const { store, nodes, settings } = options;
  if (nodes !== undefined) return await openDrainOfNodes({ ...options, nodes });
  const { nodeLabel, region } = settings;
  let drained = JSON.parse((await getMeta(store, KEY)) ?? 'null') as Drained | null;
  const check: WakeCheck = async () => (now) => {
    if (drained === null || reserves(now)) return;
    const message = `${nodeLabel} starts no servers now: ${drained.reason}`;
    throw new StatusError('FAILED_PRECONDITION', 'NODE_DRAINED', message, { metadata: { node: nodeLabel } });
  };

  return {
    wakeRule: { check },
    regions: () => [region],
    closed: () => drained ?? undefined,
    of: () => drained ?? undefined,
    async set(_, next, also) {
      await store.write(async (tx) => {
        if (next === undefined) await deleteMeta(tx, KEY);
        else await setMeta(tx, KEY, JSON.stringify(next));
        await also(tx);
      });
      drained = next ?? null;
    },
  };
}

/**
 * For several nodes: the engine keeps whether each takes starts; why not is kept here. Starts are refused in a region
 * whose nodes are all drained, and with UNAVAILABLE REGION_DOWN where none answers and takes games. A restart too: the game
 * would come up on none of them.
 */
async function openDrainOfNodes({
  store,
  nodes,
  settings,
}: NodeDrainOptions & { nodes: EngineNodes }): Promise<NodeDrain> {
  const read = async (db: Sql) => JSON.parse((await getMeta(db, KEY_OF_NODES)) ?? '{}') as Record<string, Drained>;
  let drains = await read(store);

  function reasonIn(region: string): string {
    const drained = nodes.list().filter((node) => node.region === region && node.drained);
    return drained.map(({ id }) => drains[id]?.reason).find((reason) => reason !== undefined) ?? NO_REASON;
  }

  function closedIn(region: string): { reason: string } | undefined {
    const state = regionState(nodes, region);
    if (state === 'open') return undefined;
    return { reason: state === 'drained' ? reasonIn(region) : 'none of its machines can take games' };
  }

  const check: WakeCheck = async (row) => () => {
    const region = row.region || settings.region;
    const state = regionState(nodes, region);
    if (state === 'open') return;
    if (state === 'down') throw regionDown(region);
    const message = `Region ${region} starts no servers now: ${reasonIn(region)}`;
    throw new StatusError('FAILED_PRECONDITION', 'NODE_DRAINED', message, { metadata: { region } });
  };

  return {
    wakeRule: { check, commands: WAKES_AND_INSTALLS },
    regions: () => regionsOf(nodes),
    closed(region) {
      if (region !== undefined) return closedIn(region);
      const closed = regionsOf(nodes).map(closedIn);
      return closed.includes(undefined) ? undefined : (closed[0] ?? { reason: 'there is no machine for games' });
    },
    of: (nodeId = '') => drains[nodeId],
    async set(nodeId = '', drained, also) {
      drains = await store.write(async (tx) => {
        const { [nodeId]: _, ...others } = await read(tx);
        const known = new Set(nodes.list().map(({ id }) => id));
        const kept = Object.fromEntries(Object.entries(others).filter(([id]) => known.has(id)));
        const next = drained === undefined ? kept : { ...kept, [nodeId]: drained };
        await setMeta(tx, KEY_OF_NODES, JSON.stringify(next));
        await also(tx);
        return next;
      });
      await nodes.setStarts(nodeId, drained === undefined);
    },
  };
}

function regionDown(region: string): StatusError {
  const message = `No machine of region ${region} can take this server now. Try again in a few minutes.`;
  return new StatusError('UNAVAILABLE', 'REGION_DOWN', message, { metadata: { region }, retryAfterSeconds: 10 });
}
