import type { ReplyOf } from '../http/operation.ts';
import { settingsPage } from '../servers/pages/settings/frame.ts';
import { type Html, html } from '../web/html.ts';
import type { Page } from '../web/page-request.ts';
import { filling, lineField } from '../web/panel/fields.ts';
import { buttonForm, panelForm } from '../web/panel/form.ts';
import type { Panel, ServerRequest } from '../web/panel/panel.ts';
import { copyButton } from '../web/panel/parts.ts';
import { normalName } from './own-names.ts';
import { AddServerName, ListServerNames, RemoveServerName, SetServerHostname } from './names-api.ts';

type Names = ReplyOf<typeof ListServerNames>;

/** The address of a server, its own names and its former addresses. */
export function mountNames(panel: Panel): void {
  panel.serverPage({
    path: '/settings/address',
    show: addressPage,
    forms: {
      async rename({ call, server: { id } }, form) {
        await call(SetServerHostname, { id }, { hostname: form.get('hostname') ?? '' });
        return 'renamed';
      },
      async add({ call, server: { id } }, form) {
        const name = form.get('name') ?? '';
        const { names } = await call(AddServerName, { id }, { name });
        return names.some((each) => each.name === normalName(name) && each.state === 'proved') ? 'proved' : 'pending';
      },
      async remove({ call, server: { id } }, form) {
        await call(RemoveServerName, { id }, { name: form.get('name') ?? '' });
        return 'removed';
      },
    },
    done: {
      renamed: 'Address changed. The former one works for 30 more days.',
      proved: 'Proved. Players can join at this name.',
      pending: 'Not proved yet. We look for the TXT record every 10 minutes.',
      removed: 'Name removed.',
    },
  });
}

async function addressPage(request: ServerRequest): Promise<Page> {
  const { id, hostname } = request.server;
  const { address, names } = await request.call(ListServerNames, { id });
  const cards = html`<section class="card">
      <h2>Address</h2>
      <p>Players join at <code>${address}</code> ${copyButton(address, 'the address')}</p>
      ${panelForm(
        request,
        'rename',
        html`${lineField(filling(request, 'rename'), {
            name: 'hostname',
            label: 'First part of the address',
            hint: 'a-z, 0-9 and hyphens. The former address works for 30 more days.',
            value: hostname,
            maxlength: 40,
          })}<button type="submit">Change the address</button>`,
      )}
    </section>
    <section class="card">
      <h2>Own names</h2>
      <p>
        If you have a domain, players can also join at a name of it. Point the name at the same address as this service,
        and add the TXT record below as proof. Keep both.
      </p>
      ${
        names.length > 0 &&
        html`<ul class="list">
          ${names.map((name) => nameItem(request, name))}
        </ul>`
      }
      ${panelForm(
        request,
        'add',
        html`${lineField(filling(request, 'add'), {
            name: 'name',
            label: 'Host name',
            hint: 'Such as play.example.org.',
            maxlength: 253,
          })}<button type="submit">Add the name</button>`,
      )}
    </section>`;
  return settingsPage(request, 'Address', cards);
}

const STATES: Record<string, Html> = {
  pending: html`<span class="tag warn">not proved yet</span>`,
  proved: html`<span class="tag">works</span>`,
  former: html`<span class="tag calm">former address</span>`,
};

function nameItem(request: ServerRequest, { name, state, expiresAt, txtName, txtValue, srv }: Names['names'][number]) {
  const fields = { name };
  const txt = `${txtName}. 3600 IN TXT "${txtValue}"`;
  return html`<li>
    <h3><bdi>${name}</bdi> ${STATES[state]}</h3>
    ${
      state === 'former'
        ? html`<p>Works until ${(expiresAt ?? '').slice(0, 10)}.</p>`
        : html`<p><code>${txt}</code> ${copyButton(txt, `the TXT record of ${name}`)}</p>
            ${
              srv !== '' &&
              html`<p>
                Without a record of the name itself, this SRV record is enough: <code>${srv}</code>
                ${copyButton(srv, `the SRV record of ${name}`)}
              </p>`
            }
            ${state === 'pending' && buttonForm(request, 'add', 'Check now', { fields })}`
    }
    ${buttonForm(request, 'remove', 'Remove', { fields, variant: 'danger' })}
  </li>`;
}
