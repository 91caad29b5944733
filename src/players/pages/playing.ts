import type { ReplyOf } from '../../http/calls.ts';
import { face } from '../../servers/pages/face.ts';
import { hidden } from '../../web/form.ts';
import { type Html, html } from '../../web/html.ts';
import { filling, lineField } from '../../web/panel/fields.ts';
import { panelForm } from '../../web/panel/form.ts';
import type { ServerRequest } from '../../web/panel/panel.ts';
import { partOf } from '../../web/panel/parts.ts';
import { plainName } from '../../web/text.ts';

export type Lists = ReplyOf<'GetPlayerLists'>;

export const REASON_CHARS = 256;

const ON_A_PART = 40;

/** The online players. The card refreshes itself, so confirmations are elsewhere on the page. */
export function playingCard(request: ServerRequest, lists: Lists, mayChange: boolean): Html {
  const { here, server } = request;
  const { shown, pager } = partOf(request, lists.online, { key: 'playing', most: ON_A_PART, of: 'players' });
  return html`<section class="card flush" data-live="playing">
    <h2>Playing now</h2>
    ${
      lists.withoutConsole &&
      html`<p class="empty">
        This game accepts no commands while running. Changes apply at the next start. Address bans apply immediately.
      </p>`
    }
    ${
      lists.online.length === 0
        ? html`<p class="empty">${nobody(server.state, lists.running)}</p>`
        : html`<table class="rows">
            <thead>
              <tr>
                <th scope="col">Player</th>
                ${mayChange && html`<th scope="col">Actions</th>`}
              </tr>
            </thead>
            <tbody>
              ${shown.map(
                (name) =>
                  html`<tr>
                    <th scope="row">
                      <span class="head-of">${face(name)}<bdi>${plainName(name)}</bdi></span>
                    </th>
                    ${
                      mayChange &&
                      html`<td>
                        <a href="${here}?kick=${encodeURIComponent(name)}#kick"
                          >Kick<span class="unseen"> ${plainName(name)}</span></a
                        >
                        ·
                        <a href="${here}?ban=${encodeURIComponent(name)}#bans"
                          >Ban<span class="unseen"> ${plainName(name)}</span></a
                        >
                      </td>`
                    }
                  </tr>`,
              )}
            </tbody>
          </table>`
    }
    ${pager}
  </section>`;
}

function nobody(state: string, running: boolean): string {
  if (running) return 'No one is online.';
  return state === 'hibernated' ? 'The server is asleep.' : 'No players: the server is not running.';
}

/** The confirmation for kicking the selected player. */
export function kickCard(request: ServerRequest, { online }: Lists): Html | undefined {
  const name = request.query.get('kick') ?? '';
  if (!online.includes(name)) return undefined;
  const filled = filling(request, 'kick');
  return html`<section class="card" id="kick">
    <h2>Kick <bdi>${plainName(name)}</bdi></h2>
    <p>They can rejoin immediately. To keep them out, ban them below.</p>
    ${panelForm(
      request,
      'kick',
      html`${hidden('name', name)}
        ${lineField(filled, {
          name: 'reason',
          label: 'Reason',
          hint: 'Shown to the player. Optional.',
          maxlength: REASON_CHARS,
          required: false,
        })}<button type="submit">Kick</button>`,
    )}
  </section>`;
}
