import * as z from 'zod';
import { type Address, endpointKey } from '../../kernel/address.ts';
import type { Clock } from '../../kernel/clock.ts';
import { monotonicClock } from '../../kernel/system-clock.ts';
import { ManagementConnection } from './management-connection.ts';
import { type Management, ManagementError } from './management-port.ts';

const Status = z.object({ started: z.boolean() });
const Players = z.array(
  z.object({ id: z.string().max(36), name: z.string().max(64) }).transform(({ id, name }) => ({ uuid: id, name })),
);

interface Line {
  secret: string;
  connection: ManagementConnection | undefined;
  listeners: Set<() => void>;
}

/** Creates the access to games' management ports over WebSocket. Open connections don't keep this process alive. */
export function createManagement({
  clock = monotonicClock,
}: {
  /** Default: real time. */
  clock?: Clock;
} = {}): Management {
  const lines = new Map<string, Line>();
  let closed = false;

  function lineTo(address: Address): Line {
    const line = lines.get(endpointKey(address)) ?? { secret: '', connection: undefined, listeners: new Set() };
    lines.set(endpointKey(address), line);
    return line;
  }

  /** Drops an unused line. */
  function tidy(address: Address, line: Line): void {
    const key = endpointKey(address);
    if (line.connection === undefined && line.listeners.size === 0 && lines.get(key) === line) lines.delete(key);
  }

  function connectionTo(address: Address, secret: string): ManagementConnection {
    if (closed) throw new ManagementError('The service is shutting down.');
    const line = lineTo(address);
    if (line.secret !== secret) line.connection?.close();
    if (line.connection) return line.connection;
    const connection = new ManagementConnection(address, {
      secret,
      clock,
      changed: () => line.listeners.forEach((listener) => listener()),
      ended() {
        line.connection = undefined;
        tidy(address, line);
      },
    });
    line.secret = secret;
    line.connection = connection;
    lines.set(endpointKey(address), line);
    return connection;
  }

  async function ask<T>(schema: z.ZodType<T>, method: string, address: Address, secret: string): Promise<T> {
    const { data, success } = schema.safeParse(await connectionTo(address, secret).call(method));
    if (success) return data;
    throw new ManagementError(`The game's answer to ${method} has an unexpected shape.`);
  }

  return {
    started: async (address, secret) => (await ask(Status, 'minecraft:server/status', address, secret)).started,
    players: (address, secret) => ask(Players, 'minecraft:players', address, secret),
    watch(address, listener) {
      const line = lineTo(address);
      // Each watch has its own function, because the same listener may watch twice.
      const each = () => listener();
      line.listeners.add(each);
      return () => {
        line.listeners.delete(each);
        tidy(address, line);
      };
    },
    release: (address) => lines.get(endpointKey(address))?.connection?.close(),
    close() {
      closed = true;
      for (const { connection } of lines.values()) connection?.close();
    },
  };
}
