import { once } from 'node:events';
import { type Server, type Socket, connect, createServer } from 'node:net';
import type { ExecutionContext } from 'ava';
import { FrameReader, encodeFrame, encodeString, encodeVarInt, readFrame } from '../../proxy/codec.ts';
import { type Proxy, type ProxyOptions, createProxy } from '../../proxy/index.ts';
import type { Address, InLine, Player, Route } from '../../proxy/ports.ts';
import { until } from '../support/until.ts';

export const HOST = 'play.example.com';

export function route(change: Partial<Route> = {}): Route {
  return {
    serverId: 'one',
    name: 'Castle',
    state: 'hibernated',
    address: null,
    readyAt: null,
    motd: '',
    versionName: '1.21.1',
    maxPlayers: 20,
    phase: '',
    percent: 0,
    etaSeconds: null,
    lastStatus: null,
    asleepMotd: '',
    asleepLine: '',
    refusal: '',
    verifies: false,
    waitingRoom: false,
    protocol: null,
    ...change,
  };
}

/** Returns the route of a running game that has been up long enough to be trusted. */
export function running(address: Address, change: Partial<Route> = {}): Route {
  return route({ state: 'running', address, readyAt: Date.now() - 3_600_000, ...change });
}

export interface Wish {
  serverId: string;
  player: Player;
  signal: AbortSignal;
  inLine: InLine | undefined;
  ready: (address: Address) => void;
  refuse: (error: unknown) => void;
}

export interface TestProxy {
  proxy: Proxy;
  port: number;
  routes: Map<string, Route>;
  /** Every requested wake, oldest first. The test answers it. */
  wishes: Wish[];
  log: { level: 'debug' | 'info' | 'warn'; message: string; fields: object }[];
  stop(): Promise<void>;
}

/** Longer than any test, for timeouts that must not occur, however slow the machine is. */
export const EVER_MS = 600_000;
const PATIENT = {
  firstByteMs: EVER_MS,
  openingMs: EVER_MS,
  statusMs: EVER_MS,
  pingMs: EVER_MS,
  answerMs: EVER_MS,
  dialMs: EVER_MS,
  verifyMs: EVER_MS,
};

/**
 * Starts a proxy on loopback. In its map of routes, HOST is a sleeping server. Pauses that tests wait for are short;
 * timeouts are long.
 */
export async function startProxy(t: ExecutionContext, options: Partial<ProxyOptions> = {}): Promise<TestProxy> {
  // Real clients first load the data of their versions, which blocks this thread for seconds.
  t.timeout(300_000);
  const routes = new Map([[HOST, route()]]);
  const wishes: Wish[] = [];
  const log: TestProxy['log'] = [];
  const note = (level: TestProxy['log'][number]['level']) => (fields: object, message: string) =>
    void log.push({ level, message, fields });
  const proxy = createProxy({
    routes: { lookup: (host) => routes.get(host) },
    wake: {
      admit: async () => {},
      wake: (serverId, player, signal, inLine) =>
        new Promise((ready, refuse) => wishes.push({ serverId, player, signal, inLine, ready, refuse })),
    },
    log: { debug: note('debug'), info: note('info'), warn: note('warn') },
    // No address is a neighbour, unless a test changes that.
    neighbours: [],
    ...options,
    timings: { ...PATIENT, sweepMs: 20, dwellMs: 20, redialMs: 50, farewellMs: 300, ...options.timings },
  });
  const { port } = await proxy.listen('::', 0);
  let stopped: Promise<void> | undefined;
  const stop = (): Promise<void> => (stopped ??= proxy.close());
  t.teardown(stop);
  return { proxy, port, routes, wishes, log, stop };
}

/** A client that sends raw bytes, and stores all bytes it receives. */
export class RawClient {
  readonly socket: Socket;
  received: Buffer = Buffer.alloc(0);
  closed = false;
  reset = false;

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.on('data', (chunk) => (this.received = Buffer.concat([this.received, chunk])));
    socket.on('error', () => (this.reset = true));
    socket.on('close', () => (this.closed = true));
  }

  static async open(t: ExecutionContext, port: number, host = '127.0.0.1', localAddress?: string): Promise<RawClient> {
    const socket = connect({ host, port, localAddress, noDelay: true });
    t.teardown(() => void socket.destroy());
    await once(socket, 'connect');
    return new RawClient(socket);
  }

  send(...bytes: Buffer[]): this {
    this.socket.write(Buffer.concat(bytes));
    return this;
  }

  /** Resolves with the next frame's packet id and data. */
  async packet(): Promise<{ id: number; reader: FrameReader }> {
    await until(() => readFrame(this.received, 2_097_151) !== undefined);
    const frame = readFrame(this.received, 2_097_151);
    if (!frame) throw new Error('no frame');
    this.received = this.received.subarray(frame.size);
    const reader = new FrameReader(frame.value);
    return { id: reader.varInt(), reader };
  }

  /** Resolves with the text of a login Disconnect, which must be the next packet. */
  async kickText(): Promise<string> {
    const { id, reader } = await this.packet();
    if (id !== 0) throw new Error(`packet ${id} in place of a disconnect`);
    return reader.string(262_144);
  }

  async gone(): Promise<void> {
    await until(() => this.closed);
  }
}

/** Starts a game on a bare TCP server. `serve` receives each connection. */
export async function startGame(
  t: ExecutionContext,
  serve: (socket: Socket) => void,
): Promise<Address & { server: Server }> {
  const sockets = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
    serve(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return { host: '127.0.0.1', port: address.port, server };
}

export const INTENT = { status: 1, login: 2, transfer: 3 } as const;

export function handshake(protocol: number, intent: keyof typeof INTENT, host = HOST): Buffer {
  const fields = [encodeVarInt(protocol), encodeString(host), Buffer.from([0x63, 0xdd]), encodeVarInt(INTENT[intent])];
  return encodeFrame(0, ...fields);
}

export const statusRequest = encodeFrame(0);
export const statusPing = encodeFrame(1, Buffer.from('0123456789abcdef', 'hex'));

/** Returns a Login Start of protocol 764 and later, or (with `uuid` false) of a protocol below 759. */
export function loginStart(name: string, uuid = true): Buffer {
  return encodeFrame(0, encodeString(name), uuid ? Buffer.alloc(16, 7) : Buffer.alloc(0));
}

/** Returns "not understood", the answer of clients to a plugin request on an unknown channel. */
export function pluginAnswer(id: number): Buffer {
  return encodeFrame(2, encodeVarInt(id), Buffer.from([0]));
}
