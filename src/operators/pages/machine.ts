import type * as z from 'zod';
import { ASSETS } from '../../web/assets.ts';
import { confirmed } from '../../web/form.ts';
import { type Html, html } from '../../web/html.ts';
import type { Page } from '../../web/page-request.ts';
import { filling } from '../../web/panel/fields.ts';
import { panelForm } from '../../web/panel/form.ts';
import type { Outcome, Panel, PanelRequest } from '../../web/panel/panel.ts';
import { fact, rowTable } from '../../web/panel/parts.ts';
import { exactTime } from '../../web/panel/time.ts';
import { sinceTime } from '../../web/panel/words.ts';
import type { Form } from '../../web/serve.ts';
import { chart } from '../../web/statechart/chart.ts';
import { liveNote, mountOperatorPage, operatorPage, reasonField } from './frame.ts';
import {
  EVENTS,
  type MachineDetail,
  causeText,
  eventText,
  instantOf,
  machineName,
  stateTag,
  transitionRow,
  untilText,
  waitsText,
} from './machine-text.ts';
import { GetMachine, SendToMachine } from '../machines-api.ts';

/** The events that `SendToMachine` accepts. */
type Sendable = z.input<typeof SendToMachine.body>['event'];

/** Irreversible events need a confirmation: the question, the loss, and the answer. */
const FOR_GOOD: Readonly<Record<string, readonly [ask: string, lost: string, yes: string]>> = {
  KILL: ['Kill…', 'Unsaved changes are lost. STOP saves first.', 'Yes, kill without saving'],
  DELETE: ['Delete…', 'This can’t be undone.', 'Yes, delete this server'],
};

/**
 * One machine: its chart with the present state highlighted, the reason of its wait, its history, and the events that
 * can be sent.
 */
export function mountMachine(panel: Panel): void {
  mountOperatorPage(panel, {
    path: '/operator/machines/:id',
    show: machinePage,
    stream: ({ params: { id = '' } }) => `/v1/operator/machines:stream?${new URLSearchParams({ id }).toString()}`,
    saysLive: true,
    forms: { send },
    done: Object.fromEntries(Object.keys(EVENTS).map((event) => [event, `${event} sent.`])),
  });
}

async function send({ call, params: { id = '' } }: PanelRequest, form: Form): Promise<Outcome> {
  const event = (form.get('event') ?? '') as Sendable;
  await call(SendToMachine, { id }, { event, reason: form.get('reason') ?? '' });
  return event === 'DELETE' ? { to: '/operator' } : event;
}

/** Number of transitions shown at first. */
const FIRST_STEPS = 8;

async function machinePage(request: PanelRequest): Promise<Page> {
  const { call, params, query, now, here } = request;
  const machine = await call(GetMachine, { id: params['id'] ?? '' });
  const { id, path, kind, transitions, snapshot, definition } = machine;
  const name = machineName(machine);
  const steps = query.has('all') ? transitions : transitions.slice(0, FIRST_STEPS);
  const head = html`<div class="head">
    <h1><bdi>${name}</bdi> <span class="tag">${kind === 'grant' ? 'device grant' : 'server'}</span></h1>
    ${liveNote(here)}
  </div>`;
  const main = html`<section class="card" data-live="now" data-now="${now}">${presentFacts(machine, now)}</section>
    <div class="beside" data-only="${id}">
      ${sendCard(request, machine)}
      <section class="card">
        <h2>Statechart</h2>
        <div data-live="chart" data-path="${path}">${chart(definition as object, path)}</div>
      </section>
    </div>
    <section class="card flush">
      <h2>History</h2>
      <div data-live="history">
        ${
          transitions.length === 0
            ? html`<p class="empty">No transitions yet.</p>`
            : rowTable('Latest transitions, newest first', ['At', 'Event', 'Change', 'Cause'], steps.map(transitionRow))
        }
        ${
          transitions.length > steps.length &&
          html`<p class="about"><a href="${here}?all">Show the last ${transitions.length}</a></p>`
        }
      </div>
    </section>
    <section class="card">
      <h2>Snapshot</h2>
      <p class="hint">As stored, without secrets. <a href="/v1/operator/machines/${id}">All as JSON</a></p>
      <div data-live="snapshot">
        <pre class="json" tabindex="0" aria-label="The snapshot">${JSON.stringify(snapshot, null, 2)}</pre>
      </div>
    </section>`;
  const page = operatorPage(name, '/operator', main, head);
  return { ...page, styles: [...(page.styles ?? []), ASSETS.statechartStyle], scripts: [ASSETS.machinesScript] };
}

function presentFacts(machine: MachineDetail, now: number): Html {
  const { id, state, path, cause, accountId, deadlines } = machine;
  const since = instantOf(machine.since);
  const waits =
    deadlines.length === 0
      ? html`<span class="soft">none</span>`
      : html`${deadlines.map(({ name, at }) => html`<span>${name} <small>${at !== null && untilText(at)}</small></span>`)}`;
  const account =
    accountId !== '' &&
    html`<small
      ><a href="/operator?q=${accountId}"><code>${accountId}</code></a></small
    >`;
  return html`<dl class="facts">
    ${fact('State', html`${stateTag(state)} ${path.includes('.') && html`<small>${path}</small>`}`)}
    ${fact('For', html`${sinceTime(since, now)} <small>since ${exactTime(since)}</small>`)}
    ${fact('Waits for', waitsText(machine))} ${fact('Cause', causeText(cause))} ${fact('Deadlines', waits)}
    ${fact(accountId === '' ? 'Grant' : 'Server and account', html`<code>${id}</code> ${account}`)}
  </dl>`;
}

/** The form that sends events, with one reason for all. */
function sendCard(request: PanelRequest, { id, legalEvents }: MachineDetail): Html {
  const plain = legalEvents.filter((event) => !(event in FOR_GOOD));
  const hint = 'Recorded in the history and the audit log. Shown to the owner.';
  return html`<section class="card send">
    <h2>Send an event</h2>
    ${panelForm(
      request,
      'send',
      // The enter key presses a form's first button, which must not send an event.
      html`<button type="submit" disabled hidden>Choose an event</button>
        ${reasonField(filling(request, 'send'), hint)}
        <div data-live="events">
          ${
            legalEvents.length === 0
              ? html`<p class="empty">No event is possible in this state.</p>`
              : html`<ul class="events">
                  ${plain.map(
                    (event) =>
                      html`<li>${eventButton(event, event, event === 'DENY')} <span>${eventText(event)}</span></li>`,
                  )}
                </ul>`
          }
          ${legalEvents.filter((event) => event in FOR_GOOD).map((event) => askedApart(event, id))}
        </div>`,
    )}
  </section>`;
}

function askedApart(event: string, id: string): Html {
  const [ask, lost, yes] = FOR_GOOD[event] ?? ['', '', ''];
  return html`<div id="ask-${event}">
    ${confirmed(`${eventText(event)} ${lost}`, ask, id, eventButton(event, yes, true))}
  </div>`;
}

function eventButton(event: string, label: string, isDanger: boolean): Html {
  return html`<button class="${isDanger ? 'danger' : 'second'}" name="event" value="${event}" type="submit">
    ${label}
  </button>`;
}
