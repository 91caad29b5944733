import type { Clock } from '../kernel/clock.ts';
import { every } from '../kernel/every.ts';
import type { Log } from '../kernel/log.ts';
import type { EngineNode, EngineNodes } from './engine.ts';

/** The node a lost game waits for: it is not responding and may still run the game. */
export interface LostGame {
  node: string;
  /** Epoch ms. */
  since: number;
}

/**
 * Returns the node that a game waits for, because the game can neither be reached nor started elsewhere. Undefined if
 * its node responds or is certainly off.
 */
export function lostGame(nodes: EngineNodes | undefined, serverId: string): LostGame | undefined {
  const node: EngineNode | undefined = nodes?.whereIs(serverId);
  return node === undefined || node.waitsSince === null ? undefined : { node: node.name, since: node.waitsSince };
}

/**
 * Reports servers whose games are on a node that does not respond and may still run them, within seconds after the
 * engine notices. It never acts: the engine decides where and when such a game continues.
 */
export interface LostGames {
  of(serverId: string): LostGame | undefined;
  /** Reports each server whose game is lost or found again. Returns the cancellation. */
  follow(listener: (serverId: string) => void): () => void;
}

export interface LostGamesOptions {
  nodes: EngineNodes;
  servers: { live(): { row: { id: string } }[] };
  clock: Clock;
  log: Log;
  onClose: (close: () => void) => void;
}

const LOOK_MS = 2_000;

/** Checks every two seconds. A check is almost free while all nodes respond. */
export function watchLostGames({ nodes, servers, clock, log, onClose }: LostGamesOptions): LostGames {
  const lost = new Map<string, LostGame>();
  const listeners = new Set<(serverId: string) => void>();

  function check(): void {
    const isOne = nodes.list().some(({ waitsSince }) => waitsSince !== null);
    if (!isOne && lost.size === 0) return;
    const live = new Set(servers.live().map(({ row }) => row.id));
    for (const id of new Set([...lost.keys(), ...live])) compare(id, live.has(id) ? lostGame(nodes, id) : undefined);
  }

  function compare(id: string, now: LostGame | undefined): void {
    const before = lost.get(id);
    if (before?.node === now?.node && before?.since === now?.since) return;
    if (now === undefined) lost.delete(id);
    else lost.set(id, now);
    if (now !== undefined)
      log.warn(
        { server: id, node: now.node },
        `${id} waits for its node ${now.node}, which does not respond and may still run it`,
      );
    else log.info({ server: id, node: before?.node }, `${id} no longer waits for ${before?.node}`);
    for (const listener of listeners) listener(id);
  }

  onClose(every(clock, LOOK_MS, check));
  return {
    of: (serverId) => lost.get(serverId),
    follow(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
