import { reserves } from '../billing/reservations.ts';
import type { EngineNodes } from '../engines/engine.ts';
import { regionState, regionsOf } from '../engines/regions.ts';
import { type RefusalWords, StatusError } from '../kernel/status.ts';
import { WAKES_AND_INSTALLS, type WakeCheck, type WakeRule } from '../servers/wake-checks.ts';
import { deleteMeta, getMeta, setMeta } from '../store/meta.ts';
import type { Sql, Store, Tx } from '../store/store.ts';

/** A node's drain: the reason, and when it began. */
export interface Drained {
  reason: string;
  at: number;
}

/** Drains of regions and nodes, which prevent new starts. They survive restarts. */
export interface NodeDrain {
  /** Returns the codes of all regions. */
  regions(): readonly string[];
  /**
   * Returns why a region accepts no starts, or without an argument, why none does; undefined if starts are accepted.
   */
  closed(region?: string): { reason: string } | undefined;
  /** Returns a node's drain by its id; without an id, that of the only node. */
  of(nodeId?: string): Drained | undefined;
  /** Stores a node's drain, effective from the commit; undefined ends it. `also` runs in the same write. */
  set(nodeId: string | undefined, drained: Drained | undefined, also: (tx: Tx) => Promise<void>): Promise<void>;
  /** Refuses starts in drained regions. */
  wakeRule: WakeRule;
}

const KEY = 'node-drain';
const KEY_OF_NODES = 'node-drains';
const PAUSED: RefusalWords = {
  player: 'Starts are paused here. Try again later.',
  list: '§7Asleep: §fstarts are paused',
  owner: { title: 'Starts are paused here', others: 'ask your administrator' },
};
const NO_MACHINE: RefusalWords = {
  player: 'No machine that can run this server is responding. Try again in a few minutes.',
  list: '§7Asleep: §fno machine available',
  owner: { title: 'No machine that can run it is responding', others: 'try again in a few minutes' },
};
/** The reason for a drain that was not set through this service. */
const NO_REASON = 'its machines are drained';

/**
 * Opens drains. While the node is drained, `wakeRule` refuses starts with FAILED_PRECONDITION NODE_DRAINED; awake
 * servers stay awake. `nodes`: the machines that games run on, if there are several.
 */
export async function openNodeDrain(
  store: Store,
  { nodeLabel, region }: { nodeLabel: string; region: string },
  nodes?: EngineNodes,
): Promise<NodeDrain> {
  if (nodes !== undefined) return await openDrainOfNodes(store, region, nodes);
  let drained = JSON.parse((await getMeta(store, KEY)) ?? 'null') as Drained | null;
  const check: WakeCheck = async () => (now) => {
    if (drained === null || reserves(now)) return;
    const message = `Starts on ${nodeLabel} are paused: ${drained.reason}`;
    throw new StatusError('FAILED_PRECONDITION', 'NODE_DRAINED', message, {
      metadata: { node: nodeLabel },
      words: PAUSED,
    });
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
 * For several nodes. The engine stores whether each accepts starts; the reasons are stored here. Starts are refused in
 * a region whose nodes are all drained, and with UNAVAILABLE REGION_DOWN if no node is both responsive and open to
 * games. Restarts are refused too, because the game would not come up on any of them.
 */
async function openDrainOfNodes(store: Store, defaultRegion: string, nodes: EngineNodes): Promise<NodeDrain> {
  const read = async (db: Sql) => JSON.parse((await getMeta(db, KEY_OF_NODES)) ?? '{}') as Record<string, Drained>;
  let drains = await read(store);

  function reasonIn(region: string): string {
    const drained = nodes.list().filter((node) => node.region === region && node.drained);
    return drained.map(({ id }) => drains[id]?.reason).find((reason) => reason !== undefined) ?? NO_REASON;
  }

  function closedIn(region: string): { reason: string } | undefined {
    const state = regionState(nodes, region);
    if (state === 'open') return undefined;
    return { reason: state === 'drained' ? reasonIn(region) : 'its machines cannot run games now' };
  }

  const check: WakeCheck = async (row) => () => {
    const region = row.region || defaultRegion;
    const state = regionState(nodes, region);
    if (state === 'open') return;
    if (state === 'down') throw regionDown(region);
    const message = `Starts in region ${region} are paused: ${reasonIn(region)}`;
    throw new StatusError('FAILED_PRECONDITION', 'NODE_DRAINED', message, { metadata: { region }, words: PAUSED });
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
  const message = `No machine in region ${region} can run this server now. Try again in a few minutes.`;
  const options = { metadata: { region }, retryAfterSeconds: 10, words: NO_MACHINE };
  return new StatusError('UNAVAILABLE', 'REGION_DOWN', message, options);
}
