import type { ReplyOf } from '../../http/calls.ts';
import { type Html, html } from '../../web/html.ts';
import type { Page } from '../../web/page-request.ts';
import type { Panel, PanelRequest } from '../../web/panel/panel.ts';
import { stateTag } from '../../web/panel/state.ts';

type Summary = ReplyOf<'ListMyServers'>['my'][number];

/** All servers that somebody reaches, as cards. */
export function mountServerList(panel: Panel): void {
  panel.page({ path: '/servers', show: listPage });
}

async function listPage({ call }: PanelRequest): Promise<Page> {
  const { my, shared } = await call('ListMyServers', {});
  const main = html`<div class="panel">
    <div class="card head"><h1>Servers</h1></div>
    <div data-live="list">
      ${
        my.length + shared.length === 0
          ? html`<p class="card empty">You have no server yet.</p>`
          : html`<ul class="cards">
              ${[...my, ...shared].map(serverCard)}
            </ul>`
      }
    </div>
  </div>`;
  return { title: 'Servers', main };
}

function serverCard({ id, address, state, type, version, playersOnline }: Summary): Html {
  return html`<li class="card">
    <h2><a href="/servers/${id}">${id}</a></h2>
    <p>${stateTag(state)}${playersOnline !== undefined && html` ${playersOnline} playing`}</p>
    <p><code>${address}</code></p>
    <p>${type} ${version}</p>
  </li>`;
}
