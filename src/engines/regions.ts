import type { EngineNodes } from './engine.ts';

/** `open`: a node there takes starts. `drained`: operators have drained those that answer. `down`: none answers, or takes games. */
export type RegionState = 'open' | 'drained' | 'down';

/** The regions that nodes for games stand in, in the order of their codes. */
export function regionsOf(nodes: EngineNodes): string[] {
  return [...new Set(nodes.list().map(({ region }) => region))].filter((region) => region !== NO_REGION).toSorted();
}

/** Whether games may start in a region. */
export function regionState(nodes: EngineNodes, region: string): RegionState {
  const there = nodes.list().filter((node) => node.region === region && node.state === 'ready' && node.trouble === '');
  if (there.some(({ takesStarts }) => takesStarts)) return 'open';
  return there.length > 0 ? 'drained' : 'down';
}

/** The region of nodes that are not for games. */
export const NO_REGION = 'none';
