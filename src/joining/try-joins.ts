import { lookup } from 'node:dns/promises';
import { field, pingStatus } from '../../proxy/ping.ts';
import { blockListOf, isListed } from '../../proxy/limits.ts';
import { wordsOf } from '../../proxy/text.ts';
import { protocolOf } from '../game/protocols.ts';
import { hostAndPort } from '../kernel/address.ts';
import type { Clock } from '../kernel/clock.ts';
import type { OnClose } from '../kernel/closers.ts';
import { isEveryAddress } from '../kernel/ip.ts';
import type { Log } from '../kernel/log.ts';
import { StatusError } from '../kernel/status.ts';
import { withTimeout } from '../kernel/timeout.ts';
import { MINUTE_MS, SECOND_MS } from '../kernel/units.ts';
import { endpointOf } from '../servers/api/addresses.ts';
import type { Servers } from '../servers/servers.ts';
import { BOT_NAME, type LoginAnswer, logIn, reach } from './join-bot.ts';
import type { ProxySettings } from './link/child-process.ts';

/** The stages in order, each with the explanation of its failure if there is no answer. */
const NO_ANSWER = {
  'Name lookup': 'The name can’t be resolved from here. Friends see “Unknown host”. Check its DNS entry.',
  Connection: 'Nothing accepts connections there. Check the port, and whether the proxy runs.',
  'Server list': 'The address accepts connections, but sends no entry for the server list.',
  Login: 'The connection was closed without a message.',
  Wake: 'The connection was closed while the server was waking.',
  Join: 'The game closed the connection without a message.',
} as const;

type Stage = keyof typeof NO_ANSWER;

/** Resolves with an address of a host. Rejects if it has none. */
type Resolve = (name: string) => Promise<{ address: string }>;

/** A join by the service's own bot. */
export interface TryJoin {
  accountId: string;
  address: string;
  /** Whether it goes to the proxy on this machine, and not to the public address. */
  isLocal: boolean;
  /** The finished stages, with ms since the previous one. */
  stages: { name: Stage; ms: number; detail: string }[];
  /** The stage in progress, or the one that failed. */
  stage: Stage;
  /** The end. `warn`: players other than the bot may be able to join. Undefined: in progress. */
  result: { tone: 'good' | 'warn' | 'bad'; text: string } | undefined;
}

/** A server whose players are at `address`. */
interface Tried {
  id: string;
  accountId: string;
  addr: string;
  version: string;
}

/** The parts of `Shared` that a try uses. */
interface TryShared {
  servers: Servers;
  clock: Clock;
  log: Log;
  onClose: OnClose;
}

/** Limits a whole try. Most games start sooner. */
export const TRY_MS = 3 * MINUTE_MS;
const TOO_LONG = 'Not finished after 3 minutes. Players wait up to 15 minutes.';
const STAGE_MS = 10 * SECOND_MS;
export const KEPT_MS = 10 * MINUTE_MS;
const MOST_AT_ONCE = 5;
const MOST_PER_ACCOUNT = 2;
const LINE_UNITS = 200;
const LOOPBACK = '127.0.0.1';

/** Refusals that do not concern every player, by a word in their text. */
const ADVICE: readonly (readonly [pattern: RegExp, advice: string])[] = [
  [/white-?list/i, 'The whitelist keeps out strangers; a friend on it gets in.'],
  [/played here before/i, 'A friend who has played here gets in.'],
  [/banned/i, 'The ban is for the bot’s name or this machine’s address. Friends have others.'],
  [/server is full/i, 'A friend gets in once a player leaves.'],
  [/\bmods?\b|forge|fabric|quilt/i, 'The bot has no mods. A friend with the server’s mods may get in.'],
];

const RESULTS: Readonly<Record<Exclude<LoginAnswer['kind'], 'refused'>, { detail: string; text: string }>> = {
  in: { detail: 'the game lets the bot in', text: 'A friend can join right now.' },
  account: {
    detail: 'asked for a Microsoft account',
    text: 'The server asks for a Microsoft account, which the bot does not have. Friends with an account get in, unless the whitelist or a ban keeps them out.',
  },
};

const ONLY_VERIFIED =
  'Only players with a verified Microsoft account wake this server, and the bot has none. Everything before the wake works.';

/**
 * Joins servers with a bot, as a client would, to show their owners each stage of a join. One try at a time per server.
 * Results are kept in memory for 10 minutes.
 */
export class TryJoins {
  readonly #shared: TryShared;
  readonly #ownHost: string | undefined;
  readonly #playersPort: () => number;
  readonly #resolve: Resolve;
  readonly #tries = new Map<string, TryJoin>();
  readonly #closing = new AbortController();

  /** `playersPort`: a function, because the proxy may listen on any free port. */
  constructor(shared: TryShared, settings: ProxySettings, playersPort: () => number, resolve: Resolve = lookup) {
    this.#shared = shared;
    this.#ownHost = ownHost(settings);
    this.#playersPort = playersPort;
    this.#resolve = resolve;
    const unobserve = shared.servers.observe((id, now) => void (now ?? this.#tries.delete(id)));
    shared.onClose(() => {
      unobserve();
      this.#closing.abort();
    });
  }

  /** Returns the latest try of a server, if it is in progress or ended less than 10 minutes ago. */
  of(serverId: string): TryJoin | undefined {
    return this.#tries.get(serverId);
  }

  /**
   * Starts a try unless one is in progress. Returns a promise that resolves at its end. Throws FAILED_PRECONDITION
   * NO_PUBLIC_ADDRESS and RESOURCE_EXHAUSTED TOO_MANY_TRIES.
   */
  begin(server: Tried): Promise<void> {
    if (server.addr === '')
      throw new StatusError('FAILED_PRECONDITION', 'NO_PUBLIC_ADDRESS', 'This server has no public address.');
    const running = [...this.#tries].filter(([, { result }]) => result === undefined);
    if (running.some(([id]) => id === server.id)) return Promise.resolve();
    if (running.length >= MOST_AT_ONCE) throw tooMany();
    const isLocal = this.#ownHost !== undefined;
    const { accountId } = server;
    if (running.filter(([, each]) => each.accountId === accountId).length >= MOST_PER_ACCOUNT) throw tooMany();
    const attempt: TryJoin = {
      accountId,
      address: server.addr,
      isLocal,
      stages: [],
      stage: 'Name lookup',
      result: undefined,
    };
    this.#tries.set(server.id, attempt);
    return this.#run(attempt, server);
  }

  /** Never rejects. */
  async #run(attempt: TryJoin, { id, addr, version }: Tried): Promise<void> {
    const { servers, clock, log } = this.#shared;
    const over = new AbortController();
    const signal = AbortSignal.any([over.signal, this.#closing.signal]);
    let since = clock.now();
    const cancel = clock.at(since + TRY_MS, () => over.abort());
    const soon = <T>(work: Promise<T>) => withTimeout(work, STAGE_MS, { clock, signal });
    const done = (detail: string, next: Stage) => {
      const at = clock.now();
      attempt.stages.push({ name: attempt.stage, ms: at - since, detail });
      [since, attempt.stage] = [at, next];
    };
    const isUp = async () => (await servers.get(id))?.state === 'running';
    try {
      const { host, port } = endpointOf(addr);
      const isLocalName = /(?:^|\.)localhost$/.test(host);
      const ip = isLocalName ? LOOPBACK : (await soon(this.#resolve(host))).address;
      done(isLocalName ? 'a name that only this machine knows' : ip, 'Connection');
      const own = this.#ownHost;
      const dialed = own === undefined ? { host: ip, port } : { host: own, port: this.#playersPort() };
      (await soon(reach(dialed, signal))).destroy();
      done(attempt.isLocal ? 'the proxy on this machine' : hostAndPort(dialed), 'Server list');
      const asked = protocolOf(version) ?? undefined;
      const status = await soon(pingStatus(dialed, { host, timeoutMs: STAGE_MS, ...(asked && { protocol: asked }) }));
      const words = wordsOf(field(JSON.parse(status.raw), 'description'));
      done(`${status.versionName}: ${words}`.replaceAll(/\s+/g, ' ').slice(0, LINE_UNITS), 'Login');
      if (status.protocol <= 0) {
        attempt.result = { tone: 'bad', text: 'The server list has no version yet. Start the server once.' };
        return;
      }
      const wasUp = await isUp();
      const answered = logIn(await soon(reach(dialed, signal)), { host, port }, status.protocol);
      done(`as ${BOT_NAME}`, wasUp ? 'Join' : 'Wake');
      if (!wasUp) {
        await Promise.race([answered, servers.until(id, (now) => now?.state === 'running', signal)]);
        if (await isUp()) done('', 'Join');
      }
      const answer = await answered;
      if (answer.kind === 'account' && !(await isUp())) {
        attempt.result = { tone: 'warn', text: ONLY_VERIFIED };
        return;
      }
      if (answer.kind !== 'refused') done(RESULTS[answer.kind].detail, 'Join');
      attempt.result = resultOf(answer);
    } catch (err) {
      attempt.result = { tone: 'bad', text: over.signal.aborted ? TOO_LONG : NO_ANSWER[attempt.stage] };
      log.debug({ server: id, stage: attempt.stage, err }, 'the try of a join ended early');
    } finally {
      cancel();
      over.abort();
      clock.at(clock.now() + KEPT_MS, () => this.#tries.get(id) === attempt && this.#tries.delete(id));
    }
  }
}

function tooMany(): StatusError {
  return new StatusError('RESOURCE_EXHAUSTED', 'TOO_MANY_TRIES', 'Too many tries at once. Try again in a minute.');
}

function resultOf(answer: LoginAnswer): NonNullable<TryJoin['result']> {
  if (answer.kind !== 'refused') return { tone: 'good', text: RESULTS[answer.kind].text };
  const advice = ADVICE.find(([pattern]) => pattern.test(answer.text))?.[1];
  const text = `The bot was refused: “${answer.text}”${advice === undefined ? '' : ` ${advice}`}`;
  return { tone: advice === undefined ? 'bad' : 'warn', text };
}

/**
 * Returns the host at which this machine reaches its own proxy; undefined if proxies run elsewhere, or if the proxy
 * would take this machine for a load balancer or a proxy in front.
 */
function ownHost({ proxy, proxyHost, proxyProtocolFrom, forwardingFrom }: ProxySettings): string | undefined {
  const host = isEveryAddress(proxyHost) ? LOOPBACK : proxyHost;
  const isTrusted = isListed(blockListOf([...proxyProtocolFrom, ...forwardingFrom]), host);
  return proxy === 'external' || isTrusted ? undefined : host;
}
