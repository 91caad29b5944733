import { fakeEngine } from '../fakes/engine.ts';
import type { Bench } from './engine.ts';
import { gameSpec } from './game-spec.ts';

/** Creates a bench on the engine in memory. Each game's specification also sets its script. */
export async function memoryBench(): Promise<Bench> {
  const engine = fakeEngine();
  return {
    engine,
    again: () => engine.again(),
    spec(serverId, { farewell, ...behaviour } = {}) {
      engine.script(serverId, { ...behaviour, farewell: farewell === undefined ? [] : [farewell] });
      return gameSpec(serverId, { image: '', dataDir: `/nowhere/${serverId}`, env: {} });
    },
    traces: async () => [],
    enforcesMemory: true,
    listens: false,
    echoesUdp: false,
    keepsApart: false,
  };
}
