import { SAVED, settingsPage } from '../servers/pages/settings/frame.ts';
import { type Html, html } from '../web/html.ts';
import type { Page } from '../web/page-request.ts';
import { filling, tickField } from '../web/panel/fields.ts';
import { panelForm } from '../web/panel/form.ts';
import type { Panel, ServerRequest } from '../web/panel/panel.ts';
import { copyButton } from '../web/panel/parts.ts';

/** Settings of the public page. `baseUrl`: the pages' base URL for browsers. */
export function mountPublicSettings(panel: Panel, { baseUrl }: { baseUrl: string }): void {
  panel.serverPage({
    path: '/settings/public',
    show: (request) => publicPage(request, baseUrl),
    forms: {
      async save({ call, server: { id } }, form) {
        await call('SetPublicStatus', { id }, { enabled: form.has('enabled'), showAddress: form.has('showAddress') });
        return 'saved';
      },
    },
    done: SAVED,
  });
}

function publicPage(request: ServerRequest, baseUrl: string): Page {
  const { publicStatusEnabled, publicShowAddress, publicSlug } = request.server;
  const filled = filling(request, 'save');
  const cards = html`<section class="card">
      <h2>Public page</h2>
      <p>Anyone with the link can see the name, state, version, players and description. Nothing else is shown.</p>
      ${panelForm(
        request,
        'save',
        html`${tickField(filled, { name: 'enabled', label: 'Show the public page', on: publicStatusEnabled })}
          ${tickField(filled, {
            name: 'showAddress',
            label: 'Show the server address',
            on: publicShowAddress,
          })}<button type="submit">Save</button>`,
      )}
    </section>
    ${publicStatusEnabled && linksCard(`${baseUrl}/status/${publicSlug}`, publicSlug)}`;
  return settingsPage(request, 'Public page', cards);
}

function linksCard(url: string, slug: string): Html {
  const badge = `[![Server status](${url}/badge.svg)](${url})`;
  return html`<section class="card">
    <h2>Link and badge</h2>
    <p><a href="/status/${slug}">${url}</a> ${copyButton(url, 'the link')}</p>
    <p><img class="badge" src="/status/${slug}/badge.svg" alt="Current badge" height="28" /></p>
    <p>For a site or a README, as Markdown: <code>${badge}</code> ${copyButton(badge, 'the badge')}</p>
  </section>`;
}
