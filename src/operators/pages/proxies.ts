import type { ReplyOf } from '../../http/operation.ts';
import { type Html, html } from '../../web/html.ts';
import type { Page } from '../../web/page-request.ts';
import type { Panel, PanelRequest } from '../../web/panel/panel.ts';
import { rowTable } from '../../web/panel/parts.ts';
import { sinceTime } from '../../web/panel/words.ts';
import { mountOperatorPage, operatorPage } from './frame.ts';
import { ListProxies } from '../proxies-api.ts';

type Proxy = ReplyOf<typeof ListProxies>['proxies'][number];

const PATH = '/operator/proxies';

/** The processes that players connect to. */
export function mountProxies(panel: Panel): void {
  mountOperatorPage(panel, { path: PATH, show: proxiesPage, stream: '/v1/me/servers/events/stream' });
}

async function proxiesPage({ call, now }: PanelRequest): Promise<Page> {
  const { proxies } = await call(ListProxies, {});
  const main = html`<section class="card flush" data-live="proxies">
    ${
      proxies.length === 0
        ? html`<p class="empty">
            No proxy is connected, so players can’t join. Check that the proxy is running, and its log.
          </p>`
        : rowTable(
            'Proxies',
            ['Proxy', 'State', 'Players', 'Waiting', 'Lag', 'Up for', 'Version'],
            proxies.map((proxy) => proxyRow(proxy, now)),
          )
    }
  </section>`;
  return operatorPage('Proxies', PATH, main);
}

function proxyRow(
  { id, name, listening, host, port, players, waiting, lagMs, since, version, ...proxy }: Proxy,
  now: number,
): Html {
  return html`<tr>
    <th scope="row">
      <bdi>${name || id}</bdi><small>${listening ? html`<code>${host}:${port}</code>` : 'not listening'}</small>
    </th>
    <td data-label="State">
      <span>
        ${proxy.connected ? html`<span class="tag good">linked</span>` : html`<span class="tag bad">not linked</span>`}
        ${proxy.draining && html`<span class="tag warn">draining</span>`}
      </span>
      ${proxy.draining && html`<small>draining: stops after its last player leaves</small>`}
    </td>
    <td data-label="Players">${players}</td>
    <td data-label="Waiting">${waiting}</td>
    <td data-label="Lag">${lagMs} ms</td>
    <td data-label="Up for">${since !== null && sinceTime(Date.parse(since), now)}</td>
    <td data-label="Version"><code>${version}</code></td>
  </tr>`;
}
