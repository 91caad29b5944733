import { createHash, createHmac, randomBytes } from 'node:crypto';
import { type RemoteInfo, type Socket, createSocket } from 'node:dgram';
import { once } from 'node:events';
import { isIPv6 } from 'node:net';
import { Limiter, plainAddress } from '../../proxy/limits.ts';
import { JoinRefused } from '../../proxy/ports.ts';
import { DEFAULT_LIMITS } from '../../proxy/settings.ts';
import { bindUdp } from '../engines/process/port-forwarder.ts';
import type { Address } from '../kernel/address.ts';
import { every } from '../kernel/every.ts';
import { sleep } from '../kernel/sleep.ts';
import { MINUTE_MS } from '../kernel/units.ts';
import type { BedrockJoins } from '../joining/routing.ts';
import type { ServerNow } from '../servers/server-now.ts';
import type { Shared } from '../servers/shared.ts';
import type { ServerPorts } from './ports.ts';
import { ping, pong, readOffline, readPong, reply1 } from './raknet.ts';

/** Delay before a port that the ended game still occupies is tried again. */
const BIND_AGAIN_MS = 2_000;
/** A cookie is valid for one to two of these periods. */
const COOKIE_MS = 10_000;
/** A refusal is shown in server lists for this long. */
const REFUSED_MS = 30_000;
/** A running game is asked for its Bedrock version this often, until it answers. */
const ASK_MS = 10_000;
const MOST_ASKED = 12;
const ANSWER_MS = 2_000;
/** Shown until the server's own game has answered once. */
const UNKNOWN_VERSION = { protocol: 860, version: '1.21.124' };

/** A port on which a sleeping server can be woken. The socket is missing while another program occupies the port. */
interface Listener {
  /** 8 bytes that identify the server to server lists. They stay the same. */
  guid: Buffer;
  ended: AbortController;
  socket?: Socket;
  /** The last refusal, for the address that was refused. */
  refusal?: { ip: string; line: string; until: number };
  isWaking: boolean;
}

/**
 * Wakes sleeping servers for players of the Bedrock edition. While a server sleeps, this listens on its port that wakes,
 * answers pings from server lists, and wakes the server once a client has proved its address. It releases the port
 * before the game starts: Geyser then answers on it. Memory: about 3 KB for each sleeping server with such a port.
 *
 * The service listens rather than the proxy, because it ends the listener in the step that starts the game. A proxy in
 * another process or on another machine would have to confirm that first, and could not listen at the game's address.
 */
export function openBedrockWakes(
  { servers, clock, log, onClose }: Shared,
  serverPorts: ServerPorts,
  joins: BedrockJoins,
): void {
  const limiter = new Limiter(DEFAULT_LIMITS, () => clock.now());
  const key = randomBytes(32);
  const listeners = new Map<string, Listener>();
  const questions = new Map<string, AbortController>();

  /** The ports that wake. Every step of every server is looked up here. */
  const ports = new Map<string, ReturnType<ServerPorts['waking']>>();

  function cookieOf({ address, port }: RemoteInfo, period: number): number {
    return createHmac('sha256', key).update(`${address} ${port} ${period}`).digest().readUInt32BE();
  }

  function statusOf(id: string, { refusal }: Listener, ip: string) {
    const port = ports.get(id);
    const shown = joins.shown(id);
    if (port === undefined || shown === undefined) return undefined;
    const [name = '', state = ''] = shown.lines;
    const isTheirs = refusal !== undefined && refusal.ip === ip && refusal.until > clock.now();
    const line = isTheirs ? refusal.line : state;
    const { bedrockProtocol: protocol, bedrockVersion } = port;
    const version = protocol === 0 ? UNKNOWN_VERSION : { protocol, version: bedrockVersion };
    return { lines: [name, line] as const, ...version, maxPlayers: shown.maxPlayers, port: port.hostPort };
  }

  function answer(id: string, listener: Listener, datagram: Buffer, from: RemoteInfo): Buffer | undefined {
    const message = readOffline(datagram);
    // A datagram from port 0, which only a raw socket sends, cannot be answered.
    if (message === undefined || from.port === 0) return undefined;
    const ip = plainAddress(from.address);
    if (!limiter.status(ip)) return undefined;
    const period = Math.floor(clock.now() / COOKIE_MS);
    switch (message.type) {
      case 'ping': {
        const status = statusOf(id, listener, ip);
        return status && pong(message.time, listener.guid, status);
      }
      case 'request1':
        return reply1(listener.guid, cookieOf(from, period), message.mtu);
      case 'request2':
        if ([period, period - 1].some((each) => cookieOf(from, each) === message.cookie)) void wake(id, listener, ip);
        // No answer: the client repeats its requests until the game answers them.
        return undefined;
      default:
        return message satisfies never;
    }
  }

  async function wake(id: string, listener: Listener, ip: string): Promise<void> {
    if (listener.isWaking || !limiter.login(ip)) return;
    listener.isWaking = true;
    try {
      await joins.wake(id, ip);
    } catch (error) {
      if (!(error instanceof JoinRefused))
        log.warn({ server: id, err: error }, 'a Bedrock player could not wake a server');
      const text = error instanceof JoinRefused ? error.text : 'Try again in a moment.';
      listener.refusal = { ip, line: text.split('\n', 1)[0]!, until: clock.now() + REFUSED_MS };
    } finally {
      listener.isWaking = false;
    }
  }

  async function listen(id: string, port: number, listener: Listener): Promise<void> {
    const { signal } = listener.ended;
    for (; !signal.aborted; await sleep(clock, BIND_AGAIN_MS, signal)) {
      const socket = await bindUdp(port).catch(() => undefined);
      if (socket === undefined) continue;
      if (signal.aborted) return void socket.close();
      listener.socket = socket.unref();
      socket.on('error', (err) => log.debug({ server: id, err }, 'the listener for Bedrock players failed'));
      socket.on('message', (datagram, from) => {
        const reply = answer(id, listener, datagram, from);
        if (reply) socket.send(reply, from.port, from.address, () => {});
      });
      return;
    }
  }

  function release(id: string): void {
    const listener = listeners.get(id);
    listeners.delete(id);
    listener?.ended.abort();
    listener?.socket?.close();
  }

  /** Listens if the server sleeps and has a port that wakes, and releases the port otherwise. */
  function check(id: string, now: ServerNow | null): void {
    if (now === null) ports.delete(id);
    const port = ports.get(id);
    const rests = now?.state === 'hibernated' || now?.state === 'start_failed';
    if (port === undefined || !rests) release(id);
    else if (!listeners.has(id)) {
      const guid = createHash('sha256').update(id).digest().subarray(0, 8);
      const listener: Listener = { guid, ended: new AbortController(), isWaking: false };
      listeners.set(id, listener);
      listen(id, port.hostPort, listener).catch(() => {});
    }
    const address = now?.state === 'running' ? now.context.address : null;
    if (port === undefined || address === null) return stopAsking(id);
    if (!questions.has(id)) ask(id, { host: address.host, port: port.containerPort }).catch(() => {});
  }

  function stopAsking(id: string): void {
    questions.get(id)?.abort();
    questions.delete(id);
  }

  /** Stores the Bedrock version of a running game, for server lists while it sleeps. */
  async function ask(id: string, game: Address): Promise<void> {
    const asking = new AbortController();
    questions.set(id, asking);
    for (let asked = 0; asked < MOST_ASKED; asked++) {
      await sleep(clock, ASK_MS, asking.signal);
      const found = await versionAt(game, AbortSignal.timeout(ANSWER_MS));
      if (found !== undefined) return serverPorts.noteBedrock(id, found);
    }
  }

  /** Checks a server after a change of its ports. */
  async function changed(id: string): Promise<void> {
    const port = serverPorts.waking(id);
    if (port === undefined) ports.delete(id);
    else ports.set(id, port);
    release(id);
    check(id, (await servers.get(id)) ?? null);
  }

  const unobserve = servers.observe(check);
  const unfollow = serverPorts.follow((id) => void changed(id).catch((err: unknown) => failed(id, err)));
  const failed = (id: string, err: unknown) => log.warn({ server: id, err }, 'could not listen for Bedrock players');
  for (const id of serverPorts.wakers()) changed(id).catch((err: unknown) => failed(id, err));
  const unsweep = every(clock, MINUTE_MS, () => limiter.sweep());
  onClose(() => {
    for (const end of [unobserve, unfollow, unsweep]) end();
    for (const id of listeners.keys()) release(id);
    for (const id of questions.keys()) stopAsking(id);
  });
}

/** Resolves with the Bedrock version of the game at an address; undefined without an answer. Never rejects. */
async function versionAt({ host, port }: Address, signal: AbortSignal) {
  const socket = createSocket(isIPv6(host) ? 'udp6' : 'udp4');
  try {
    const answered = once(socket, 'message', { signal });
    socket.send(ping(), port, host);
    const [datagram] = (await answered) as [Buffer];
    return readPong(datagram);
  } catch {
    return undefined;
  } finally {
    socket.close();
  }
}
