import { motdHtml } from '../../../game/motd/html.ts';
import { DEFAULT_MOTD } from '../../../game/properties/properties.ts';
import { ASSETS } from '../../../web/assets.ts';
import { type Html, html } from '../../../web/html.ts';
import type { Page } from '../../../web/page-request.ts';
import { filling, linesField } from '../../../web/panel/fields.ts';
import { actionOf, panelForm } from '../../../web/panel/form.ts';
import type { Panel, ServerRequest } from '../../../web/panel/panel.ts';
import type { Form } from '../../../web/serve.ts';
import { plainName } from '../../../web/text.ts';
import { SAVED, settingsPage } from './frame.ts';
import { MOST_SENT_BYTES, iconCard, iconOf, removeIcon, saveIcon } from './icon.ts';

/** Settings of the server's entry in the server list. */
export function mountDescriptionSettings(panel: Panel): void {
  panel.serverPage({
    path: '/settings/description',
    formBytes: MOST_SENT_BYTES,
    show: (request) => descriptionPage(request, request.server.motd),
    forms: {
      async save({ call, server: { id } }, form) {
        await call('SetServerMotd', { id }, { motd: motdIn(form) });
        return 'saved';
      },
      /** Stores nothing. With scripts, the page requests it while the user types. */
      preview: (request, form) => descriptionPage({ ...request, failed: 'save', sent: form }, motdIn(form)),
      icon: saveIcon,
      'icon-remove': removeIcon,
    },
    done: {
      ...SAVED,
      icon: 'Saved. The server list shows it after the next start.',
      gone: 'Icon removed. The server list updates after the next start.',
    },
  });
}

async function descriptionPage(request: ServerRequest, motd: string): Promise<Page> {
  const field = {
    name: 'motd',
    label: 'Description',
    hint: html`Two lines at most. Colours as <code>&lt;gold&gt;</code>, <code>&lt;#ff8800&gt;</code>,
      <code>&lt;gradient:#f3b183:#5b4487&gt;…&lt;/gradient&gt;</code> or <code>§6</code>; also
      <code>&lt;bold&gt;</code> and <code>&lt;italic&gt;</code>.`,
    value: motd,
    maxlength: MOTD_CHARS,
    rows: 2,
  };
  const icon = await iconOf(request);
  const cards = html`<section class="card">
      <h2>Description</h2>
      <p>
        Shown in the server list; a running game shows it after a restart. While the server is asleep, the first line is
        shown above its status, unless you set another text under
        <a href="/servers/${request.server.id}/settings/joining">Joining</a>.
      </p>
      ${listEntry(request, motd, icon)}
      ${panelForm(
        request,
        'save',
        html`${linesField(filling(request, 'save'), field)}
          <div class="actions">
            <button type="submit">Save the description</button>
            <button
              class="second"
              type="submit"
              formaction="${actionOf(request, 'preview')}"
              formnovalidate
              data-preview="entry"
            >
              Preview
            </button>
          </div>`,
      )}
    </section>
    ${iconCard(request, icon)}`;
  const page = settingsPage(request, 'Description and icon', cards);
  return { ...page, scripts: [ASSETS.preview, ASSETS.iconScript] };
}

const MOTD_CHARS = 1_024;

/** Mimics the game's server list: icon, name, two lines below, players at the right. */
function listEntry({ server }: ServerRequest, motd: string, icon: string | undefined): Html {
  return html`<div class="entry" id="entry" aria-live="polite">
    ${icon !== undefined && html`<img class="icon" src="${icon}" alt="" width="64" height="64" />`}
    <div>
      <p class="entry-name">
        <bdi>${plainName(server.name)}</bdi> <span>0/${server.properties['max-players'] ?? '20'}</span>
      </p>
      <p class="motd">${motdHtml(motd || DEFAULT_MOTD)}</p>
    </div>
  </div>`;
}

/** Converts the line ends of forms (HTML §4.10.22.4) to those of games. */
function motdIn(form: Form): string {
  return (form.get('motd') ?? '').replaceAll('\r\n', '\n').replace(/(?<!\n)\n+$/, '');
}
