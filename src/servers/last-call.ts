import type { Cause } from '../../machines/server-types.ts';
import type { Console } from '../engines/console/console.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Log } from '../kernel/log.ts';
import type { LiveServers } from './live.ts';
import type { ServerNow } from './server-now.ts';

/** Servers that must stop, and whose players are told so beforehand. */
export interface LastCall {
  /** From the warning to the stop. */
  graceMs: number;
  /** For the chat, in one line. */
  warning: string;
  /** Whom it is about. Asked again for the stop: who has come in meanwhile stops with the others. */
  servers: () => ServerNow[];
  /** Why they stop, once the grace is over; undefined: what it was for has passed. */
  cause: () => Promise<Cause | undefined>;
}

/** Warnings that stops will follow, one a key. */
export interface LastCalls {
  /** Keys of those that have been warned and not yet stopped. */
  keys(): string[];
  has(key: string): boolean;
  /** Warns, and stops after the grace. A console that hangs delays nothing. */
  begin(key: string, call: LastCall): void;
  /** The grace of a key is over now; nothing happens where there is none. */
  cutShort(key: string): void;
  /** No stop follows. */
  cancel(key: string): void;
  close(): void;
}

export interface LastCallOptions {
  clock: Clock;
  servers: LiveServers;
  console: Pick<Console, 'run'>;
  rconPassword: (serverId: string) => string | Promise<string>;
  log: Log;
}

export function createLastCalls(options: LastCallOptions): LastCalls {
  const { clock, servers, log } = options;
  const begun = new Map<string, { call: LastCall; cancel: () => void }>();

  async function stop(key: string): Promise<void> {
    const entry = begun.get(key);
    if (entry === undefined) return;
    const { call } = entry;
    entry.cancel();
    // It stays in the list until the stops are given: nobody is warned anew meanwhile.
    try {
      const cause = await call.cause();
      if (cause === undefined || begun.get(key) !== entry) return;
      const at = clock.now();
      const stops = call.servers().map(({ row }) => servers.send(row.id, { type: 'STOP', at, cause }));
      for (const each of await Promise.allSettled(stops)) {
        if (each.status === 'rejected') log.warn({ about: key, err: each.reason as unknown }, 'not stopped yet');
      }
    } catch (error) {
      log.error({ about: key, err: error }, 'servers that must stop could not be; the next look tries again');
    } finally {
      if (begun.get(key) === entry) begun.delete(key);
    }
  }

  function cancel(key: string): void {
    begun.get(key)?.cancel();
    begun.delete(key);
  }

  return {
    keys: () => [...begun.keys()],
    has: (key) => begun.has(key),
    begin(key, call) {
      cancel(key);
      begun.set(key, { call, cancel: clock.at(clock.now() + call.graceMs, () => void stop(key)) });
      void warnPlayers(call.servers(), call.warning, options);
    },
    cutShort: (key) => void stop(key),
    cancel,
    close() {
      for (const key of begun.keys()) cancel(key);
    },
  };
}

/** Says a line in the chat of the games that have a console. Never rejects. */
export async function warnPlayers(
  concerned: readonly ServerNow[],
  warning: string,
  { console, rconPassword, log }: Pick<LastCallOptions, 'console' | 'rconPassword' | 'log'>,
): Promise<void> {
  await Promise.all(
    concerned.map(async ({ row, context }) => {
      if (context.rcon === null) return;
      try {
        await console.run(context.rcon, await rconPassword(row.id), `say ${warning}`);
      } catch (error) {
        log.debug({ server: row.id, err: error }, 'the warning was not taken');
      }
    }),
  );
}
