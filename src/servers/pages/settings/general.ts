import { sizeOptions, sizesBetween } from '../choices.ts';
import { invalidFields } from '../../../http/errors.ts';
import { isAtLeast } from '../../../http/roles.ts';
import { NO_PROSE, confirmed } from '../../../web/form.ts';
import { type Html, html } from '../../../web/html.ts';
import type { Page } from '../../../web/page-request.ts';
import { choiceField, filling, lineField, radioField } from '../../../web/panel/fields.ts';
import { panelForm } from '../../../web/panel/form.ts';
import { inShort } from '../../../web/panel/in-short.ts';
import type { Outcome, Panel, ServerRequest } from '../../../web/panel/panel.ts';
import type { Form } from '../../../web/serve.ts';
import { plainName } from '../../../web/text.ts';
import { leastRamMb } from '../../api/fields.ts';
import { stopsFirst } from '../parts.ts';
import { SAVED, changeButton, restNote, settingsPage } from './frame.ts';
import { GetSpendCap } from '../../../billing/api.ts';
import { GetAccountLimits } from '../../../billing/limits-api.ts';
import { DeleteServer } from '../../api/servers.ts';
import { UpdateServer } from '../../api/update-server.ts';
import { CreateTemplate } from '../../../templates/api.ts';

/** Settings of name, size and plan, and the form that deletes the server. */
export function mountGeneralSettings(panel: Panel): void {
  panel.serverPage({
    path: '/settings',
    show: generalPage,
    forms: {
      async name({ call, server: { id } }, form) {
        const tags = (form.get('tags') ?? '').split(',').filter((tag) => tag.trim() !== '');
        await call(UpdateServer, { id }, { name: form.get('name') ?? '', tags });
        return 'saved';
      },
      async size({ call, server: { id } }, form) {
        const plan = form.get('plan');
        const size = { ramMb: Number(form.get('ramMb')), ...(plan !== null && { plan }), ...stopsFirst(form) };
        return await inShort(call(UpdateServer, { id }, size), 'saved', 'stopping');
      },
      template: makeTemplate,
      async delete({ call, server: { id } }, form) {
        if (form.get('typed')?.trim() !== id) {
          throw invalidFields([{ field: 'typed', description: `is not ${id}. Nothing was deleted.` }]);
        }
        await call(DeleteServer, { id });
        return { to: '/servers' };
      },
    },
    done: {
      ...SAVED,
      stopping: 'The server stops. Then its size changes, and it starts again.',
      template: 'Template created. Choose it when you create a server.',
    },
  });
}

async function generalPage(request: ServerRequest): Promise<Page> {
  const { call, principal, role } = request;
  const { accountId } = principal;
  const [prices, limits] = await Promise.all([call(GetSpendCap, { accountId }), call(GetAccountLimits, { accountId })]);
  const cards = html`${nameCard(request)} ${sizeCard(request, prices, limits)} ${templateCard(request)}
  ${isAtLeast(role, 'owner') && deleteCard(request)}`;
  return settingsPage(request, 'Settings', cards);
}

function nameCard(request: ServerRequest): Html {
  const filled = filling(request, 'name');
  const field = { name: 'name', label: 'Name', value: request.server.name, maxlength: 64 };
  const tags = {
    name: 'tags',
    label: 'Tags',
    hint: 'Words by which you find it in the list, separated by commas: survival, friends.',
    value: request.server.tags.join(', '),
    maxlength: 270,
    required: false,
  };
  return html`<section class="card">
    <h2>Name and tags</h2>
    <p>Shown to you, your members and on the public page. The address stays <code>${request.server.addr}</code>.</p>
    ${panelForm(
      request,
      'name',
      html`${lineField(filled, field)}${lineField(filled, tags)}<button type="submit">Save name and tags</button>`,
    )}
  </section>`;
}

const MORE_RAM = 'More RAM during a paid period costs the difference for the remaining days. Less RAM is not refunded.';

interface Prices {
  perGbHourMicros: string;
  perGbMonthMicros: string;
}

function sizeCard(request: ServerRequest, prices: Prices, { maxRamMb }: { maxRamMb: number }): Html {
  const { server, role, isFree } = request;
  const filled = filling(request, 'size');
  const isOwner = isAtLeast(role, 'owner');
  return html`<section class="card">
    <h2>${isFree ? 'Size' : 'Size and plan'}</h2>
    ${panelForm(
      request,
      'size',
      html`${choiceField(filled, {
          name: 'ramMb',
          label: 'RAM',
          hint: 'RAM for the game, from its next start. More players, mods and view distance need more.',
          value: String(server.ramMb),
          options: sizeOptions(
            sizesFor(server, isOwner ? maxRamMb : Infinity),
            Number(prices.perGbHourMicros),
            isOwner ? Number(prices.perGbMonthMicros) : undefined,
          ),
        })}
        ${
          isOwner &&
          !isFree &&
          radioField(filled, {
            name: 'plan',
            label: 'Plan',
            value: server.plan,
            options: [
              ['metered', 'Metered: pay per minute while awake. Free while asleep.'],
              ['flat', html`Flat: the first start pays for 30 days, awake or asleep.<small>${MORE_RAM}</small>`],
            ],
          })
        }
        ${restNote(request)}
        <button type="submit">${changeButton(request, isFree ? 'Save size' : 'Save size and plan')}</button>`,
    )}
  </section>`;
}

/** Returns the sizes in which the game can run, up to the account's limit, and the present size. */
function sizesFor({ type, ramMb }: ServerRequest['server'], mostMb: number): number[] {
  const sizes = sizesBetween(leastRamMb(type), mostMb);
  return [...new Set([...sizes, ramMb])].sort((a, b) => a - b);
}

function deleteCard(request: ServerRequest): Html {
  const { id, name } = request.server;
  const typed = lineField(filling(request, 'delete'), {
    name: 'typed',
    label: html`Type <b>${id}</b> to delete it`,
    maxlength: 64,
    more: NO_PROSE,
  });
  return html`<section class="card">
    <h2>Delete the server</h2>
    <p>This deletes its worlds, files, backups, database and settings permanently. This can’t be undone.</p>
    ${confirmed(
      `All of ${plainName(name) || id} will be deleted.`,
      'Delete…',
      'the server',
      panelForm(request, 'delete', html`${typed}<button class="danger" type="submit">Delete permanently</button>`),
      request.failed === 'delete',
    )}
  </section>`;
}

/** Saves the server's settings under a name as a template of the caller. */
async function makeTemplate({ call, server: { id } }: ServerRequest, form: Form): Promise<Outcome> {
  await call(
    CreateTemplate,
    {},
    { serverId: id, name: form.get('name') ?? '', description: form.get('description') ?? '' },
  );
  return 'template';
}

function templateCard(request: ServerRequest): Html {
  const filled = filling(request, 'template');
  return html`<section class="card">
    <h2>Create a template</h2>
    <p>
      Saves the software, size, ${!request.isFree && 'plan, '}properties and description of this server as a template
      under
      <a href="/servers/new">New server</a>. Its world and files are not included.
    </p>
    ${panelForm(
      request,
      'template',
      html`${lineField(filled, { name: 'name', label: 'Name of the template', value: request.server.name, maxlength: 64 })}
        ${lineField(filled, {
          name: 'description',
          label: 'Short description',
          hint: 'Shown in the list of templates.',
          maxlength: 512,
          required: false,
        })}<button type="submit">Create template</button>`,
    )}
  </section>`;
}
