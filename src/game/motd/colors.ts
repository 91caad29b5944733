/** The sixteen colours of the game by their `§` code (minecraft.wiki Formatting codes): name and value. */
export const COLORS: Readonly<Record<string, readonly [name: string, value: string]>> = {
  0: ['black', '#000000'],
  1: ['dark_blue', '#0000aa'],
  2: ['dark_green', '#00aa00'],
  3: ['dark_aqua', '#00aaaa'],
  4: ['dark_red', '#aa0000'],
  5: ['dark_purple', '#aa00aa'],
  6: ['gold', '#ffaa00'],
  7: ['gray', '#aaaaaa'],
  8: ['dark_gray', '#555555'],
  9: ['blue', '#5555ff'],
  a: ['green', '#55ff55'],
  b: ['aqua', '#55ffff'],
  c: ['red', '#ff5555'],
  d: ['light_purple', '#ff55ff'],
  e: ['yellow', '#ffff55'],
  f: ['white', '#ffffff'],
};

const ALIASES = new Map([
  ['grey', 'gray'],
  ['dark_grey', 'dark_gray'],
]);
const CODES = new Map(Object.entries(COLORS).map(([code, [, value]]) => [value, code]));
const VALUES = new Map(Object.values(COLORS));

/** Returns a colour's value from its name in the game or from `#rrggbb`; undefined for anything else. */
export function colorValue(name: string): string | undefined {
  const lower = name.toLowerCase();
  return /^#[0-9a-f]{6}$/.test(lower) ? lower : VALUES.get(ALIASES.get(lower) ?? lower);
}

/** Returns the code of one of the sixteen values. */
export function colorCode(value: string): string | undefined {
  return CODES.get(value);
}

/** Returns the code of the nearest of the sixteen colours. */
export function nearestCode(value: string): string {
  const wanted = channels(value);
  let [best, least] = ['f', Infinity];
  for (const [code, [, candidate]] of Object.entries(COLORS)) {
    const distance = channels(candidate).reduce((sum, each, nth) => sum + (each - (wanted[nth] ?? 0)) ** 2, 0);
    if (distance < least) [best, least] = [code, distance];
  }
  return best;
}

/** Returns the colour at `part` (0 to 1) of the way through the stops. */
export function blend(stops: readonly string[], part: number): string {
  const place = Math.min(1, Math.max(0, part)) * (stops.length - 1);
  const nth = Math.min(Math.floor(place), stops.length - 2);
  const from = channels(stops[Math.max(0, nth)] ?? '#ffffff');
  const to = channels(stops[Math.max(0, nth) + 1] ?? stops[0] ?? '#ffffff');
  return hex(from.map((each, channel) => each + ((to[channel] ?? 0) - each) * (place - nth)));
}

/** Returns a fully saturated colour; `hue` from 0 to 1 is a full circle. */
export function hueColor(hue: number): string {
  return hex([0, 4, 2].map((offset) => 255 * Math.min(1, Math.max(0, Math.abs(((hue * 6 + offset) % 6) - 3) - 1))));
}

function channels(value: string): number[] {
  return [1, 3, 5].map((at) => parseInt(value.slice(at, at + 2), 16));
}

function hex(values: number[]): string {
  return `#${values.map((value) => Math.round(value).toString(16).padStart(2, '0')).join('')}`;
}
