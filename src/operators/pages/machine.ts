import { StatusError } from '../../kernel/status.ts';
import { auditActorOf } from '../../people/audit/audit.ts';
import { operatorCause } from '../../people/caller.ts';
import { ASSETS } from '../../web/assets.ts';
import { confirmed, csrfField, doneNote, problemNote } from '../../web/form.ts';
import { type Html, html } from '../../web/html.ts';
import { type Problem, problemOf, withProblem } from '../../web/problem.ts';
import type { Form, Serve } from '../../web/serve.ts';
import { instantText } from '../../web/text.ts';
import { sinceTime } from '../../web/panel/words.ts';
import type { Answer, Page, SignedInRequest } from '../../web/page-request.ts';
import type { MachineDetail, Machines } from '../machines.ts';
import { chart } from '../../web/statechart/chart.ts';
import { forOperators, operatorTabs } from './frame.ts';
import { causeText, eventText, machineName, stateTag, transitionRow, untilText, waitsText } from './machine-text.ts';

const MACHINE_ID = /^[\w-]{1,64}$/;
const REASON_CHARS = 200;
/** What cannot be undone is asked for apart. */
const FOR_GOOD = 'DELETE';
const PATH = '/operator/machines/:id';

/** One machine, laid open: its chart with the present state lit, what it waits for, its past, and what may be sent to it. */
export function mountMachine(serve: Serve, { machines }: { machines: Pick<Machines, 'inspect' | 'send'> }): void {
  serve.signedIn(PATH, forOperators(shown));
  serve.submitSignedIn(PATH, forOperators(sent));

  async function shown(request: SignedInRequest): Promise<Page> {
    return machinePage(request, await known(request), { reason: '' });
  }

  async function sent(request: SignedInRequest, form: Form): Promise<Answer> {
    const machine = await known(request);
    const event = form.get('event') ?? '';
    const reason = reasonOf(form);
    if (typeof reason !== 'string')
      return machinePage(request, machine, { reason: form.get('reason') ?? '', problem: reason });
    const { principal } = request;
    const { accountId } = principal;
    try {
      await machines.send(machine.id, {
        event,
        cause: operatorCause(principal, reason),
        actor: auditActorOf(principal),
        accountId,
      });
    } catch (error) {
      return machinePage(request, await known(request), { reason, problem: problemOf(error) });
    }
    return { to: `/operator/machines/${machine.id}?sent=${event}` };
  }

  async function known({ params: { id = '' } }: SignedInRequest): Promise<MachineDetail> {
    const machine = MACHINE_ID.test(id) ? await machines.inspect(id) : undefined;
    if (machine) return machine;
    throw new StatusError('NOT_FOUND', 'MACHINE_NOT_FOUND', 'There is no such machine, or it is gone by now.');
  }
}

function reasonOf(form: Form): string | Problem {
  const reason = (form.get('reason') ?? '').trim();
  if (reason === '') return { field: 'reason', message: 'Say why: whoever owns it can read it.', status: 422 };
  if (reason.length > REASON_CHARS || /\p{Cc}/u.test(reason) || !reason.isWellFormed()) {
    return { field: 'reason', message: `One line of at most ${REASON_CHARS} characters.`, status: 422 };
  }
  return reason;
}

/** As many transitions as are shown at first. */
const FIRST_STEPS = 15;

interface Draft {
  reason: string;
  problem?: Problem;
}

function machinePage(request: SignedInRequest, machine: MachineDetail, draft: Draft): Page {
  const { id, path, kind, transitions, snapshot, definition } = machine;
  const name = machineName(machine);
  const { now, query } = request;
  const sent = query.get('sent');
  const steps = query.has('all') ? transitions : transitions.slice(0, FIRST_STEPS);
  const main = html`<div class="machines one" data-stream="/v1/operator/machines:stream?id=${id}" data-only="${id}">
    <div class="card head">
      ${operatorTabs('/operator')}
      <p class="kicker"><a href="/operator">Machines</a> / ${kind === 'grant' ? 'device grant' : 'server'}</p>
      <div class="heading">
        <h1><bdi>${name}</bdi></h1>
        <p class="live" role="status" data-status>
          As of when this page was loaded. <a href="/operator/machines/${id}">Reload</a>
        </p>
      </div>
      ${doneNote(sent !== null && eventText(sent) !== '' ? `${sent} was sent.` : undefined)}
      <div data-live="now" data-now="${now}">${presentFacts(machine, now)}</div>
    </div>
    <div class="beside">
      ${sendCard(request, machine, draft)}
      <section class="card">
        <h2>Statechart</h2>
        <div data-live="chart" data-path="${path}">${chart(definition, path)}</div>
      </section>
    </div>
    <section class="card flush">
      <h2>History</h2>
      <div data-live="history">
        ${
          transitions.length === 0
            ? html`<p class="empty">Nothing has happened to it yet.</p>`
            : html`<table class="rows">
                <caption class="unseen">
                  The last transitions, newest first
                </caption>
                <thead>
                  <tr>
                    <th scope="col">At (UTC)</th>
                    <th scope="col">Event</th>
                    <th scope="col">Change</th>
                    <th scope="col">Cause</th>
                  </tr>
                </thead>
                <tbody>
                  ${steps.map(transitionRow)}
                </tbody>
              </table>`
        }
        ${
          transitions.length > steps.length &&
          html`<p class="about"><a href="/operator/machines/${id}?all">Show the last ${transitions.length}</a></p>`
        }
      </div>
    </section>
    <section class="card">
      <h2>Snapshot</h2>
      <p class="hint">
        As it is stored; what could be secret is left out. <a href="/v1/operator/machines/${id}">All as JSON</a>
      </p>
      <div data-live="snapshot">
        <pre class="json" tabindex="0" aria-label="The snapshot">${JSON.stringify(snapshot, null, 2)}</pre>
      </div>
    </section>
  </div>`;
  return withProblem(
    {
      title: name,
      main,
      styles: [ASSETS.panelStyle, ASSETS.machinesStyle, ASSETS.statechartStyle],
      libraries: [ASSETS.idiomorph],
      scripts: [ASSETS.live, ASSETS.machinesScript],
    },
    draft.problem,
  );
}

function presentFacts(machine: MachineDetail, now: number): Html {
  const { id, state, path, since, cause, accountId, deadlines } = machine;
  return html`<dl class="facts">
    <div>
      <dt>State</dt>
      <dd>${stateTag(state)} ${path.includes('.') && html`<small>${path}</small>`}</dd>
    </div>
    <div>
      <dt>For</dt>
      <dd>${sinceTime(since, now)} <small>since ${instantText(since)}</small></dd>
    </div>
    <div>
      <dt>Waits for</dt>
      <dd>${waitsText(machine)}</dd>
    </div>
    <div>
      <dt>Cause</dt>
      <dd>${causeText(cause)}</dd>
    </div>
    <div>
      <dt>Deadlines</dt>
      <dd>
        ${
          deadlines.length === 0
            ? html`<span class="soft">none</span>`
            : deadlines.map(({ name, at }) => html`<span>${name} <small>${untilText(at)}</small></span>`)
        }
      </dd>
    </div>
    <div>
      <dt>${accountId === '' ? 'Grant' : 'Server and account'}</dt>
      <dd>
        <code>${id}</code>
        ${
          accountId !== '' &&
          html`<small
            ><a href="/operator?q=${accountId}"><code>${accountId}</code></a></small
          >`
        }
      </dd>
    </div>
  </dl>`;
}

function sendCard({ csrf }: SignedInRequest, { id, legalEvents }: MachineDetail, { reason, problem }: Draft): Html {
  const plain = legalEvents.filter((event) => event !== FOR_GOOD);
  const wrong = problem?.field === 'reason' ? problem : undefined;
  return html`<section class="card send">
    <h2>Send an event</h2>
    ${problemNote(problem)}
    <form method="post" action="/operator/machines/${id}">
      ${csrfField(csrf)}
      <div class="field">
        <label for="reason">Reason</label>
        <p class="hint" id="reason-hint">Goes into the history and the audit log. The owner can read it.</p>
        ${wrong && html`<p class="wrong" id="reason-problem">${wrong.message}</p>`}
        <input
          id="reason"
          name="reason"
          type="text"
          value="${reason}"
          maxlength="${REASON_CHARS}"
          required
          autocomplete="off"
          aria-describedby="reason-hint${wrong ? ' reason-problem' : ''}"
          ${wrong && html`aria-invalid="true" autofocus`}
        />
      </div>
      <div data-live="events">
        ${
          plain.length === 0
            ? html`<p class="empty">No event is possible in this state.</p>`
            : html`<ul class="events">
                ${plain.map(
                  (event) =>
                    html`<li>
                      <button
                        class="${event === 'KILL' || event === 'DENY' ? 'danger' : 'second'}"
                        name="event"
                        value="${event}"
                        type="submit"
                      >
                        ${event}
                      </button>
                      <span>${eventText(event)}</span>
                    </li>`,
                )}
              </ul>`
        }
      </div>
    </form>
    ${legalEvents.includes(FOR_GOOD) && deletion(id, csrf)}
  </section>`;
}

function deletion(id: string, csrf: string): Html {
  return confirmed(
    `${eventText(FOR_GOOD)} It cannot be brought back.`,
    'Delete…',
    id,
    html`<form method="post" action="/operator/machines/${id}">
      ${csrfField(csrf)}
      <div class="field">
        <label for="reason-deletion">Reason for the deletion</label>
        <input id="reason-deletion" name="reason" type="text" maxlength="${REASON_CHARS}" required autocomplete="off" />
      </div>
      <button class="danger" name="event" value="${FOR_GOOD}" type="submit">Yes, delete this server</button>
    </form>`,
  );
}
