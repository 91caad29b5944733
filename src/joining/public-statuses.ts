import { randomInt } from 'node:crypto';
import { slugify } from '../kernel/ids.ts';
import type { Store, Tx } from '../store/store.ts';
import { type PublicStatusRow, getPublicStatus, listPublicStatuses, savePublicStatus } from './rows.ts';

/** A server's public status and its slug. */
export type PublicStatus = Omit<PublicStatusRow, 'serverId'>;

/** The public statuses of all servers, held in memory so that requests need no query. */
export interface PublicStatuses {
  of(serverId: string): PublicStatus;
  /** Returns the server of a slug; undefined if it is unknown or switched off. */
  find(slug: string): string | undefined;
  /**
   * Stores the setting. When first enabled, creates a slug from the server's name and about 50 random bits: readable,
   * but not guessable. `also` runs in the same write.
   */
  set(
    server: { id: string; name: string },
    setting: Pick<PublicStatus, 'enabled' | 'showAddress'>,
    also: (tx: Tx) => Promise<void>,
  ): Promise<void>;
  /** Forgets a deleted server, whose row is already gone. */
  forget(serverId: string): void;
}

const UNSET: PublicStatus = Object.freeze({ slug: null, enabled: false, showAddress: false });
/** Excludes characters that are easily confused: i, l, o, 0, 1. */
const ALPHABET = 'abcdefghjkmnpqrstuvwxyz23456789';
const RANDOM_LENGTH = 10;
const NAME_LENGTH = 24;

export async function openPublicStatuses(store: Store): Promise<PublicStatuses> {
  const statuses = new Map<string, PublicStatusRow>();
  const servers = new Map<string, string>();
  const keep = (row: PublicStatusRow): void => {
    statuses.set(row.serverId, row);
    if (row.slug !== null) servers.set(row.slug, row.serverId);
  };
  for (const row of await listPublicStatuses(store)) keep(row);

  return {
    of: (serverId) => statuses.get(serverId) ?? UNSET,
    find(slug) {
      const serverId = servers.get(slug);
      return serverId !== undefined && statuses.get(serverId)?.enabled === true ? serverId : undefined;
    },
    async set({ id, name }, { enabled, showAddress }, also) {
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
    forget(serverId) {
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
