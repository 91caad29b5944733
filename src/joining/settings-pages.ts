import { motdHtml } from '../game/motd/html.ts';
import type { ReplyOf } from '../http/calls.ts';
import { SAVED, settingsPage } from '../servers/pages/settings/frame.ts';
import type { ClientVersions } from '../servers/rows.ts';
import { type Html, html } from '../web/html.ts';
import type { Page } from '../web/page-request.ts';
import { filling, lineField, linesField, radioField, tickField } from '../web/panel/fields.ts';
import { panelForm } from '../web/panel/form.ts';
import type { Panel, ServerRequest } from '../web/panel/panel.ts';
import type { Form } from '../web/serve.ts';
import { WAKE_MODES } from './wake-policies.ts';

type Policy = ReplyOf<'SetWakePolicy'>;
type WakeMode = (typeof WAKE_MODES)[number];

/** Who wakes the server by joining, and what players meet who do not. */
export function mountJoiningSettings(panel: Panel): void {
  panel.serverPage({
    path: '/settings/joining',
    show: joiningPage,
    forms: {
      async policy({ call, server: { id } }, form) {
        const mode = form.get('mode') as WakeMode;
        await call('SetWakePolicy', { id }, { mode, maxWakesPerDay: Number(form.get('maxWakesPerDay')) });
        return 'saved';
      },
      async asleep({ call, server: { id } }, form) {
        await call('SetWakePolicy', { id }, { asleepMotd: textIn(form, 'asleepMotd') });
        return 'saved';
      },
      async maintenance({ call, server: { id } }, form) {
        await call('SetWakePolicy', { id }, { maintenanceText: textIn(form, 'maintenanceText') });
        return 'saved';
      },
      async room({ call, server: { id } }, form) {
        await call('UpdateServer', { id }, { waitingRoom: form.has('waitingRoom') });
        return 'saved';
      },
      async clients({ call, server: { id } }, form) {
        await call('UpdateServer', { id }, { clientVersions: form.get('clientVersions') as ClientVersions });
        return 'saved';
      },
    },
    done: SAVED,
  });
}

async function joiningPage(request: ServerRequest): Promise<Page> {
  // The empty request reads it.
  const policy = await request.call('SetWakePolicy', { id: request.server.id }, {});
  const cards = html`${wakeCard(request, policy)} ${maintenanceCard(request, policy)} ${asleepCard(request, policy)}
  ${clientsCard(request)} ${waitingCard(request)}`;
  return settingsPage(request, 'Joining', cards);
}

const MODES: Record<WakeMode, string> = {
  anyone: 'Everybody who is not banned',
  known: 'Whom the server knows: on the whitelist, an operator, or somebody who has played here',
  whitelist: 'Only who is on the whitelist, and operators',
  verified: 'Who has proved a Minecraft account, so that nobody wakes it under a false name',
  nobody: 'Nobody: it is started here, over the API or by a schedule',
};

function wakeCard(request: ServerRequest, policy: Policy): Html {
  const filled = filling(request, 'policy');
  return html`<section class="card">
    <h2>Who wakes it by joining</h2>
    <p>An awake server is open to whom the game lets in: see Players.</p>
    ${panelForm(
      request,
      'policy',
      html`${radioField(filled, {
          name: 'mode',
          label: 'May wake it',
          value: policy.mode,
          options: WAKE_MODES.map((mode) => [mode, MODES[mode]]),
        })}
        ${lineField(filled, {
          name: 'maxWakesPerDay',
          label: 'Wakes a day at most',
          hint: 'By joins, counted from midnight UTC. 0: as many as come.',
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
          ? 'Off. While there is a text, nobody wakes the server by joining; who tries reads it.'
          : html`<span class="tag warn">on</span> Joins wake nothing. Who tries reads the text. Empty it to end this.`
      }
    </p>
    ${maintenanceText !== '' && html`<p class="motd">${motdHtml(maintenanceText)}</p>`}
    ${panelForm(
      request,
      'maintenance',
      html`${linesField(filling(request, 'maintenance'), {
          name: 'maintenanceText',
          label: 'Text',
          hint: `${TWO_LINES} For example: We move to 1.21.8, back at eight.`,
          value: maintenanceText,
          maxlength: TEXT_CHARS,
          rows: 2,
        })}<button type="submit">Save</button>`,
    )}
  </section>`;
}

function asleepCard(request: ServerRequest, { asleepMotd }: Policy): Html {
  return html`<section class="card">
    <h2>While it sleeps</h2>
    <p>
      The server list shows this text then. Empty: the first line of the description, and below it that joining wakes
      it.
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
  auto: 'By its software: its own version alone, unless it has ViaVersion or its kin, or a server.jar of your own',
  own: 'Its own version alone',
  any: 'Any version: a plugin translates, such as ViaVersion',
};

function clientsCard(request: ServerRequest): Html {
  return html`<section class="card">
    <h2>Versions of players</h2>
    <p>Who cannot play wakes nothing: the list shows the version in red, and who joins reads which one to choose.</p>
    ${panelForm(
      request,
      'clients',
      html`${radioField(filling(request, 'clients'), {
          name: 'clientVersions',
          label: 'May play',
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
      Players of Minecraft 1.21.6 and newer who wake the server see its start in a window, with who else waits and a
      button to leave, and join by themselves once it is ready. Older clients, and those of Forge and NeoForge, wait as
      ever.
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
const TWO_LINES = 'Two lines at most, with colours as in the description.';

function textIn(form: Form, name: string): string {
  return (form.get(name) ?? '').replaceAll('\r\n', '\n').replace(/(?<!\n)\n+$/, '');
}
