import { createMutex } from '../kernel/mutex.ts';
import { StatusError, badRequest } from '../kernel/status.ts';
import { requireServer } from '../servers/rows.ts';
import { openRowCache } from '../store/row-cache.ts';
import type { Store, Tx } from '../store/store.ts';
import { type ServerPortRow, deleteServerPort, insertServerPort, listServerPorts } from './rows.ts';

/** A port of a game, reachable from outside at `hostPort` of this machine. */
export type ServerPort = Omit<ServerPortRow, 'serverId'>;

/** Assigned ports, held in memory so that showing and starting a server needs no query. */
export interface ServerPorts {
  /** Returns a server's ports by slot. */
  of(serverId: string): readonly ServerPort[];
  /**
   * Assigns one more port to a server. Rejects with NOT_FOUND; UNIMPLEMENTED NOT_SUPPORTED; INVALID_ARGUMENT
   * PORT_RESERVED; RESOURCE_EXHAUSTED MAX_PORTS or NO_FREE_PORT; ALREADY_EXISTS PORT_EXISTS.
   */
  add(serverId: string, wanted: WantedPort, record: Record): Promise<void>;
  /** Removes a port. Rejects with NOT_FOUND PORT_NOT_FOUND. */
  remove(serverId: string, slot: number, record: Record): Promise<void>;
  /** Forgets the ports of a server being deleted; they are free at once. */
  forget(serverId: string): Promise<void>;
}

export type WantedPort = Pick<ServerPortRow, 'containerPort' | 'proto' | 'label'>;

/** Adds the audit entry, in the write of the change. */
type Record = (tx: Tx) => Promise<void>;

export interface ServerPortsOptions {
  store: Store;
  /** Ports that can be assigned, inclusive. */
  range: { from: number; to: number };
  /** Whether a port is unused on this machine now. */
  isFree: (port: number, proto: ServerPort['proto']) => Promise<boolean>;
  /** The service's own TCP ports, if games listen at the addresses of this machine. */
  reserved?: ReadonlySet<number>;
  /** False if a port might lead to other programs than the game. */
  offered?: boolean;
}

const MAX_PORTS = 8;

/** Reads the assigned ports. Only servers with ports take memory. */
export async function openServerPorts(options: ServerPortsOptions): Promise<ServerPorts> {
  const { store, range, isFree, reserved = new Set(), offered = true } = options;
  const given = await openRowCache(store, listServerPorts, (row) => [row.hostPort, row]);
  const withLock = createMutex();

  const of = (serverId: string) =>
    [...given.all()].filter((row) => row.serverId === serverId).toSorted((a, b) => a.slot - b.slot);

  /** Returns the lowest free host port. */
  async function choose(proto: ServerPort['proto']): Promise<number> {
    for (let port = range.from; port <= range.to; port++)
      if (given.of(port) === undefined && (await isFree(port, proto))) return port;
    const sentence = 'All ports of this machine are in use. Close a port of another server first.';
    throw new StatusError('RESOURCE_EXHAUSTED', 'NO_FREE_PORT', sentence);
  }

  function checkTarget({ containerPort, proto }: WantedPort): void {
    if (!offered) {
      throw new StatusError('UNIMPLEMENTED', 'NOT_SUPPORTED', 'Extra ports do not work here. Use ENGINE=docker.');
    }
    if (proto !== 'tcp' || !reserved.has(containerPort)) return;
    const sentence = 'Dormouse itself uses this port. Choose another one.';
    const details = [badRequest([{ field: 'containerPort', description: 'is used by Dormouse itself' }])];
    const metadata = { containerPort: String(containerPort) };
    throw new StatusError('INVALID_ARGUMENT', 'PORT_RESERVED', sentence, { metadata, details });
  }

  /** Returns the slot for a new port. */
  function slotFor(serverId: string, { containerPort, proto }: WantedPort): number {
    const rows = of(serverId);
    if (rows.some((row) => row.containerPort === containerPort && row.proto === proto)) {
      const metadata = { proto, containerPort: String(containerPort) };
      throw new StatusError('ALREADY_EXISTS', 'PORT_EXISTS', 'The server already has this port.', { metadata });
    }
    if (rows.length >= MAX_PORTS) {
      const metadata = { limit: String(MAX_PORTS) };
      const sentence = `A server can have at most ${MAX_PORTS} ports. Close one first.`;
      throw new StatusError('RESOURCE_EXHAUSTED', 'MAX_PORTS', sentence, { metadata });
    }
    const taken = new Set(rows.map(({ slot }) => slot));
    return Array.from({ length: MAX_PORTS }, (_, slot) => slot).find((slot) => !taken.has(slot)) ?? 0;
  }

  return {
    of,

    add: (serverId, wanted, record) =>
      withLock(async () => {
        checkTarget(wanted);
        const slot = slotFor(serverId, wanted);
        const row = { hostPort: await choose(wanted.proto), serverId, slot, ...wanted };
        await given.set(row.hostPort, row, async (tx) => {
          await requireServer(tx, serverId);
          await insertServerPort(tx, row);
          await record(tx);
        });
      }),

    remove: (serverId, slot, record) =>
      withLock(async () => {
        const row = of(serverId).find((each) => each.slot === slot);
        if (row === undefined) {
          const metadata = { slot: String(slot) };
          throw new StatusError('NOT_FOUND', 'PORT_NOT_FOUND', 'The server has no port in this slot.', { metadata });
        }
        await given.delete(row.hostPort, async (tx) => {
          await deleteServerPort(tx, row.hostPort);
          await record(tx);
        });
      }),

    forget: (serverId) =>
      withLock(async () => {
        const rows = of(serverId);
        if (rows.length === 0) return;
        await store.write(async (tx) => {
          for (const { hostPort } of rows) await deleteServerPort(tx, hostPort);
        });
        for (const { hostPort } of rows) given.forget(hostPort);
      }),
  };
}
