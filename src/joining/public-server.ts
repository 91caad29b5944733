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
import type { Standing } from '../servers/standing.ts';
import type { PublicStatuses } from './public-statuses.ts';
import type { WakePolicies, WakePolicy } from './wake-policies.ts';

/** A server as strangers may see it. Nothing in here is an id, but for the slug they asked by. */
export interface PublicServer {
  slug: string;
  name: string;
  state: string;
  version: string;
  /** Undefined without a live reading. */
  playersOnline: number | undefined;
  playersMax: number;
  /** As its owner wrote it: plain, `§` codes or MiniMessage. */
  motd: string;
  /** The owner's text while they work on it; otherwise ''. */
  maintenance: string;
  /** Obstacle beside its state: `suspended`, `node_lost` or `no_room`; '' without one. */
  standing: string;
  /** The mode of its WakePolicy. */
  wakeMode: WakePolicy['mode'];
  /** '' unless the owner shows it. */
  address: string;
  /** The icon of the server list as PNG; undefined for none. */
  icon: Buffer | undefined;
}

/** Reads the public status of servers whose owners allow it, for strangers. It wakes nothing, and asks no game. */
export interface PublicStatusReader {
  /** Throws RATE_LIMITED for an address that asks too much, then NOT_FOUND STATUS_NOT_FOUND, whatever the reason. */
  look(slug: string, address: string): Promise<PublicServer>;
}

/** How old an answer may be. */
const KEPT_MS = 3_000;
const MOST_KEPT = 10_000;
/** For one address (IPv6: one /64). */
const RATE = { perSecond: 5, burst: 60 };

export interface PublicStatusDeps {
  standing: Pick<Standing, 'of'>;
  publicStatuses: PublicStatuses;
  wakePolicies: WakePolicies;
  servers: Servers;
  addresses: Pick<Addresses, 'of'>;
  clock: Clock;
}

export function createPublicStatusReader(deps: PublicStatusDeps): PublicStatusReader {
  const { publicStatuses, servers, clock } = deps;
  const limit = createRateLimit(RATE, clock, 'address');
  /** By slug; only of statuses that are shown. */
  const answers = createCache<PublicServer | undefined>({ most: MOST_KEPT, ttlMs: (server) => (server ? KEPT_MS : 0) });

  async function read(slug: string, id: string): Promise<PublicServer | undefined> {
    const now = await servers.get(id);
    return now && publicServer(slug, now, deps);
  }

  return {
    async look(slug, address) {
      limit(addressKey(address));
      const id = publicStatuses.find(slug);
      if (id === undefined) {
        answers.drop(slug);
        throw notFound();
      }
      const server = await answers.get(slug, clock.now(), () => read(slug, id));
      if (!server) throw notFound();
      // Read anew, not from the cache: an owner who hides the address hides it at once.
      return publicStatuses.of(id).showAddress ? server : { ...server, address: '' };
    },
  };
}

function notFound(): StatusError {
  return new StatusError('NOT_FOUND', 'STATUS_NOT_FOUND', 'There is no public status here.');
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
    standing: deps.standing.of(row.id, now)?.code ?? '',
    wakeMode: policy.mode,
    address: deps.addresses.of(row),
    icon: iconOf(row.lastStatus),
  };
}
