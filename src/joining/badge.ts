import { html } from '../web/html.ts';
import type { StateWords } from './state-words.ts';

const HEIGHT = 28;
const PADDING = 10;
const MOON = 14;
/** Background and text colour of the right half; legible in contrast to each other (WCAG AA). */
const TONES: Record<StateWords['tone'], readonly [ground: string, ink: string]> = {
  up: ['#1f7a4d', '#ffffff'],
  asleep: ['#5b4487', '#ffffff'],
  passing: ['#f3b183', '#2b1d3d'],
  down: ['#9d1f38', '#ffffff'],
};

/**
 * Returns a badge as SVG: the name under a moon, and the state in its colour. It embeds no font, so each half is as
 * wide as the widest common sans serif needs, and the text is fitted to that width.
 */
export function badge(name: string, { label, tone }: StateWords): string {
  const [ground, ink] = TONES[tone];
  const nameWidth = widthOf(name);
  const labelWidth = widthOf(label);
  const left = PADDING + MOON + 6 + nameWidth + PADDING;
  const width = left + PADDING + labelWidth + PADDING;
  const clip = `M6 0H${width - 6}a6 6 0 0 1 6 6V${HEIGHT - 6}a6 6 0 0 1 -6 6H6a6 6 0 0 1 -6 -6V6a6 6 0 0 1 6 -6z`;
  const right = `M${left} 0H${width - 6}a6 6 0 0 1 6 6V${HEIGHT - 6}a6 6 0 0 1 -6 6H${left}z`;
  return html`<svg
    xmlns="http://www.w3.org/2000/svg"
    width="${width}"
    height="${HEIGHT}"
    viewBox="0 0 ${width} ${HEIGHT}"
    role="img"
    aria-label="${name}: ${label}"
  >
    <title>${name}: ${label}</title>
    <path fill="#332b66" d="${clip}" />
    <path fill="${ground}" d="${right}" />
    <path
      fill="#ffdca8"
      transform="translate(${PADDING} 7)"
      d="M9.500 .5a7 7 0 1 0 4.500 9.200A5.600 5.600 0 0 1 9.500 .5z"
    />
    <g font-family="Verdana,'DejaVu Sans',Geneva,sans-serif" font-size="12" font-weight="600">
      <text fill="#fdf6ec" x="${PADDING + MOON + 6}" y="18.500" textLength="${nameWidth}">${name}</text>
      <text fill="${ink}" x="${left + PADDING}" y="18.500" textLength="${labelWidth}">${label}</text>
    </g>
  </svg>`.toString();
}

/**
 * Returns the width in bold Verdana at 12 px, rounded up by kind of character. Letters of other scripts count as
 * square.
 */
function widthOf(text: string): number {
  let width = 0;
  for (const character of text) width += WIDTHS.find(([kind]) => kind.test(character))?.[1] ?? 12.5;
  return Math.ceil(width);
}

const WIDTHS: readonly (readonly [RegExp, number])[] = [
  [/[iIjl.,:;'|!·]/, 4.6],
  [/[ frt()[\]/-]/, 5.6],
  [/[mwMWQO@%]/, 11.4],
  [/[A-Z]/, 9],
  [/[\x20-\x7e]/, 7.9],
];
