import { CUSTOM, VELOCITY } from '../game/cores.ts';
import { ListServers } from '../servers/api/list-servers.ts';
import { SAVED, settingsPage } from '../servers/pages/settings/frame.ts';
import { html } from '../web/html.ts';
import type { Page } from '../web/page-request.ts';
import { choiceField, filling } from '../web/panel/fields.ts';
import { panelForm } from '../web/panel/form.ts';
import type { Panel, ServerRequest } from '../web/panel/panel.ts';
import { copyButton } from '../web/panel/parts.ts';
import { EXTERNAL, SetServerNetwork } from './network-api.ts';

/** Software that can be the front of a network. */
const FRONTS = new Set([VELOCITY, CUSTOM]);

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
  const { servers } = await request.call(ListServers, {}, {});
  const fronts = servers.filter(
    (server) => server.id === network?.front || (FRONTS.has(server.type) && !server.network && server.id !== id),
  );
  const isOurs = fronts.some((front) => front.id === network?.front && front.type === VELOCITY);
  const cards = html`<section class="card">
    <h2>Network</h2>
    <p>
      A private backend has no public address. Players reach it through a proxy in front of your network, such as
      Velocity, and that wakes it.
    </p>
    ${
      network &&
      html`<p>
        ${isOurs ? 'The front sets this address at its next start:' : 'Set this address in the front:'}
        <code>${network.address}</code>
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
            ...fronts.map((server) => [server.id, `through ${server.name}`] as const),
          ],
        })}<button type="submit">Save</button>`,
    )}
  </section>`;
  return settingsPage(request, 'Network', cards);
}
