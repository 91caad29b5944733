import type { EngineNodes } from './engine.ts';

/**
 * `open`: a node accepts starts. `drained`: operators have drained the nodes that respond, and no other may return.
 * `down`: no node responds or accepts games.
 */
export type RegionState = 'open' | 'drained' | 'down';

/** Returns the regions of nodes for games, sorted by code. */
export function regionsOf(nodes: EngineNodes): string[] {
  return [...new Set(nodes.list().map(({ region }) => region))].filter((region) => region !== NO_REGION).toSorted();
}

/** Returns whether games can start in a region. */
export function regionState(nodes: EngineNodes, region: string): RegionState {
  const there = nodes.list().filter((node) => node.region === region && node.trouble === '');
  const ready = there.filter(({ state }) => state === 'ready');
  if (ready.some(({ takesStarts }) => takesStarts)) return 'open';
  // A node that is not drained may come back: right after a restart, Swarm's manager knows no node but its own.
  const mayReturn = there.some(({ state, drained }) => state === 'down' && !drained);
  return ready.length > 0 && !mayReturn ? 'drained' : 'down';
}

/** The region of nodes that are not for games. */
export const NO_REGION = 'none';
