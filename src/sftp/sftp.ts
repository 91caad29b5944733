import { createHash } from 'node:crypto';
import { statfs } from 'node:fs/promises';
import { type AddressInfo, BlockList, type Socket, createServer } from 'node:net';
import { join } from 'node:path';
import ssh2 from 'ssh2';
import { listenAt } from '../../proxy/listen.ts';
import type { Files } from '../files/files.ts';
import { clientAddress } from '../http/client-address.ts';
import type { Disk } from '../jail/space.ts';
import { readIfThere, writeAtomic } from '../kernel/atomic-file.ts';
import type { Clock } from '../kernel/clock.ts';
import { addressKey, isListed, networkOf } from '../kernel/ip.ts';
import { type ClientCount, createClientCount } from '../kernel/limits/client-count.ts';
import { createPlaces } from '../kernel/limits/places.ts';
import type { RateLimiter } from '../kernel/limits/rate-limiter.ts';
import { backoff, createSlidingLog } from '../kernel/limits/sliding-log.ts';
import type { Log } from '../kernel/log.ts';
import { StatusError } from '../kernel/status.ts';
import type { Store } from '../store/store.ts';
import { Commands, createHandles } from './commands.ts';
import { Connection, type Serve } from './connection.ts';
import { type Penalties, SFTP_LIMITS, type SftpLimits, createPenalties } from './limits.ts';
import type { Space } from './replies.ts';
import type { Request } from './requests.ts';
import { createOutbox, serveSftpSession } from './sftp-session.ts';
import { createSignIn } from './sign-in.ts';
import { touchSshKey } from './ssh-keys.ts';

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

/** The service's host key. */
interface HostKey {
  /** In OpenSSH's format. Secret. */
  privateKey: string;
  /** `SHA256:…`, as clients show it for comparison. */
  fingerprint: string;
}

/** Servers' files over SFTP, whether the servers are awake or asleep. */
export class Sftp {
  /** The host key's fingerprint, `SHA256:…`. */
  readonly fingerprint: string;
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #dataDir: string;
  readonly #files: Files;
  readonly #disk: Disk;
  readonly #trusted: BlockList;
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

  /** `trusted`: load balancers, whose addresses are not limited because all clients come from them. */
  constructor(
    { store, clock, log, dataDir }: { store: Store; clock: Clock; log: Log; dataDir: string },
    hostKey: HostKey,
    files: Files,
    disk: Disk,
    trusted: BlockList = NO_PROXY,
    limits: SftpLimits = SFTP_LIMITS,
  ) {
    this.fingerprint = hostKey.fingerprint;
    this.#store = store;
    this.#clock = clock;
    this.#log = log;
    this.#dataDir = dataDir;
    this.#files = files;
    this.#disk = disk;
    this.#trusted = trusted;
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
    const answering = createSignIn(store, clock, limits);
    this.#ssh = new ssh2.Server(
      { hostKeys: [hostKey.privateKey], ident: 'Dormouse', algorithms: ALGORITHMS, keepaliveInterval: NEVER_MS },
      (client, { ip, port }) => {
        const connection = this.#connections.get(`${ip} ${port}`);
        connection?.greet(client, answering(connection));
      },
    );
  }

  /** Begins to accept clients and resolves with its address. Rejects if the port cannot be opened. */
  listen(host: string, port: number): Promise<AddressInfo> {
    return listenAt(this.#listener, { host, port });
  }

  /** The port it listens on; 0 while closed. */
  get port(): number {
    return (this.#listener.address() as AddressInfo | null)?.port ?? 0;
  }

  /** Connections signed in to a server. */
  sessions(serverId: string): number {
    return this.#connectionsTo(serverId).filter(({ signedIn }) => signedIn).length;
  }

  /** Refuses sign-ins from now on to servers for which `isShut` returns true. */
  keepShut(isShut: (serverId: string) => boolean): void {
    this.#shut.push(isShut);
  }

  /** Ends all connections opened with a public key. Resolves once their requests have ended. */
  async cutKey(keyId: string): Promise<void> {
    const opened = [...this.#connections.values()].filter((each) => each.keyId === keyId);
    await Promise.all(opened.map((each) => each.end()));
  }

  /** Ends all connections to a server. Resolves once their requests have ended. */
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
    const [store, clock, log, limits] = [this.#store, this.#clock, this.#log, this.#limits];
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
    const connection = new Connection(socket, address, clock, log, limits, admit, this.#serve);
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

  readonly #serve: Serve = async (serverId, channel, { socket, signal, onRequest }) => {
    const [limits, disk] = [this.#limits, this.#disk];
    await using jail = await this.#files.jail(serverId);
    const handles = createHandles(limits.handles, this.#handlesOfAll);
    const space = () => spaceOf(this.#dataDir, disk, serverId);
    const commands = new Commands(jail, handles, limits.handles, disk, serverId, space, this.#clock);
    const send = createOutbox(channel, socket, signal, limits.waitingBytes);
    try {
      const perform = (request: Request) => commands.perform(request);
      await serveSftpSession(channel, send, perform, { onRequest, signal }, this.#log.child({ server: serverId }));
    } finally {
      await handles.closeAll();
    }
  };

  #isShared(address: string): boolean {
    return isListed(this.#trusted, address);
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

const HOST_KEY_FILE = 'ssh_host_ed25519_key';

/**
 * Reads the host key in the data directory, or creates one. Clients remember it and warn when it changes, so an
 * unreadable key stops the start: FAILED_PRECONDITION HOST_KEY_INVALID.
 */
export async function openHostKey(dataDir: string): Promise<HostKey> {
  const path = join(dataDir, HOST_KEY_FILE);
  const privateKey = (await readIfThere(path))?.toString() ?? (await createHostKey(path));
  const publicKey = publicKeyOf(privateKey);
  if (!publicKey) {
    const message = `${path} is not an Ed25519 private key. Restore it, or remove it to create a new one.`;
    throw new StatusError('FAILED_PRECONDITION', 'HOST_KEY_INVALID', message);
  }
  const digest = createHash('sha256').update(publicKey).digest('base64');
  return { privateKey, fingerprint: `SHA256:${digest.replaceAll('=', '')}` };
}

function publicKeyOf(privateKey: string): Buffer | undefined {
  const key = ssh2.utils.parseKey(privateKey);
  return key instanceof Error || key.type !== 'ssh-ed25519' || !key.isPrivateKey() ? undefined : key.getPublicSSH();
}

async function createHostKey(path: string): Promise<string> {
  let privateKey: string;
  // One in 256 of the library's keys is invalid: it drops a leading zero byte.
  do privateKey = ssh2.utils.generateKeyPairSync('ed25519', { comment: 'dormouse' }).private;
  while (!publicKeyOf(privateKey));
  await writeAtomic(path, privateKey, { durable: true });
  return privateKey;
}
