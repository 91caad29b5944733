import { type MojangVersionsOptions, openMojangVersions } from './mojang-versions.ts';

/** The Java that a version of the game was made for, by Mojang's version data; undefined where that does not tell or cannot be had. */
export type JavaOfVersion = (version: string, signal: AbortSignal) => Promise<number | undefined>;

/** A start does not wait longer for it. */
const PATIENCE_MS = 5_000;
/** What is known of a version stays so; what could not be had is asked for again after this. */
const RETRY_MS = 300_000;
const MOST_KEPT = 1_000;

/** Asks once for each version and remembers it. Rejects only with the reason of `signal`. */
export function createJavaVersions(options: MojangVersionsOptions): JavaOfVersion {
  const { clock } = options;
  const mojang = openMojangVersions(options);
  const known = new Map<string, { major: number | undefined; until: number }>();

  async function ask(version: string, signal: AbortSignal): Promise<{ major: number | undefined; until: number }> {
    try {
      const details = await mojang.details(version, AbortSignal.any([signal, AbortSignal.timeout(PATIENCE_MS)]));
      return { major: details?.javaVersion?.majorVersion, until: details ? Infinity : clock.now() + RETRY_MS };
    } catch {
      signal.throwIfAborted();
      return { major: undefined, until: clock.now() + RETRY_MS };
    }
  }

  return async function javaOf(version, signal) {
    const before = known.get(version);
    if (before && clock.now() < before.until) return before.major;
    const answer = await ask(version, signal);
    if (known.size >= MOST_KEPT) known.clear();
    known.set(version, answer);
    return answer.major;
  };
}
