import type { Console } from './console/console.ts';
import type { Engine } from './engine.ts';

/** Resolves if this process may act; see `Lease.require`. */
type MayAct = () => Promise<void>;

/** Wraps an engine so that it changes games only while this process may act. Methods that only read always work. */
export function fencedEngine(engine: Engine, mayAct: MayAct): Engine {
  return {
    ...engine,
    async install(...given) {
      await mayAct();
      await engine.install(...given);
    },
    async boot(...given) {
      await mayAct();
      return await engine.boot(...given);
    },
    async halt(...given) {
      await mayAct();
      await engine.halt(...given);
    },
    async kill(...given) {
      await mayAct();
      await engine.kill(...given);
    },
    async erase(...given) {
      await mayAct();
      await engine.erase(...given);
    },
    ...(engine.type && {
      async type(...given: Parameters<NonNullable<Engine['type']>>) {
        await mayAct();
        return await engine.type?.(...given);
      },
    }),
  };
}

/** A console that sends commands only while this process may act. */
export function fencedConsole(console: Console, mayAct: MayAct): Console {
  return {
    async run(...given) {
      await mayAct();
      return await console.run(...given);
    },
    release: (address) => console.release(address),
    close: () => console.close(),
  };
}
