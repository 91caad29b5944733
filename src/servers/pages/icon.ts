import { createHash } from 'node:crypto';
import { escapeHtml } from '../../web/html.ts';

/** Skies from night to dawn in distinguishable hues, each with enough contrast to light letters. */
const SKIES = [
  ['#332b66', '#a8653c'],
  ['#1f3b63', '#3f7f86'],
  ['#4a2459', '#b0486a'],
  ['#1f4a3c', '#5f8a3a'],
  ['#4d3119', '#b5712a'],
  ['#2b2f6b', '#6a5bc0'],
] as const;

/**
 * Returns a picture for a server or player without one: the first letter of the name on a background derived from the
 * id.
 */
export function drawnIcon(id: string, name: string): string {
  const [from, to] = SKIES[(createHash('sha256').update(id).digest()[0] ?? 0) % SKIES.length] ?? SKIES[0];
  const letter = escapeHtml(Array.from(name)[0]?.toUpperCase() ?? '');
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64"><linearGradient id="a" x2="1" y2="1"><stop stop-color="${from}"/><stop offset="1" stop-color="${to}"/></linearGradient><rect width="64" height="64" fill="url(#a)"/><text x="32" y="44" text-anchor="middle" font-family="system-ui,sans-serif" font-size="34" font-weight="700" fill="#fdf6ec">${letter}</text></svg>`;
}
