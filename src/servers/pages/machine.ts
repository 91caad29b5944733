import type { ReplyOf } from '../../http/operation.ts';
import { ASSETS } from '../../web/assets.ts';
import { type Html, html } from '../../web/html.ts';
import type { Page } from '../../web/page-request.ts';
import type { Panel, ServerRequest } from '../../web/panel/panel.ts';
import { rowTable } from '../../web/panel/parts.ts';
import { stateTag } from '../../web/panel/state.ts';
import { timeTag } from '../../web/panel/time.ts';
import { causeWords, sinceTime } from '../../web/panel/words.ts';
import { chart } from '../../web/statechart/chart.ts';
import { historyLinks } from './parts.ts';
import { InspectMachine } from '../api/machine.ts';

type Machine = ReplyOf<typeof InspectMachine>;
type Step = Machine['transitions'][number];

/** Number of steps shown at first. */
const FIRST_STEPS = 15;

/** The state machine's page: its state, the possible next events, and its history. */
export function mountMachine(panel: Panel): void {
  panel.serverPage({ path: '/machine', show: machinePage });
}

async function machinePage(request: ServerRequest): Promise<Page> {
  const { server, call, now, here, query } = request;
  const machine = await call(InspectMachine, { id: server.id });
  const known = machine.transitions;
  const steps = query.has('all') ? known : known.slice(0, FIRST_STEPS);
  const main = html`${historyLinks(request)}
    <section class="card" data-live="machine">
      <h2>State machine</h2>
      <p>
        Each step of the server is a transition in this chart, recorded with its cause first. It is in
        ${stateTag(machine.state)}${machine.since !== null && html` for ${sinceTime(Date.parse(machine.since), now)}`}.
      </p>
      ${comesNext(machine)} ${chart(machine.definition as object, machine.path)}
    </section>
    <section class="card flush" data-live="history">
      <h2>History</h2>
      ${
        known.length === 0
          ? html`<p class="empty">No transitions yet.</p>`
          : rowTable(
              'History, newest first',
              ['When', 'What', 'Why', 'Event'],
              steps.map((step) => stepRow(request, step)),
            )
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
      <dt>Possible now</dt>
      <dd>${allowedEvents.map((event) => COMMANDS[event] ?? event).join(', ') || 'nothing'}</dd>
    </div>
    <div>
      <dt>Deadlines</dt>
      <dd>
        ${
          deadlines.length === 0
            ? html`<span class="soft">none</span>`
            : deadlines.map(
                ({ name, at }) => html`<span>${DEADLINES[name] ?? 'Times out'} ${at !== null && timeTag(at)}</span> `,
              )
        }
      </dd>
    </div>
  </dl>`;
}

const COMMANDS: Readonly<Record<string, string>> = {
  START: 'start',
  STOP: 'stop',
  RESTART: 'restart',
  KILL: 'kill',
  JOIN: 'join',
  RETRY_INSTALL: 'retry the install',
  REINSTALL: 'install other software',
  KEEP_AWAKE: 'keep awake',
  DELETE: 'delete',
};
const DEADLINES: Readonly<Record<string, string>> = {
  keepAwake: 'Kept awake until',
  awakeHours: 'Awake hours until',
  idle: 'Sleeps unless someone joins',
  falseWake: 'Sleeps because no one joined',
};

function stepRow(request: ServerRequest, step: Step): Html {
  return html`<tr>
    <th scope="row">${timeTag(step.at ?? 0)}</th>
    <td data-label="What">${whatHappened(step)}</td>
    <td data-label="Why"><span>${causeWords(step.cause, request.principal)}</span></td>
    <td data-label="Event"><code>${step.event}</code></td>
  </tr>`;
}

/** Returns a step as a sentence. */
function whatHappened({ event, from, to }: Step): string {
  if (from === to) return STAYED[event] ?? 'Continued';
  if (from === '') return 'Created';
  return ENTERED[to] ?? to.replaceAll('_', ' ');
}

const ENTERED: Readonly<Record<string, string>> = {
  hibernated: 'Fell asleep',
  starting: 'Started',
  running: 'Ready for players',
  stopping: 'Saving and stopping',
  installing: 'Installing software',
  install_failed: 'Install failed',
  start_failed: 'Start failed',
  maintaining: 'File operation',
  deleting: 'Deleting',
};
const STAYED: Readonly<Record<string, string>> = {
  KEEP_AWAKE: 'Asked to stay awake',
  START: 'Asked to start once it has stopped',
  RESTART: 'Asked to restart',
  JOIN: 'A player joined during a transition',
  KILL: 'Asked to end immediately',
  STOP: 'Asked to stop',
};
