import * as z from 'zod';
import type { Clock } from '../../kernel/clock.ts';
import { askOnce } from '../../kernel/registry/http.ts';
import { HOUR_MS, MIB } from '../../kernel/units.ts';
import type { Catalogue } from './catalogue.ts';

interface Listing {
  versions: string[];
  latest: string;
}

const FRESH_MS = HOUR_MS;
/** Delay after a failure. */
const RETRY_MS = 300_000;
const FETCH_MS = 5_000;
const MAX_BYTES = 5 * MIB;

/** The fields used of the manifest (https://minecraft.wiki/w/Version_manifest.json). */
const Manifest = z.object({
  latest: z.object({ release: z.string().max(64) }),
  versions: z.array(
    z.object({ id: z.string().max(64), type: z.string(), releaseTime: z.iso.datetime({ offset: true }) }),
  ),
});

/**
 * Creates the catalogue of published Minecraft releases. It is requested at most once an hour, one request at a time;
 * otherwise the last answer or the embedded list is used. Only the first call waits for an answer, up to the timeout of
 * one request. Never rejects.
 */
export function createCatalogue({
  manifestUrl,
  embedded,
  clock,
  fetch = globalThis.fetch,
}: {
  /** Mojang's version manifest v2 or a mirror; '' disables requests. */
  manifestUrl: string;
  /** Used if the manifest is unavailable; newest first. */
  embedded: readonly string[];
  clock: Clock;
  fetch?: typeof globalThis.fetch;
}): Catalogue {
  let listing: Listing = { versions: [...embedded], latest: embedded[0] ?? '' };
  let staleAt = manifestUrl === '' ? Infinity : -Infinity;
  let asking: Promise<void> | undefined;

  async function ask(): Promise<void> {
    try {
      listing = await readManifest(fetch, manifestUrl);
      staleAt = clock.now() + FRESH_MS;
    } catch {
      staleAt = clock.now() + RETRY_MS;
    } finally {
      asking = undefined;
    }
  }

  return {
    async versions() {
      if (clock.now() >= staleAt) {
        asking ??= ask();
        // Later calls use the last answer until the new one arrives.
        if (staleAt === -Infinity) await asking;
      }
      return { versions: [...listing.versions], latest: listing.latest };
    },
  };
}

async function readManifest(fetch: typeof globalThis.fetch, url: string): Promise<Listing> {
  const { response, said } = await askOnce(url, Manifest, { withinMs: FETCH_MS, maxBytes: MAX_BYTES, fetch });
  if (!said) throw new Error(`the version manifest answered ${response.status}`);
  const { latest, versions } = said;
  const releases = versions
    .filter(({ type }) => type === 'release')
    .map(({ id, releaseTime }) => ({ id, at: Date.parse(releaseTime) }))
    .sort((a, b) => b.at - a.at);
  if (releases.length === 0) throw new Error('the version manifest lists no release');
  return { versions: releases.map(({ id }) => id), latest: latest.release };
}
