import { createCache } from '../../kernel/cache.ts';
import { abortable } from '../../kernel/timeout.ts';
import { type MojangVersionsOptions, openMojangVersions } from './mojang-versions.ts';

/**
 * Returns the Java version that a version of the game was made for, from Mojang's version data. Undefined if the data
 * is unavailable or does not state it.
 */
export type JavaOfVersion = (version: string, signal: AbortSignal) => Promise<number | undefined>;

/** How long a start waits for the answer. */
const PATIENCE_MS = 5_000;
/** Time after a failure until a version is requested again. Answers are cached permanently. */
const RETRY_MS = 300_000;
const MOST_KEPT = 1_000;

interface Answer {
  major: number | undefined;
  isKnown: boolean;
}

/** Requests each version once and caches the answer. Rejects only with the reason of `signal`. */
export function createJavaVersions(options: MojangVersionsOptions): JavaOfVersion {
  const { clock } = options;
  const mojang = openMojangVersions(options);
  const known = createCache<Answer>({ most: MOST_KEPT, ttlMs: ({ isKnown }) => (isKnown ? Infinity : RETRY_MS) });

  async function ask(version: string): Promise<Answer> {
    const details = await mojang.details(version, AbortSignal.timeout(PATIENCE_MS)).catch(() => undefined);
    return { major: details?.javaVersion?.majorVersion, isKnown: details !== undefined };
  }

  return async function javaOf(version, signal) {
    const found = known.get(version, clock.now(), () => ask(version));
    return (await abortable(found, signal)).major;
  };
}
