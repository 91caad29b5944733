import * as z from 'zod';
import { retryAfterMs } from '../kernel/registry/ask.ts';
import type { Profile } from '../engines/console/profile.ts';
import type { Profiles } from '../game/players/minecraft-accounts.ts';
import { createCache } from '../kernel/cache.ts';
import type { Clock } from '../kernel/clock.ts';
import { askOnce } from '../kernel/registry/http.ts';
import { StatusError } from '../kernel/status.ts';
import { HOUR_MS, MINUTE_MS } from '../kernel/units.ts';

const FRESH_MS = HOUR_MS;
/** How long an unknown name is cached; it may be taken at any time. */
const UNKNOWN_FRESH_MS = MINUTE_MS;
const MOST_KNOWN = 4_096;
/** Limit of concurrent requests by all callers. */
const MOST_ASKED = 16;
const FETCH_MS = 5_000;
const MAX_BYTES = 16_384;
/** Delay after a rate limit without `Retry-After`. The API allows 600 requests per ten minutes. */
const BUSY_MS = MINUTE_MS;

/** The fields read from an answer (https://minecraft.wiki/w/Mojang_API#Query_player's_UUID). */
const Answer = z.object({ id: z.string().regex(/^[0-9a-f]{32}$/), name: z.string().regex(/^[A-Za-z0-9_]{1,16}$/) });

/**
 * Creates a lookup of Mojang accounts by name, at Mojang's API or a mirror. Each name is requested once at a time and
 * cached for an hour.
 */
export function createMojangProfiles(apiUrl: string, clock: Clock, fetch = globalThis.fetch): Profiles {
  const ttlMs = (profile: Profile | undefined) => (profile ? FRESH_MS : UNKNOWN_FRESH_MS);
  const profiles = createCache({ most: MOST_KNOWN, ttlMs });
  let busyUntil = -Infinity;

  async function ask(name: string): Promise<Profile | undefined> {
    const url = `${apiUrl.replace(/(?<!\/)\/+$/, '')}/users/profiles/minecraft/${encodeURIComponent(name)}`;
    const { response, said } = await askOnce(url, Answer, { withinMs: FETCH_MS, maxBytes: MAX_BYTES, fetch });
    if (said) return profileIn(said);
    if (response.status === 204 || response.status === 404) return undefined;
    if (response.status === 429) busyUntil = clock.now() + (retryAfterMs(response.headers) || BUSY_MS);
    throw new Error(`accounts: HTTP ${response.status}`);
  }

  async function find(name: string): Promise<Profile | undefined> {
    const busyMs = busyUntil - clock.now();
    if (busyMs > 0 || profiles.inFlight() >= MOST_ASKED) throw unavailable(busyMs);
    try {
      return await ask(name);
    } catch (error) {
      throw unavailable(busyUntil - clock.now(), error);
    }
  }

  return { find: (name) => profiles.get(name.toLowerCase(), clock.now(), () => find(name)) };
}

function profileIn({ id, name }: z.output<typeof Answer>): Profile {
  return { name, uuid: id.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5') };
}

function unavailable(busyMs: number, cause?: unknown): StatusError {
  return new StatusError(
    'UNAVAILABLE',
    'ACCOUNTS_UNAVAILABLE',
    'Minecraft accounts cannot be looked up right now. Nothing was changed. Try again.',
    { retryAfterSeconds: Math.max(5, Math.ceil(busyMs / 1_000)), cause },
  );
}
