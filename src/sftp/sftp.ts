import { statfs } from 'node:fs/promises';
import { type AddressInfo, BlockList, type Socket, createServer } from 'node:net';
import ssh2 from 'ssh2';
import { listenAt } from '../../proxy/listen.ts';
import type { Files } from '../files/files.ts';
import { clientAddress } from '../http/client-address.ts';
import type { Disk } from '../jail/space.ts';
import type { Clock } from '../kernel/clock.ts';
import { type ClientCount, createClientCount } from '../kernel/limits/client-count.ts';
import { addressKey, isListed, networkOf } from '../kernel/ip.ts';
import type { Log } from '../kernel/log.ts';
import { createPlaces } from '../kernel/limits/places.ts';
import type { RateLimiter } from '../kernel/limits/rate-limiter.ts';
import { backoff, createSlidingLog } from '../kernel/limits/sliding-log.ts';
import type { Store } from '../store/store.ts';
import { Commands } from './commands.ts';
import { Connection, type ConnectionOptions } from './connection.ts';
import { createHandles } from './handles.ts';
import type { HostKey } from './host-key.ts';
import { type Penalties, SFTP_LIMITS, type SftpLimits, createPenalties } from './limits.ts';
import { createOutbox } from './outbox.ts';
import type { Space } from './replies.ts';
import type { Request } from './requests.ts';
import { serveSftpSession } from './sftp-session.ts';
import { createSignIn } from './sign-in.ts';
import { findKeyedSftpUser, touchSshKey } from './ssh-key-rows.ts';
import { findSftpServer } from './users.ts';

export interface SftpOptions {
  store: Store;
  clock: Clock;
  log: Log;
  dataDir: string;
  hostKey: HostKey;
  files: Pick<Files, 'jail'>;
  disk: Disk;
  limits?: Partial<SftpLimits>;
  /** Load balancers, whose addresses are not limited because all clients come from them. Default: none. */
  trusted?: BlockList;
}

/** Servers' files over SFTP, whether the servers are awake or asleep. */
export interface Sftp {
  /** Begins to accept clients and resolves with its address. Rejects if the port cannot be opened. */
  listen(host: string, port: number): Promise<AddressInfo>;
  /** The port it listens on; 0 while closed. */
  readonly port: number;
  /** The host key's fingerprint, `SHA256:…`. */
  readonly fingerprint: string;
  /** Connections signed in to a server. */
  sessions(serverId: string): number;
  /** Refuses sign-ins from now on to servers for which `isShut` returns true. */
  keepShut(isShut: (serverId: string) => boolean): void;
  /** Ends all connections opened with a public key. Resolves once their requests have ended. */
  cutKey(keyId: string): Promise<void>;
  /** Ends all connections to a server. Resolves once their requests have ended. */
  cut(serverId: string): Promise<void>;
  close(): Promise<void>;
}

/**
 * The accepted algorithms. SHA-1, NIST curves and encrypt-and-MAC are excluded. The library has the countermeasure to
 * Terrapin.
 */
const ALGORITHMS = {
  kex: ['curve25519-sha256', 'curve25519-sha256@libssh.org'],
  serverHostKey: ['ssh-ed25519'],
  cipher: ['aes256-gcm@openssh.com', 'aes128-gcm@openssh.com', 'aes256-ctr'],
  hmac: ['hmac-sha2-256-etm@openssh.com', 'hmac-sha2-512-etm@openssh.com'],
  compress: ['none'],
} satisfies ssh2.Algorithms;

/** SFTP has no `X-Forwarded-For`. */
const NO_PROXY = new BlockList();
/** The prefix lengths that penalties apply to: an IPv4 address, or the IPv6 network of one customer. */
const SOURCE = { ipv4: 32, ipv6: 48 };
/** The result for clients that are not counted. */
const NOT_COUNTED = { waitMs: 0, giveBack: () => {} };
/**
 * Longer than any connection lasts. Disables the keepalive of the library, whose timer would keep running after an
 * error.
 */
const NEVER_MS = 2 ** 31 - 1;

export function createSftp(options: SftpOptions): Sftp {
  return new SftpServer(options);
}

class SftpServer implements Sftp {
  readonly fingerprint: string;
  readonly #options: SftpOptions;
  readonly #limits: SftpLimits;
  readonly #shut: ((serverId: string) => boolean)[] = [];
  readonly #connections = new Map<string, Connection>();
  readonly #places = createPlaces();
  readonly #connects: RateLimiter;
  readonly #penalties: Penalties;
  readonly #signingIn: ClientCount;
  readonly #handlesOfAll: { left: number };
  readonly #ssh: ssh2.Server;
  readonly #listener = createServer((socket) => this.#accept(socket));

  constructor(options: SftpOptions) {
    const { clock, store, hostKey } = options;
    const limits = { ...SFTP_LIMITS, ...options.limits };
    this.fingerprint = hostKey.fingerprint;
    this.#options = options;
    this.#limits = limits;
    this.#connects = createSlidingLog(backoff(limits.connects), clock);
    this.#penalties = createPenalties(limits.penalties, clock);
    const isShared = (address: string) => this.#isShared(address);
    this.#signingIn = createClientCount({
      most: limits.signingIn,
      mostOfAddress: limits.signingInPerAddress,
      isShared,
    });
    this.#handlesOfAll = { left: limits.handlesOfAll };
    const answering = createSignIn({
      clock,
      limits,
      findServer: (username, passwordHash) => findSftpServer(store, username, passwordHash),
      findKeyed: (username, fingerprint) => findKeyedSftpUser(store, username, fingerprint),
    });
    this.#ssh = new ssh2.Server(
      { hostKeys: [hostKey.privateKey], ident: 'Dormouse', algorithms: ALGORITHMS, keepaliveInterval: NEVER_MS },
      (client, { ip, port }) => {
        const connection = this.#connections.get(`${ip} ${port}`);
        connection?.greet(client, answering(connection));
      },
    );
  }

  listen(host: string, port: number): Promise<AddressInfo> {
    return listenAt(this.#listener, { host, port });
  }

  get port(): number {
    return (this.#listener.address() as AddressInfo | null)?.port ?? 0;
  }

  sessions(serverId: string): number {
    return this.#connectionsTo(serverId).filter(({ signedIn }) => signedIn).length;
  }

  keepShut(isShut: (serverId: string) => boolean): void {
    this.#shut.push(isShut);
  }

  async cutKey(keyId: string): Promise<void> {
    const opened = [...this.#connections.values()].filter((each) => each.keyId === keyId);
    await Promise.all(opened.map((each) => each.end()));
  }

  async cut(serverId: string): Promise<void> {
    await Promise.all(this.#connectionsTo(serverId).map((each) => each.end()));
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#listener.close(resolve));
    await Promise.all(Array.from(this.#connections.values(), (each) => each.end()));
    for (const each of this.#connections.values()) each.destroy();
    await closed;
  }

  /** Accepts a client and waits for its sign-in. If no place is free, disconnects it before any other work. */
  #accept(socket: Socket): void {
    const { store, clock, log } = this.#options;
    const limits = this.#limits;
    socket.on('error', (error) => log.debug({ err: error }, 'an SFTP connection broke off'));
    const peer = `${socket.remoteAddress} ${socket.remotePort}`;
    const from = clientAddress(socket.remoteAddress, undefined, NO_PROXY);
    const shared = this.#isShared(from);
    const address = addressKey(from);
    const source = networkOf(from, SOURCE);
    const attempt = shared ? NOT_COUNTED : this.#connects.take(address);
    const mostOfAddress = shared ? limits.connections : limits.connectionsPerAddress;
    const place =
      attempt.waitMs === 0 && !this.#penalties.isEnforced(source)
        ? this.#places.take({ all: limits.connections, [`from ${address}`]: mostOfAddress })
        : undefined;
    const held = [place];
    socket.once('close', () => {
      for (const release of held) release?.();
    });
    if (!place || this.#connections.has(peer)) return void socket.destroy();

    const leaveSigningIn = this.#signingIn.enter({
      address: from,
      // A person needs time to type a password. Before that, only a flood and a first check of the fingerprint take
      // long.
      state: () => (connection.signingIn ? 'waiting' : 'idle'),
      leave: () => socket.destroy(),
    });
    /** Reserves one of the server's seats for an authenticated client. Returns false if it cannot be admitted. */
    const admit = (serverId: string, keyId: string | undefined): boolean => {
      if (this.#shut.some((isShut) => isShut(serverId))) return false;
      const seat = this.#places.take({ [`in ${serverId}`]: limits.connectionsPerServer });
      if (!seat) return false;
      held.push(seat);
      leaveSigningIn?.();
      attempt.giveBack();
      log.info({ server: serverId, sshKey: keyId }, 'SFTP sign-in');
      // Best effort: the sign-in must not fail because of it.
      if (keyId !== undefined) store.write((tx) => touchSshKey(tx, keyId, clock.now())).catch(() => {});
      return true;
    };
    const connection = new Connection({ socket, address, clock, log, limits, admit, serve: this.#serve });
    held.push(leaveSigningIn);
    if (!leaveSigningIn) return void socket.destroy();
    this.#connections.set(peer, connection);
    socket.once('close', () => {
      this.#connections.delete(peer);
      const { silentMs, brokenMs } = limits.penalties;
      if (!connection.signedIn && !shared) this.#penalties.add(source, connection.late ? silentMs : brokenMs);
    });
    this.#ssh.injectSocket(socket);
  }

  readonly #serve: ConnectionOptions['serve'] = async (serverId, channel, { socket, signal, onRequest }) => {
    const { clock, log, dataDir, files, disk } = this.#options;
    const limits = this.#limits;
    await using jail = await files.jail(serverId);
    const handles = createHandles(limits.handles, this.#handlesOfAll);
    const commands = new Commands({
      jail,
      handles,
      mostHandles: limits.handles,
      disk,
      serverId,
      space: () => spaceOf(dataDir, disk, serverId),
      now: () => clock.now(),
    });
    const send = createOutbox({ channel, socket, signal, waitingBytes: limits.waitingBytes });
    try {
      const perform = (request: Request) => commands.perform(request);
      await serveSftpSession({ channel, send, perform, onRequest, signal, log: log.child({ server: serverId }) });
    } finally {
      await handles.closeAll();
    }
  };

  #isShared(address: string): boolean {
    const { trusted } = this.#options;
    return trusted !== undefined && isListed(trusted, address);
  }

  #connectionsTo(serverId: string): Connection[] {
    return [...this.#connections.values()].filter((each) => each.serverId === serverId);
  }
}

/**
 * Returns the server's quota, with its free space limited to that of the file system. Without a quota, returns the
 * space of the file system that holds the servers.
 */
async function spaceOf(dataDir: string, disk: Disk, serverId: string): Promise<Space> {
  const { bsize, blocks, bavail } = await statfs(dataDir);
  const freeBytes = bavail * bsize;
  const quota = await disk.room(serverId);
  if (quota === undefined) return { totalBytes: blocks * bsize, freeBytes };
  return { totalBytes: quota.totalBytes, freeBytes: Math.min(quota.freeBytes, freeBytes) };
}
