import { isAtLeast } from '../http/roles.ts';
import { hostAndPort } from '../kernel/address.ts';
import { confirmed } from '../web/form.ts';
import { type Html, html } from '../web/html.ts';
import type { Page } from '../web/page-request.ts';
import { choiceField, filling, lineField, tickField } from '../web/panel/fields.ts';
import { buttonForm, panelForm } from '../web/panel/form.ts';
import { copyButton } from '../web/panel/parts.ts';
import type { Panel, ServerRequest } from '../web/panel/panel.ts';
import { plainName } from '../web/text.ts';
import { AddServerPort, RemoveServerPort } from './api.ts';

export function mountPorts(panel: Panel): void {
  panel.serverPage({
    path: '/ports',
    show: portsPage,
    forms: {
      async open({ call, server: { id } }, form) {
        const proto = form.get('proto') === 'udp' ? 'udp' : 'tcp';
        const [containerPort, label] = [Number(form.get('containerPort')), form.get('label') ?? ''];
        const wakes = form.get('wakes') === 'true';
        await call(AddServerPort, { id }, { containerPort, proto, label, wakes });
        return 'opened';
      },
      async close({ call, server: { id } }, form) {
        await call(RemoveServerPort, { id }, { slot: Number(form.get('slot')) });
        return 'closed';
      },
    },
    done: {
      opened: 'Port opened. Restart to apply.',
      closed: 'Port closed. Restart to apply.',
    },
  });
}

function portsPage(request: ServerRequest): Page {
  const { ports, addr } = request.server;
  const ownHost = addr.replace(/:\d+$/, '');
  const isElsewhere = ports.some(({ host }) => host !== ownHost);
  const mayChange = isAtLeast(request.role, 'member');
  const main = html`<section class="card">
      <h2>Ports</h2>
      <p>
        For plugins that need their own port, such as voice chat or a web map. Java players don’t need one to join.
        Traffic here doesn’t wake the server, except at a port for Bedrock players.
      </p>
      ${
        ports.length === 0
          ? html`<p class="empty">No open ports.</p>`
          : html`<ul class="list">
              ${ports.map((port) => portItem(request, port, mayChange))}
            </ul>`
      }
      ${
        isElsewhere &&
        html`<p class="hint">
          The address is that of the machine that runs the server, shown while it runs. Each start can choose another
          machine.
        </p>`
      }
    </section>
    ${mayChange && openCard(request)}`;
  return { title: 'Ports', main };
}

type Port = ServerRequest['server']['ports'][number];

function portItem(
  request: ServerRequest,
  { slot, containerPort, hostPort, proto, label, wakes, host }: Port,
  mayChange: boolean,
): Html {
  const name = plainName(label) || `${containerPort}/${proto}`;
  const address = hostAndPort({ host, port: hostPort });
  const shown =
    host === ''
      ? html`port <b><code>${hostPort}</code></b> of the machine that runs it`
      : html`<b><code>${address}</code></b> ${copyButton(address, `the address of ${name}`)}`;
  return html`<li>
    <h3><bdi>${name}</bdi></h3>
    <p>
      ${proto.toUpperCase()} ${shown} leads to port ${containerPort} of the
      game.${wakes && ' Bedrock players wake the server here.'}
    </p>
    ${proto === 'udp' && hostPort !== containerPort && VOICE.test(name) && voiceNote(hostPort, address)}
    ${
      mayChange &&
      confirmed(
        'It closes at the next start, and another server may get its number.',
        'Close…',
        name,
        buttonForm(request, 'close', 'Close the port', { fields: { slot: String(slot) }, variant: 'danger' }),
      )
    }
  </li>`;
}

const VOICE = /voice|^24454\b/i;

/** The setting that Simple Voice Chat needs because its clients otherwise use the number inside the game. */
function voiceNote(hostPort: number, address: string): Html {
  const line = `voice_host=${address.startsWith(':') ? hostPort : address}`;
  return html`<p class="note">
    Simple Voice Chat: put <code>${line}</code> ${copyButton(line, 'the setting')} into
    <code>config/voicechat/voicechat-server.properties</code>, and restart.
  </p>`;
}

function openCard(request: ServerRequest): Html {
  const filled = filling(request, 'open');
  return html`<section class="card">
    <h2>Open another port</h2>
    ${panelForm(
      request,
      'open',
      html`<div class="side">
          ${lineField(filled, {
            name: 'containerPort',
            label: 'Port in the game',
            hint: 'From the settings of the mod or plugin.',
            type: 'number',
            maxlength: 5,
            more: html`min="1" max="65535" inputmode="numeric"`,
          })}
          ${choiceField(filled, {
            name: 'proto',
            label: 'Protocol',
            hint: 'Voice chat: UDP. Web pages: TCP.',
            value: 'udp',
            options: [
              ['udp', 'UDP'],
              ['tcp', 'TCP'],
            ],
          })}
          ${lineField(filled, {
            name: 'label',
            label: 'What it is for',
            hint: 'A label, such as Voice chat.',
            maxlength: 64,
            required: false,
          })}
        </div>
        ${tickField(filled, {
          name: 'wakes',
          label: 'Bedrock players wake the server here',
          hint: 'For Geyser, with its UDP port: 19132 unless you changed it.',
          on: false,
        })}
        <button type="submit">Open the port</button>`,
    )}
  </section>`;
}
