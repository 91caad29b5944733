import { encode } from 'uqr';
import { type Html, html } from '../../web/html.ts';

/** Width of the white border in modules (ISO/IEC 18004). */
const QUIET_ZONE = 4;

/**
 * Returns a text as an inline QR code, because the pages' policy only allows our own pictures; `label` is for screen
 * readers.
 */
export function qrCode(text: string, label: string): Html {
  const { data, size } = encode(text, { ecc: 'M', border: QUIET_ZONE });
  const bars = data.flatMap((row, y) => {
    const dark = row.map((each) => (each ? '#' : ' ')).join('');
    return Array.from(dark.matchAll(/#+/g), ({ index, 0: { length } }) => `M${index} ${y}h${length}v1h-${length}z`);
  });
  return html`<svg
    class="qr"
    role="img"
    aria-label="${label}"
    viewBox="0 0 ${size} ${size}"
    shape-rendering="crispEdges"
  >
    <path d="${bars.join('')}" />
  </svg>`;
}
