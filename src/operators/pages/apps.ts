import type { ReplyOf } from '../../http/operation.ts';
import { confirmed, hidden } from '../../web/form.ts';
import { type Html, html } from '../../web/html.ts';
import type { Page } from '../../web/page-request.ts';
import { filling, fillingOf, lineField } from '../../web/panel/fields.ts';
import { panelForm } from '../../web/panel/form.ts';
import type { Panel, PanelRequest } from '../../web/panel/panel.ts';
import { copyButton } from '../../web/panel/parts.ts';
import { timeTag } from '../../web/panel/time.ts';
import { homepageLink, plainName } from '../../web/text.ts';
import { mountOperatorPage, operatorPage, reasonField } from './frame.ts';
import { DisableClient, EnableClient, ListClients, RegisterClient } from '../../grants/clients-api.ts';

type Client = ReplyOf<typeof ListClients>['clients'][number];

const PATH = '/operator/apps';
/** Third-party apps that can request access: registering, disabling and enabling them. */
export function mountApps(panel: Panel): void {
  mountOperatorPage(panel, {
    path: PATH,
    show: appsPage,
    forms: {
      async register({ call }, form) {
        const [name = '', homepage = ''] = ['name', 'homepage'].map((field) => (form.get(field) ?? '').trim());
        await call(RegisterClient, {}, { name, homepage });
        return 'registered';
      },
      async disable({ call }, form) {
        await call(DisableClient, { clientId: form.get('app') ?? '' }, { reason: form.get('reason') ?? '' });
        return 'disabled';
      },
      async enable({ call }, form) {
        await call(EnableClient, { clientId: form.get('app') ?? '' }, { reason: form.get('reason') ?? '' });
        return 'enabled';
      },
    },
    done: {
      registered: 'App registered. Its client_id is shown below. It is not secret.',
      disabled: 'App disabled. Its tokens are refused.',
      enabled: 'App enabled. Its tokens work again.',
    },
  });
}

async function appsPage(request: PanelRequest): Promise<Page> {
  const { clients } = await request.call(ListClients, {});
  const main = html`<section class="card">
      <h2>Registered apps</h2>
      ${
        clients.length === 0
          ? html`<p class="empty">No apps yet.</p>`
          : html`<ul class="list">
              ${clients.map((client) => appItem(request, client))}
            </ul>`
      }
    </section>
    ${registerCard(request)}`;
  return operatorPage('Apps', PATH, main);
}

function appItem(request: PanelRequest, { clientId, name, homepage, scopes, createdAt, disabledAt }: Client): Html {
  const link = homepageLink(homepage);
  const form = disabledAt === null ? 'disable' : 'enable';
  const filled = fillingOf(request, form, { app: clientId }, clientId);
  const wasRefused = request.failed === form && request.sent?.get('app') === clientId;
  const asked = html`${hidden('app', clientId)}${reasonField(filled, 'Recorded in the audit log.')}`;
  return html`<li>
    <h3><bdi>${plainName(name)}</bdi> ${disabledAt !== null && html`<span class="tag bad">disabled</span>`}</h3>
    <p>
      <code>client_id ${clientId}</code>
      ${copyButton(clientId, 'the client_id')}
    </p>
    <p>
      ${link && html`<a href="${link.href}" rel="noopener noreferrer nofollow">${link.host}</a> · `}may ask for
      ${scopes.map((scope) => html`<code>${scope}</code> `)}
      ${createdAt !== null && html`· registered ${timeTag(createdAt)}`}
      ${disabledAt !== null && html`· disabled ${timeTag(disabledAt)}`}
    </p>
    ${
      disabledAt === null
        ? confirmed(
            'Everyone who connected it is signed out immediately until you enable it again.',
            'Disable…',
            name,
            panelForm(request, form, html`${asked}<button class="danger" type="submit">Yes, disable this app</button>`),
            wasRefused,
          )
        : html`<details ${wasRefused && html`open`}>
            <summary>Enable…<span class="unseen"> ${name}</span></summary>
            ${panelForm(request, form, html`${asked}<button type="submit">Enable this app</button>`)}
          </details>`
    }
  </li>`;
}

function registerCard(request: PanelRequest): Html {
  const filled = filling(request, 'register');
  return html`<section class="card">
    <h2>Register an app</h2>
    <p>It can then request a user’s server list and e-mail by device code.</p>
    ${panelForm(
      request,
      'register',
      html`${lineField(filled, {
          name: 'name',
          label: 'Name',
          hint: 'Shown when people connect the app.',
          maxlength: 64,
        })}
        ${lineField(filled, { name: 'homepage', label: 'Homepage', hint: 'An https address.', maxlength: 512, type: 'url' })}
        <button type="submit">Register</button>`,
    )}
  </section>`;
}
