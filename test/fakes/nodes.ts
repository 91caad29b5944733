import { EngineError, type EngineNode, type EngineNodes } from '../../src/engines/engine.ts';
import type { Clock } from '../../src/kernel/clock.ts';
import type { FakeEngine } from './engine.ts';

/** A fake node. Absent fields are those of a large, ready node. */
export type FakeNode = Partial<EngineNode> & Pick<EngineNode, 'id'>;

/** Nodes in memory that a test controls. */
export interface FakeNodes extends EngineNodes {
  /** Makes a node unreachable. Its games keep running. */
  cut(id: string): void;
  /** Makes a node reachable again. */
  back(id: string): void;
}

/**
 * Puts the games of a fake engine on several nodes. A game starts on the node with the fewest games among those of its
 * region with room. A game on an unreachable node can be neither booted nor ended until the node is back. Fencing the
 * node ends its games.
 */
export function onNodes(
  engine: FakeEngine,
  given: readonly FakeNode[],
  clock: Clock,
): FakeEngine & { nodes: FakeNodes } {
  const nodes = new Map(given.map((node) => [node.id, { ...READY, name: node.id, ...node }]));
  const games = new Map<string, { node: string; ramMb: number }>();

  function view(node: EngineNode): EngineNode {
    const there = [...games.values()].filter((game) => game.node === node.id);
    return {
      ...node,
      games: there.length,
      usedRamMb: there.reduce((sum, { ramMb }) => sum + ramMb, 0),
      takesStarts: node.state === 'ready' && !node.drained && node.trouble === '',
      waitsSince: there.length > 0 ? node.waitsSince : null,
    };
  }

  const found = (id: string): EngineNode => {
    const node = nodes.get(id);
    if (node === undefined) throw new EngineError('unknown', `no node ${id}`);
    return view(node);
  };
  const set = (id: string, change: Partial<EngineNode>) => void nodes.set(id, { ...found(id), ...change });
  const list = () => [...nodes.keys()].map(found);

  function requireReachable(serverId: string): void {
    const { node } = games.get(serverId) ?? {};
    if (node !== undefined && found(node).state !== 'ready')
      throw new EngineError('engine_unavailable', `${node} does not respond and may still run the server.`);
  }

  /** Wraps a function that ends a game. It rejects while the game's node is unreachable. */
  const ending = <Given extends unknown[]>(end: (serverId: string, ...given: Given) => Promise<void>) =>
    async function endThere(serverId: string, ...rest: Given): Promise<void> {
      requireReachable(serverId);
      await end(serverId, ...rest);
      games.delete(serverId);
    };

  return {
    ...engine,
    halt: ending((id, graceMs: number, signal?: AbortSignal) => engine.halt(id, graceMs, signal)),
    kill: ending((id) => engine.kill(id)),
    erase: ending((id) => engine.erase(id)),
    async boot(spec, signal) {
      requireReachable(spec.serverId);
      const { ramMb, region = READY.region } = spec;
      const free = list().filter(
        (node) => node.takesStarts && node.region === region && node.usedRamMb + ramMb <= node.ramMb,
      );
      const [first] = free.toSorted((one, other) => one.games - other.games);
      const runs = (await engine.inspect(spec.serverId))?.up;
      if (!runs && first === undefined)
        throw new EngineError('no_room', 'No node of the swarm has room for this server now.');
      if (!runs) games.set(spec.serverId, { node: first!.id, ramMb });
      return engine.boot(spec, signal);
    },
    nodes: {
      list,
      whereIs: (serverId) => (games.has(serverId) ? found(games.get(serverId)!.node) : undefined),
      async fence(id) {
        if (found(id).state === 'ready') return false;
        set(id, { fencedAt: clock.now(), waitsSince: null });
        for (const [serverId, { node }] of games) {
          if (node !== id) continue;
          games.delete(serverId);
          engine.vanish(serverId);
        }
        return true;
      },
      setStarts: async (id, on) => set(id, { drained: !on }),
      setRegion: async (id, region) => set(id, { region }),
      cut: (id) => set(id, { state: 'down', waitsSince: clock.now() }),
      back: (id) => set(id, { state: 'ready', waitsSince: null, fencedAt: null }),
    },
  };
}

const READY: Omit<EngineNode, 'id' | 'name'> = {
  address: '192.0.2.1',
  publicHost: '192.0.2.1',
  region: 'na',
  state: 'ready',
  takesStarts: true,
  drained: false,
  trouble: '',
  cores: 8,
  ramMb: 16_384,
  usedRamMb: 0,
  games: 0,
  waitsSince: null,
  fencedAt: null,
};
