import { DEFAULT_MAX_PLAYERS, DEFAULT_MOTD } from '../game/properties/properties.ts';
import { iconOf } from '../game/status-icon.ts';
import { createRateLimit } from '../http/rate-limit.ts';
import { createCache } from '../kernel/cache.ts';
import type { Clock } from '../kernel/clock.ts';
import { addressKey } from '../kernel/ip.ts';
import { StatusError } from '../kernel/status.ts';
import type { Addresses } from '../servers/api/addresses.ts';
import type { ServerNow } from '../servers/server-now.ts';
import type { Servers } from '../servers/servers.ts';
import type { ServerBlocks } from '../servers/server-blocks.ts';
import type { PublicStatuses } from './public-statuses.ts';
import type { WakePolicies, WakePolicy } from './wake-policies.ts';

/** A server as strangers can see it. Contains no ids, except for the slug of the request. */
export interface PublicServer {
  slug: string;
  name: string;
  state: string;
  version: string;
  /** Undefined without a live reading. */
  playersOnline: number | undefined;
  playersMax: number;
  /** As the owner wrote it: plain, `§` codes or MiniMessage. */
  motd: string;
  /** The owner's maintenance text; '' without one. */
  maintenance: string;
  /** Obstacle besides its state: `suspended`, `node_lost` or `no_room`; '' without one. */
  standing: string;
  /** The mode of its WakePolicy. */
  wakeMode: WakePolicy['mode'];
  /** '' unless the owner shows the address. */
  address: string;
  /** The server list's icon as PNG; undefined without one. */
  icon: Buffer | undefined;
}

/** Returns the public status of servers whose owners allow it. Wakes no server and queries no game. */
export interface PublicStatusReader {
  /**
   * Throws RATE_LIMITED for an address with too many requests, and NOT_FOUND STATUS_NOT_FOUND without a public status.
   */
  statusOf(slug: string, address: string): Promise<PublicServer>;
}

/** Longest age of a cached answer. */
const KEPT_MS = 3_000;
const MOST_KEPT = 10_000;
/** Limit per address (IPv6: per /64). */
const RATE = { perSecond: 5, burst: 60 };

export interface PublicStatusDeps {
  blocks: ServerBlocks;
  publicStatuses: PublicStatuses;
  wakePolicies: WakePolicies;
  servers: Servers;
  addresses: Addresses;
  clock: Clock;
}

export function createPublicStatusReader(deps: PublicStatusDeps): PublicStatusReader {
  const { publicStatuses, servers, clock } = deps;
  const limit = createRateLimit(RATE, clock, 'address');
  /** Answers by slug. Only public statuses are cached. */
  const answers = createCache<PublicServer | undefined>({ most: MOST_KEPT, ttlMs: (server) => (server ? KEPT_MS : 0) });

  async function read(slug: string, id: string): Promise<PublicServer | undefined> {
    const now = await servers.get(id);
    return now && publicServer(slug, now, deps);
  }

  return {
    async statusOf(slug, address) {
      limit(addressKey(address));
      const id = publicStatuses.find(slug);
      if (id === undefined) {
        answers.drop(slug);
        throw notFound();
      }
      const server = await answers.get(slug, clock.now(), () => read(slug, id));
      if (!server) throw notFound();
      // Read outside the cache, so that hiding the address works at once.
      return publicStatuses.of(id).showAddress ? server : { ...server, address: '' };
    },
  };
}

function notFound(): StatusError {
  return new StatusError('NOT_FOUND', 'STATUS_NOT_FOUND', 'This public status page does not exist.');
}

function publicServer(slug: string, now: ServerNow, deps: PublicStatusDeps): PublicServer {
  const { row, state, context } = now;
  const policy = deps.wakePolicies.of(row.id);
  return {
    slug,
    name: row.name,
    state,
    version: row.version,
    playersOnline: state === 'running' ? (context.live.players ?? undefined) : 0,
    playersMax: Number(row.properties['max-players']) || DEFAULT_MAX_PLAYERS,
    motd: row.motd || DEFAULT_MOTD,
    maintenance: policy.maintenanceText,
    standing: deps.blocks.of(row.id, now)?.code ?? '',
    wakeMode: policy.mode,
    address: deps.addresses.of(row),
    icon: iconOf(row.lastStatus),
  };
}
