import { wrongUsage } from './errors.ts';

const MOST_RAM_MB = 2 ** 31 - 1;

/** MB of a size as people write it: `512M`, `2G`, `2048`. Throws wrong usage. */
export function ramMb(text: string): number {
  const [, number = '', unit = ''] = /^(\d{1,7}(?:\.\d{1,3})?) ?([mg]?)(?:i?b)?$/i.exec(text) ?? [];
  const size = Math.round(Number(number) * (unit.toLowerCase() === 'g' ? 1024 : 1));
  if (number === '' || size < 1 || size > MOST_RAM_MB) throw wrongUsage('--ram must be like 512M, 2G or 2048 (MB).');
  return size;
}

/** Lines like `difficulty=hard`. Throws wrong usage. */
export function properties(lines: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    lines.map((line) => {
      const at = line.indexOf('=');
      if (at < 1) throw wrongUsage(`--property must be like difficulty=hard, not ${JSON.stringify(line)}.`);
      return [line.slice(0, at), line.slice(at + 1)];
    }),
  );
}
