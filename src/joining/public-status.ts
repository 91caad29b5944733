import { randomInt } from 'node:crypto';
import { DEFAULT_MAX_PLAYERS, DEFAULT_MOTD } from '../game/properties/properties.ts';
import { iconOf } from '../game/status-icon.ts';
import { createRateLimit } from '../http/rate-limit.ts';
import { createCache } from '../kernel/cache.ts';
import type { Clock } from '../kernel/clock.ts';
import { slugify } from '../kernel/ids.ts';
import { addressKey } from '../kernel/ip.ts';
import { StatusError } from '../kernel/status.ts';
import type { Addresses } from '../servers/api/addresses.ts';
import type { ServerBlocks } from '../servers/server-now.ts';
import type { Servers } from '../servers/servers.ts';
import type { Store, Tx } from '../store/store.ts';
import { type PublicStatusRow, getPublicStatus, listPublicStatuses, savePublicStatus } from './rows.ts';
import type { WakePolicies, WakePolicy } from './join-policy.ts';

/** A server's public status and its slug. */
type PublicStatus = Omit<PublicStatusRow, 'serverId'>;

export type PublicStatuses = Awaited<ReturnType<typeof openPublicStatuses>>;

const UNSET: PublicStatus = Object.freeze({ slug: null, enabled: false, showAddress: false });
/** Excludes characters that are easily confused: i, l, o, 0, 1. */
const ALPHABET = 'abcdefghjkmnpqrstuvwxyz23456789';
const RANDOM_LENGTH = 10;
const NAME_LENGTH = 24;

/** Opens the public statuses of all servers, held in memory so that requests need no query. */
export async function openPublicStatuses(store: Store) {
  const statuses = new Map<string, PublicStatusRow>();
  const servers = new Map<string, string>();
  const keep = (row: PublicStatusRow): void => {
    statuses.set(row.serverId, row);
    if (row.slug !== null) servers.set(row.slug, row.serverId);
  };
  for (const row of await listPublicStatuses(store)) keep(row);

  return {
    of: (serverId: string) => statuses.get(serverId) ?? UNSET,
    /** Returns the server of a slug; undefined if it is unknown or switched off. */
    find(slug: string): string | undefined {
      const serverId = servers.get(slug);
      return serverId !== undefined && statuses.get(serverId)?.enabled === true ? serverId : undefined;
    },
    /**
     * Stores the setting. When first enabled, creates a slug from the server's name and about 50 random bits: readable,
     * but not guessable. `also` runs in the same write.
     */
    async set(
      { id, name }: { id: string; name: string },
      { enabled, showAddress }: { enabled: boolean; showAddress: boolean },
      also: (tx: Tx) => Promise<void>,
    ): Promise<void> {
      const row = await store.write(async (tx) => {
        const known = await getPublicStatus(tx, id);
        const slug = known?.slug ?? (enabled ? mintSlug(name) : null);
        const wanted = { serverId: id, slug, enabled, showAddress };
        await savePublicStatus(tx, wanted);
        await also(tx);
        return wanted;
      });
      keep(row);
    },
    /** Forgets a deleted server, whose row is already gone. */
    forget(serverId: string): void {
      servers.delete(statuses.get(serverId)?.slug ?? '');
      statuses.delete(serverId);
    },
  };
}

function mintSlug(name: string): string {
  const random = Array.from({ length: RANDOM_LENGTH }, () => ALPHABET.charAt(randomInt(ALPHABET.length))).join('');
  const readable = slugify(name).slice(0, NAME_LENGTH).replace(/-$/, '');
  return readable === '' ? random : `${readable}-${random}`;
}

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

/** Limits requests per address. Reads are cached for a few seconds. */
export function createPublicStatusReader({
  publicStatuses,
  wakePolicies,
  servers,
  blocks,
  addresses,
  clock,
}: {
  publicStatuses: PublicStatuses;
  wakePolicies: WakePolicies;
  servers: Servers;
  blocks: ServerBlocks;
  addresses: Addresses;
  clock: Clock;
}): PublicStatusReader {
  const limit = createRateLimit(RATE, clock, 'address');
  /** Answers by slug. Only public statuses are cached. */
  const answers = createCache<PublicServer | undefined>({ most: MOST_KEPT, ttlMs: (server) => (server ? KEPT_MS : 0) });

  async function read(slug: string, id: string): Promise<PublicServer | undefined> {
    const now = await servers.get(id);
    if (now === undefined) return undefined;
    const { row, state, context } = now;
    const policy = wakePolicies.of(id);
    return {
      slug,
      name: row.name,
      state,
      version: row.version,
      playersOnline: state === 'running' ? (context.live.players ?? undefined) : 0,
      playersMax: Number(row.properties['max-players']) || DEFAULT_MAX_PLAYERS,
      motd: row.motd || DEFAULT_MOTD,
      maintenance: policy.maintenanceText,
      standing: blocks.of(id, now)?.code ?? '',
      wakeMode: policy.mode,
      address: addresses.of(row),
      icon: iconOf(row.lastStatus),
    };
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
