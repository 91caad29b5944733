import { createHash } from 'node:crypto';
import { type Html, html } from '../../web/html.ts';

const SKINS = ['#f0c8a0', '#d9a066', '#a8714a', '#7a4a2e', '#8fbf7a', '#9fb4d9'];
const HAIRS = ['#2b1d14', '#6b4423', '#c9a13b', '#8c3b2a', '#3c3c46', '#5b4487', '#2f7d6b'];

/** Draws a player's head in colours derived from the name, so that no outside service learns who plays. */
export function face(name: string): Html {
  const [skin = 0, hair = 0] = createHash('sha256').update(name.toLowerCase()).digest();
  return html`<svg
    class="face"
    viewBox="0 0 8 8"
    width="32"
    height="32"
    aria-hidden="true"
    shape-rendering="crispEdges"
  >
    <path fill="${SKINS[skin % SKINS.length]}" d="M0 0h8v8H0z" />
    <path fill="${HAIRS[hair % HAIRS.length]}" d="M0 0h8v2H7v1H6V2H2v1H1v1H0z" />
    <path fill="#fff" d="M1 4h1v1H1zM6 4h1v1H6z" />
    <path fill="#333a6b" d="M2 4h1v1H2zM5 4h1v1H5z" />
    <path fill="#00000055" d="M3 5h2v1H3zM2 6h4v1H2z" />
  </svg>`;
}
