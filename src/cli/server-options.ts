import { wrongUsage } from './errors.ts';

const MOST_RAM_MB = 2 ** 31 - 1;

/** Parses a size into MB: `512M`, `2G`, `2048`. Throws wrong usage. */
export function ramMb(text: string): number {
  const [, number = '', unit = ''] = /^(\d{1,7}(?:\.\d{1,3})?) ?([mg]?)(?:i?b)?$/i.exec(text) ?? [];
  const size = Math.round(Number(number) * (unit.toLowerCase() === 'g' ? 1024 : 1));
  if (number === '' || size < 1 || size > MOST_RAM_MB) throw wrongUsage('--ram must be like 512M, 2G or 2048 (MB).');
  return size;
}

const PLATFORMS = ['modrinth', 'curseforge', 'ftb'] as const;

/** Returns the modpack named by options; undefined if absent. Throws wrong usage. */
export function packOf(values: {
  pack?: string | undefined;
  'pack-platform'?: string | undefined;
  'pack-version'?: string | undefined;
}): { modpackPlatform: (typeof PLATFORMS)[number]; modpackRef: string; modpackVersion: string } | undefined {
  const { pack, 'pack-platform': platform, 'pack-version': version } = values;
  if (pack === undefined) {
    if (platform === undefined && version === undefined) return undefined;
    throw wrongUsage('--pack-platform and --pack-version need a --pack.');
  }
  const modpackPlatform = PLATFORMS.find((each) => each === (platform ?? PLATFORMS[0]));
  if (modpackPlatform === undefined) throw wrongUsage(`--pack-platform must be one of ${PLATFORMS.join(', ')}.`);
  return { modpackPlatform, modpackRef: pack, modpackVersion: version ?? '' };
}

/** Parses lines like `difficulty=hard`. Throws wrong usage. */
export function properties(lines: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    lines.map((line) => {
      const at = line.indexOf('=');
      if (at < 1) throw wrongUsage(`--property must be like difficulty=hard, not ${JSON.stringify(line)}.`);
      return [line.slice(0, at), line.slice(at + 1)];
    }),
  );
}
