import type { ReplyOf } from '../../http/calls.ts';
import { ASSETS } from '../../web/assets.ts';
import { type Html, html } from '../../web/html.ts';
import type { Page } from '../../web/page-request.ts';
import type { Panel, ServerRequest } from '../../web/panel/panel.ts';
import { stateTag } from '../../web/panel/state.ts';
import { timeTag } from '../../web/panel/time.ts';
import { causeWords, sinceTime } from '../../web/panel/words.ts';
import { chart } from '../../web/statechart/chart.ts';

type Machine = ReplyOf<'InspectMachine'>;
type Step = Machine['transitions'][number];

/** As many steps as are shown at first. */
const FIRST_STEPS = 15;

/** The machine that decides what a server does: where it is, what may come next, and how it came there. */
export function mountMachine(panel: Panel): void {
  panel.serverPage({ path: '/machine', show: machinePage });
}

async function machinePage(request: ServerRequest): Promise<Page> {
  const { server, call, now, here, query } = request;
  const machine = await call('InspectMachine', { id: server.id });
  const known = machine.transitions;
  const steps = query.has('all') ? known : known.slice(0, FIRST_STEPS);
  const main = html`<section class="card" data-live="machine">
      <h2>What decides</h2>
      <p>
        Every step of this server is one of this chart, stored with its cause before anything is done. It is in
        ${stateTag(machine.state)}${machine.since !== null && html` for ${sinceTime(Date.parse(machine.since), now)}`}.
      </p>
      ${comesNext(machine)} ${chart(machine.definition as object, machine.path)}
    </section>
    <section class="card flush" data-live="history">
      <h2>History</h2>
      ${
        known.length === 0
          ? html`<p class="empty">Nothing has happened to it yet.</p>`
          : html`<table class="rows">
              <caption class="unseen">
                What happened, newest first
              </caption>
              <thead>
                <tr>
                  <th scope="col">When</th>
                  <th scope="col">What</th>
                  <th scope="col">Why</th>
                  <th scope="col">Event</th>
                </tr>
              </thead>
              <tbody>
                ${steps.map((step) => stepRow(request, step))}
              </tbody>
            </table>`
      }
      ${
        known.length > steps.length &&
        html`<p class="about"><a href="${here}?all">Show the last ${known.length}</a></p>`
      }
    </section>`;
  return { title: 'Machine', main, styles: [ASSETS.statechartStyle] };
}

function comesNext({ allowedEvents, deadlines }: Machine): Html {
  return html`<dl class="facts">
    <div>
      <dt>It would take now</dt>
      <dd>${allowedEvents.map((event) => COMMANDS[event] ?? event).join(', ') || 'nothing'}</dd>
    </div>
    <div>
      <dt>Deadlines</dt>
      <dd>
        ${
          deadlines.length === 0
            ? html`<span class="soft">none</span>`
            : deadlines.map(
                ({ name, at }) => html`<span>${DEADLINES[name] ?? 'Given up'} ${at !== null && timeTag(at)}</span> `,
              )
        }
      </dd>
    </div>
  </dl>`;
}

const COMMANDS: Readonly<Record<string, string>> = {
  START: 'a start',
  STOP: 'a stop',
  RESTART: 'a restart',
  KILL: 'a kill',
  JOIN: 'a player who joins',
  RETRY_INSTALL: 'another try to install',
  REINSTALL: 'another software',
  KEEP_AWAKE: 'to be kept awake',
  DELETE: 'its deletion',
};
const DEADLINES: Readonly<Record<string, string>> = {
  keepAwake: 'Kept awake until',
  idle: 'Goes to sleep, if nobody comes,',
  falseWake: 'Goes to sleep, as nobody has come in,',
};

function stepRow(request: ServerRequest, step: Step): Html {
  return html`<tr>
    <th scope="row">${timeTag(step.at ?? 0)}</th>
    <td data-label="What">${whatHappened(step)}</td>
    <td data-label="Why"><span>${causeWords(step.cause, request.principal)}</span></td>
    <td data-label="Event"><code>${step.event}</code></td>
  </tr>`;
}

/** A step in a sentence. */
export function whatHappened({ event, from, to }: Pick<Step, 'event' | 'from' | 'to'>): string {
  if (from === to) return STAYED[event] ?? 'It went on';
  if (from === '') return 'It was made';
  return ENTERED[to] ?? to.replaceAll('_', ' ');
}

const ENTERED: Readonly<Record<string, string>> = {
  hibernated: 'It fell asleep',
  starting: 'It was woken',
  running: 'It was ready for players',
  stopping: 'It began to save and stop',
  installing: 'Its software was being fetched',
  install_failed: 'Its software could not be installed',
  start_failed: 'Its start failed',
  maintaining: 'Its files were being worked on',
  deleting: 'It was being deleted',
};
const STAYED: Readonly<Record<string, string>> = {
  KEEP_AWAKE: 'Asked to stay awake',
  START: 'Asked to start once it has stopped',
  RESTART: 'Asked to restart',
  JOIN: 'Somebody joined while it was in transition',
  KILL: 'Asked to end at once',
  STOP: 'Asked to stop',
};
