import type { GameSpec } from '../../src/engines/engine.ts';

/** Returns the suite's specification of a game. `where` adds the image, the data directory and the environment. */
export function gameSpec(
  serverId: string,
  where: Pick<GameSpec, 'image' | 'dataDir' | 'env'> & Partial<GameSpec>,
): GameSpec {
  return { serverId, core: 'sandbox', version: '1.21.4', ramMb: 64, cpus: 1, ports: [], ...where };
}
