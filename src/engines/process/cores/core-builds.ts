import { createCache } from '../../../kernel/cache.ts';
import type { Clock } from '../../../kernel/clock.ts';
import { MINUTE_MS } from '../../../kernel/units.ts';
import type { CoreStore } from './core-store.ts';
import type { CoreSource } from './source.ts';

/** The builds that the public sources of cores offer. */
export interface CoreBuilds {
  /**
   * Returns the newest build of a version, stable ones first. Undefined if the core has no source, or the source does
   * not have the version. May be some minutes old. Rejects with StatusError.
   */
  newest(core: string, version: string): Promise<string | undefined>;
  /**
   * Downloads a build, so that a later start need not, unless an installer has to create its files. Absent: the engine
   * downloads it at the start. Rejects with StatusError.
   */
  fetch?: CoreStore['fetch'];
}

const REMEMBERED_MS = 10 * MINUTE_MS;
const MOST_VERSIONS = 1_000;

/** `cores`: where games find downloaded builds; absent for engines with images. */
export function createCoreBuilds(
  sources: Readonly<Record<string, CoreSource>>,
  clock: Clock,
  cores?: CoreStore,
): CoreBuilds {
  const newest = createCache<string | undefined>({ most: MOST_VERSIONS, ttlMs: () => REMEMBERED_MS });
  // Shared by all callers, so no caller's signal ends it. Sources limit the time of a request.
  const { signal } = new AbortController();
  return {
    async newest(core, version) {
      const source = Object.hasOwn(sources, core) ? sources[core] : undefined;
      if (source === undefined) return undefined;
      const find = async () => (await source.find(version, undefined, signal))?.build || undefined;
      return await newest.get(`${core} ${version}`, clock.now(), find);
    },
    ...(cores && { fetch: (wanted, ending) => cores.fetch(wanted, ending) }),
  };
}
