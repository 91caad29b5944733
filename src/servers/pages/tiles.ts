import { type Html, html } from '../../web/html.ts';

/** A link that selects one option. */
export interface Tile {
  href: string;
  name: string;
  about: string;
  /** This option is selected. */
  here: boolean;
}

/** Links with a short description each, one of them current. */
export function tiles(all: readonly Tile[], label: string): Html {
  return html`<nav aria-label="${label}">
    <ul class="tiles">
      ${all.map(
        ({ href, name, about, here }) =>
          html`<li>
            <a href="${href}" ${here && html`aria-current="true"`}>${name}</a>
            <small>${about}</small>
          </li>`,
      )}
    </ul>
  </nav>`;
}
