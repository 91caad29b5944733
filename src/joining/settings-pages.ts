import { motdHtml } from '../game/motd/html.ts';
import type { ReplyOf } from '../http/operation.ts';
import { SAVED, settingsPage } from '../servers/pages/settings/frame.ts';
import type { ClientVersions } from '../servers/rows.ts';
import { type Html, html } from '../web/html.ts';
import type { Page } from '../web/page-request.ts';
import { filling, lineField, linesField, radioField, tickField } from '../web/panel/fields.ts';
import { panelForm } from '../web/panel/form.ts';
import type { Panel, ServerRequest } from '../web/panel/panel.ts';
import { copyButton } from '../web/panel/parts.ts';
import type { Form } from '../web/serve.ts';
import { WAKE_MODES, type WakeMode } from './rows.ts';
import { SetPublicStatus } from './public-setting-api.ts';
import { SetWakePolicy } from './wake-policy-api.ts';
import { UpdateServer } from '../servers/api/update-server.ts';

type Policy = ReplyOf<typeof SetWakePolicy>;

/** Settings of wakes by joining and of texts for players. */
export function mountJoiningSettings(panel: Panel): void {
  panel.serverPage({
    path: '/settings/joining',
    show: joiningPage,
    forms: {
      async policy({ call, server: { id } }, form) {
        const mode = form.get('mode') as WakeMode;
        await call(SetWakePolicy, { id }, { mode, maxWakesPerDay: Number(form.get('maxWakesPerDay')) });
        return 'saved';
      },
      async asleep({ call, server: { id } }, form) {
        await call(SetWakePolicy, { id }, { asleepMotd: textIn(form, 'asleepMotd') });
        return 'saved';
      },
      async maintenance({ call, server: { id } }, form) {
        await call(SetWakePolicy, { id }, { maintenanceText: textIn(form, 'maintenanceText') });
        return 'saved';
      },
      async room({ call, server: { id } }, form) {
        await call(UpdateServer, { id }, { waitingRoom: form.has('waitingRoom') });
        return 'saved';
      },
      async clients({ call, server: { id } }, form) {
        await call(UpdateServer, { id }, { clientVersions: form.get('clientVersions') as ClientVersions });
        return 'saved';
      },
    },
    done: SAVED,
  });
}

async function joiningPage(request: ServerRequest): Promise<Page> {
  // An empty request changes nothing and returns the policy.
  const policy = await request.call(SetWakePolicy, { id: request.server.id }, {});
  const cards = html`${wakeCard(request, policy)} ${maintenanceCard(request, policy)} ${asleepCard(request, policy)}
  ${clientsCard(request)} ${waitingCard(request)}`;
  return settingsPage(request, 'Joining', cards);
}

const MODES: Record<WakeMode, string> = {
  anyone: 'Anyone who isn’t banned',
  known: 'Known players: whitelisted, an operator, or has played here before',
  whitelist: 'Whitelisted players and operators only',
  verified: 'Verified Minecraft accounts only',
  nobody: 'No one: start it here, through the API or by a schedule',
};

function wakeCard(request: ServerRequest, policy: Policy): Html {
  const filled = filling(request, 'policy');
  return html`<section class="card">
    <h2>Who can wake it by joining</h2>
    <p>While awake, the whitelist and bans apply (see Players).</p>
    ${panelForm(
      request,
      'policy',
      html`${radioField(filled, {
          name: 'mode',
          label: 'Can wake it',
          value: policy.mode,
          options: WAKE_MODES.map((mode) => [mode, MODES[mode]]),
        })}
        ${lineField(filled, {
          name: 'maxWakesPerDay',
          label: 'Daily wake limit',
          hint: 'Wakes by joining, per day in UTC. 0 = unlimited.',
          value: String(policy.maxWakesPerDay),
          type: 'number',
          maxlength: 5,
          more: html`min="0" max="10000" inputmode="numeric"`,
        })}<button type="submit">Save</button>`,
    )}
  </section>`;
}

function maintenanceCard(request: ServerRequest, { maintenanceText }: Policy): Html {
  return html`<section class="card">
    <h2>Maintenance</h2>
    <p>
      ${
        maintenanceText === ''
          ? 'Off. Set a message to stop players waking the server. They see it when they try.'
          : html`<span class="tag warn">on</span> Joining doesn’t wake the server. Players see this message. Clear it to
              end maintenance.`
      }
    </p>
    ${maintenanceText !== '' && html`<p class="motd">${motdHtml(maintenanceText)}</p>`}
    ${panelForm(
      request,
      'maintenance',
      html`${linesField(filling(request, 'maintenance'), {
          name: 'maintenanceText',
          label: 'Text',
          hint: `${TWO_LINES} Example: Updating to 1.21.8, back at 8 pm.`,
          value: maintenanceText,
          maxlength: TEXT_CHARS,
          rows: 2,
        })}<button type="submit">Save</button>`,
    )}
  </section>`;
}

function asleepCard(request: ServerRequest, { asleepMotd }: Policy): Html {
  return html`<section class="card">
    <h2>While asleep</h2>
    <p>
      Shown in the server list. Empty for the first line of the description, with a note below that joining wakes the
      server.
    </p>
    ${asleepMotd !== '' && html`<p class="motd">${motdHtml(asleepMotd)}</p>`}
    ${panelForm(
      request,
      'asleep',
      html`${linesField(filling(request, 'asleep'), {
          name: 'asleepMotd',
          label: 'Description while asleep',
          hint: TWO_LINES,
          value: asleepMotd,
          maxlength: TEXT_CHARS,
          rows: 2,
        })}<button type="submit">Save</button>`,
    )}
  </section>`;
}

const CLIENTS: Record<ClientVersions, string> = {
  auto: 'Automatic: only its own version, unless it runs ViaVersion or a similar plugin, or your own server.jar',
  own: 'Only its own version',
  any: 'Any version: a plugin such as ViaVersion translates',
};

function clientsCard(request: ServerRequest): Html {
  return html`<section class="card">
    <h2>Player versions</h2>
    <p>Players on a wrong version don’t wake the server. They see which version to use.</p>
    ${panelForm(
      request,
      'clients',
      html`${radioField(filling(request, 'clients'), {
          name: 'clientVersions',
          label: 'Allowed versions',
          value: request.server.clientVersions,
          options: Object.entries(CLIENTS),
        })}<button type="submit">Save</button>`,
    )}
  </section>`;
}

function waitingCard(request: ServerRequest): Html {
  return html`<section class="card">
    <h2>Waiting room <span class="tag calm">experimental</span></h2>
    <p>
      Players on Minecraft 1.21.6 or newer who wake the server see its progress in a window, with the other waiting
      players and a button to leave. They join automatically when it is ready. Older clients, Forge and NeoForge clients
      wait on the loading screen.
    </p>
    ${panelForm(
      request,
      'room',
      html`${tickField(filling(request, 'room'), {
          name: 'waitingRoom',
          label: 'Show the waiting room',
          on: request.server.waitingRoom,
        })}<button type="submit">Save</button>`,
    )}
  </section>`;
}

const TEXT_CHARS = 1_024;
const TWO_LINES = 'At most two lines. Colour codes work as in the description.';

function textIn(form: Form, name: string): string {
  return (form.get(name) ?? '').replaceAll('\r\n', '\n').replace(/(?<!\n)\n+$/, '');
}

/** Settings of the public page. `baseUrl`: the pages' base URL for browsers. */
export function mountPublicSettings(panel: Panel, baseUrl: string): void {
  panel.serverPage({
    path: '/settings/public',
    show: (request) => publicPage(request, baseUrl),
    forms: {
      async save({ call, server: { id } }, form) {
        await call(SetPublicStatus, { id }, { enabled: form.has('enabled'), showAddress: form.has('showAddress') });
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
