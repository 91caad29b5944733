import { encode } from 'uqr';
import { type Html, html } from '../../web/html.ts';

/** Modules of white around it (ISO/IEC 18004). */
const QUIET_ZONE = 4;

/** A text as a QR code within the page, as the policy of pages takes pictures of ours only; `label` is for who hears the page. */
export function qrCode(text: string, label: string): Html {
  const { data, size } = encode(text, { ecc: 'M', border: QUIET_ZONE });
  const squares = data.flatMap((row, y) => row.flatMap((dark, x) => (dark ? [`M${x} ${y}h1v1h-1z`] : [])));
  return html`<svg
    class="qr"
    role="img"
    aria-label="${label}"
    viewBox="0 0 ${size} ${size}"
    shape-rendering="crispEdges"
  >
    <path d="${squares.join('')}" />
  </svg>`;
}
