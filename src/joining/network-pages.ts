import { ListMyServers } from '../servers/api/my-servers.ts';
import { SAVED, settingsPage } from '../servers/pages/settings/frame.ts';
import { html } from '../web/html.ts';
import type { Page } from '../web/page-request.ts';
import { choiceField, filling } from '../web/panel/fields.ts';
import { panelForm } from '../web/panel/form.ts';
import type { Panel, ServerRequest } from '../web/panel/panel.ts';
import { copyButton } from '../web/panel/parts.ts';
import { EXTERNAL, SetServerNetwork } from './network-api.ts';

/** Whether a server is public, or a private backend of a network. */
export function mountNetwork(panel: Panel): void {
  panel.serverPage({
    path: '/settings/network',
    show: networkPage,
    forms: {
      async network({ call, server: { id } }, form) {
        await call(SetServerNetwork, { id }, { front: form.get('front') ?? '' });
        return 'saved';
      },
    },
    done: SAVED,
  });
}

async function networkPage(request: ServerRequest): Promise<Page> {
  const { id, network } = request.server;
  const { my } = await request.call(ListMyServers, {});
  const fronts = my.filter((server) => server.id !== id && server.address !== '');
  const cards = html`<section class="card">
    <h2>Network</h2>
    <p>
      A private backend has no public address. Players reach it through a proxy in front of your network, such as
      Velocity, and that wakes it.
    </p>
    ${
      network &&
      html`<p>
        Set this address in the front: <code>${network.address}</code>
        ${copyButton(network.address, 'the address for the front')}
      </p>`
    }
    ${panelForm(
      request,
      'network',
      html`${choiceField(filling(request, 'network'), {
          name: 'front',
          label: 'Players join',
          value: network?.front ?? '',
          options: [
            ['', 'at its own address'],
            [EXTERNAL, 'through a proxy that runs elsewhere'],
            ...fronts.map((server) => [server.id, `through ${server.id}`] as const),
          ],
        })}<button type="submit">Save</button>`,
    )}
  </section>`;
  return settingsPage(request, 'Network', cards);
}
