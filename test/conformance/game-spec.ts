import type { GameSpec } from '../../src/engines/engine.ts';

/** A game as the conformance suite boots it, but for where it lies and what it runs from. */
export function gameSpec(
  serverId: string,
  where: Pick<GameSpec, 'image' | 'dataDir' | 'env'> & Partial<GameSpec>,
): GameSpec {
  return { serverId, core: 'sandbox', version: '1.21.4', ramMb: 64, cpus: 1, ports: [], ...where };
}
