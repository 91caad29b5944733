import type { JavaRange } from '../engines/engine.ts';
import { coreOf, isBukkit, isForge } from './cores.ts';
import { compareVersions } from './minecraft-version.ts';

/**
 * Returns the best Java for a version of the game: 8 up to 1.16 (16 for Paper's last 1.16.5), 17 up to 1.20.4, 21 up to
 * 1.21, 25 from 26.1, according to Mojang's version data. Weekly snapshots are decided by year. 21 for an unknown or
 * empty version.
 */
export function javaFor(version: string, core: string): number {
  const week = /^(\d\d)w\d\d/.exec(version);
  if (week) return javaOfYear(Number(week[1]));
  const [major = NaN, minor = 0, patch = 0] = version.split(/[.-]/).map(Number);
  if (version === '' || Number.isNaN(major)) return 21;
  if (major > 1) return 25;
  if (minor > 20 || (minor === 20 && patch >= 5)) return 21;
  if (minor >= 17) return 17;
  return coreOf(core)?.runs1165OnJava16 && minor === 16 && patch === 5 ? 16 : 8;
}

/**
 * Returns the Java versions that a core can run on. A newer Java runs code made for an older one, with two exceptions:
 * Forge needs exactly Java 8 up to 1.12.2, and less than 16 up to 1.16.5 (its loader uses internals closed by Java 9
 * and 16); Bukkit cores refuse more than 16 up to 1.16.5.
 */
export function javaRange(version: string, core: string): JavaRange {
  const isUpTo = (last: string) => (compareVersions(version, last) ?? 1) <= 0;
  const least = javaFor(version, 'vanilla');
  if (isForge(core) && isUpTo('1.12.2')) return { least, most: 8 };
  if (isForge(core) && isUpTo('1.16.5')) return { least, most: 15 };
  if (isBukkit(core) && isUpTo('1.16.5')) return { least, most: 16 };
  return { least, most: Infinity };
}

function javaOfYear(year: number): number {
  if (year >= 26) return 25;
  if (year >= 24) return 21;
  return year >= 21 ? 17 : 8;
}
