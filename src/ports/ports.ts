import { isPortFree } from '../engines/process/port-forwarder.ts';
import { TELLS_OWNERS } from '../engines/process/sockets.ts';
import { createMutex } from '../kernel/mutex.ts';
import { StatusError, badRequest } from '../kernel/status.ts';
import { type ServerPortRow, deleteServerPort, insertServerPort, listServerPorts, setBedrockVersion } from './rows.ts';
import { requireServer } from '../servers/rows.ts';
import { type RowCache, openRowCache } from '../store/row-cache.ts';
import type { Store, Tx } from '../store/store.ts';

/** A port of a game, reachable from outside at `hostPort` of this machine. */
type ServerPort = Omit<ServerPortRow, 'serverId'>;
type WantedPort = Pick<ServerPort, 'containerPort' | 'proto' | 'label'> & { wakes?: boolean };

/** Adds the audit entry, in the write of the change. */
type Record = (tx: Tx) => Promise<void>;

interface ServerPortsOptions {
  store: Store;
  /** Ports that can be assigned, inclusive. */
  range: { from: number; to: number };
  /** Whether games are processes on this machine and so share its ports with other programs. */
  onThisMachine: boolean;
  /** Whether games run on several machines, so that this one cannot listen at their addresses. */
  areElsewhere?: boolean;
  /** The service's own TCP ports. */
  own: readonly { port: number }[];
  /** Whether this machine tells which program listens on a port. If not, a port might lead to another program. */
  tellsOwners?: boolean;
  /** Whether a port is unused on this machine now. */
  isFree?: (port: number, proto: ServerPort['proto']) => Promise<boolean>;
}

const MAX_PORTS = 8;
/** The port that Bedrock clients use by default. */
const BEDROCK_PORT = 19_132;

/** Extra ports of games, held in memory so that showing and starting a server needs no query. */
export class ServerPorts {
  readonly #options: ServerPortsOptions;
  /** Only servers with ports take memory. */
  readonly #given: RowCache<number, ServerPortRow>;
  readonly #listeners = new Set<(serverId: string) => void>();
  readonly #withLock = createMutex();

  private constructor(options: ServerPortsOptions, given: RowCache<number, ServerPortRow>) {
    this.#options = options;
    this.#given = given;
  }

  static async open(this: void, options: ServerPortsOptions): Promise<ServerPorts> {
    return new ServerPorts(options, await openRowCache(options.store, listServerPorts, (row) => [row.hostPort, row]));
  }

  /** Returns a server's ports by slot. */
  of(serverId: string): readonly ServerPort[] {
    return [...this.#given.all()].filter((row) => row.serverId === serverId).toSorted((a, b) => a.slot - b.slot);
  }

  /** Returns the servers with a port that wakes. */
  wakers(): string[] {
    return [...this.#given.all()].flatMap(({ serverId, wakes }) => (wakes ? [serverId] : []));
  }

  /** Returns the port at which Bedrock players wake a server; undefined without one. */
  waking(serverId: string): ServerPort | undefined {
    return this.of(serverId).find(({ wakes }) => wakes);
  }

  /** Calls `listener` after each change of a server's ports. Returns a function that removes it. */
  follow(listener: (serverId: string) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Stores the Bedrock version of the game at the server's port that wakes. */
  noteBedrock(serverId: string, { protocol, version }: { protocol: number; version: string }): Promise<void> {
    return this.#withLock(async () => {
      const known = this.waking(serverId);
      if (known === undefined || (known.bedrockProtocol === protocol && known.bedrockVersion === version)) return;
      const row = { ...known, serverId, bedrockProtocol: protocol, bedrockVersion: version };
      await this.#given.set(row.hostPort, row, (tx) => setBedrockVersion(tx, row));
      this.#changed(serverId);
    });
  }

  /**
   * Assigns one more port to a server. Rejects with NOT_FOUND; UNIMPLEMENTED NOT_SUPPORTED; INVALID_ARGUMENT
   * PORT_RESERVED; RESOURCE_EXHAUSTED MAX_PORTS or NO_FREE_PORT; ALREADY_EXISTS PORT_EXISTS.
   */
  add(serverId: string, wanted: WantedPort, record: Record): Promise<void> {
    return this.#withLock(async () => {
      this.#checkTarget(wanted);
      const slot = this.#slotFor(serverId, wanted);
      const unknown = { wakes: false, bedrockProtocol: 0, bedrockVersion: '' };
      const row = { ...unknown, ...wanted, hostPort: await this.#choose(wanted), serverId, slot };
      await this.#given.set(row.hostPort, row, async (tx) => {
        await requireServer(tx, serverId);
        await insertServerPort(tx, row);
        await record(tx);
      });
      this.#changed(serverId);
    });
  }

  /** Removes a port. Rejects with NOT_FOUND PORT_NOT_FOUND. */
  remove(serverId: string, slot: number, record: Record): Promise<void> {
    return this.#withLock(async () => {
      const row = this.of(serverId).find((each) => each.slot === slot);
      if (row === undefined) {
        const metadata = { slot: String(slot) };
        throw new StatusError('NOT_FOUND', 'PORT_NOT_FOUND', 'The server has no port in this slot.', { metadata });
      }
      await this.#given.delete(row.hostPort, async (tx) => {
        await deleteServerPort(tx, row.hostPort);
        await record(tx);
      });
      this.#changed(serverId);
    });
  }

  /** Forgets the ports of a server being deleted; they are free at once. */
  forget(serverId: string): Promise<void> {
    return this.#withLock(async () => {
      const rows = this.of(serverId);
      if (rows.length === 0) return;
      await this.#options.store.write(async (tx) => {
        for (const { hostPort } of rows) await deleteServerPort(tx, hostPort);
      });
      for (const { hostPort } of rows) this.#given.forget(hostPort);
    });
  }

  /**
   * Returns the game's own number if it is free, and in the range or the usual one of Bedrock players: voice chat then
   * works without further settings, and Bedrock clients need no port. Otherwise returns the first free port of the range.
   */
  async #choose({ containerPort, proto, wakes = false }: WantedPort): Promise<number> {
    const { range, onThisMachine, isFree = isPortFree } = this.#options;
    const isUsable = async (port: number) => this.#given.of(port) === undefined && (await isFree(port, proto));
    const isInRange = containerPort >= range.from && containerPort <= range.to;
    // A game that is a process of this machine listens on the number itself.
    if ((isInRange || (wakes && containerPort === BEDROCK_PORT)) && !onThisMachine && (await isUsable(containerPort)))
      return containerPort;
    for (let port = range.from; port <= range.to; port++) if (await isUsable(port)) return port;
    const sentence = 'All ports of this machine are in use. Close a port of another server first.';
    throw new StatusError('RESOURCE_EXHAUSTED', 'NO_FREE_PORT', sentence);
  }

  #changed(serverId: string): void {
    for (const listener of this.#listeners) listener(serverId);
  }

  #checkTarget({ containerPort, proto, wakes }: WantedPort): void {
    const { onThisMachine, areElsewhere = false, own, tellsOwners = TELLS_OWNERS } = this.#options;
    if (wakes && areElsewhere)
      throw new StatusError('UNIMPLEMENTED', 'NOT_SUPPORTED', 'Ports that wake a server need games on one machine.');
    if (!onThisMachine) return;
    if (!tellsOwners)
      throw new StatusError('UNIMPLEMENTED', 'NOT_SUPPORTED', 'Extra ports do not work here. Use ENGINE=docker.');
    if (proto !== 'tcp' || !own.some(({ port }) => port === containerPort)) return;
    const sentence = 'Dormouse itself uses this port. Choose another one.';
    const details = [badRequest([{ field: 'containerPort', description: 'is used by Dormouse itself' }])];
    const metadata = { containerPort: String(containerPort) };
    throw new StatusError('INVALID_ARGUMENT', 'PORT_RESERVED', sentence, { metadata, details });
  }

  #slotFor(serverId: string, { containerPort, proto, wakes }: WantedPort): number {
    const rows = this.of(serverId);
    if (wakes && rows.some((row) => row.wakes))
      throw new StatusError('ALREADY_EXISTS', 'PORT_EXISTS', 'The server already has a port that wakes it.');
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
}
