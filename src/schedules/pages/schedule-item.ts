import type { ReplyOf } from '../../http/calls.ts';
import { confirmed } from '../../web/form.ts';
import { type Html, html } from '../../web/html.ts';
import { buttonForm } from '../../web/panel/form.ts';
import type { ServerRequest } from '../../web/panel/panel.ts';
import { agoTag, timeTag } from '../../web/panel/time.ts';
import { untilText } from '../../web/text.ts';
import type { ScheduleKind } from '../rows.ts';
import { timingText } from './timing.ts';

export type Schedule = ReplyOf<'ListSchedules'>['schedules'][number];

/** The name of each kind, in the form's order. */
export const KINDS: Readonly<Record<ScheduleKind, string>> = {
  backup: 'Back up',
  start: 'Start the server',
  stop: 'Stop the server',
  restart: 'Restart the server',
  command: 'Run a command',
};

/** Returns one schedule as a list item: its action, its time, its last run, and its buttons. */
export function scheduleItem(request: ServerRequest, schedule: Schedule): Html {
  const { id, command, cronExpr, enabled, nextRunAt } = schedule;
  return html`<li id="${id}">
    <h3>
      ${kindText(schedule)}${command !== '' && html`: <code>${command}</code>`}
      ${!enabled && html`<span class="tag">off</span>`}
    </h3>
    <p>
      ${timingText(cronExpr)}${
        nextRunAt !== '' && html` · next: ${timeTag(nextRunAt)}, ${untilText(Date.parse(nextRunAt), request.now)}`
      }
    </p>
    <p>${lastText(schedule, request.now)}</p>
    <div class="actions">${actions(request, schedule)}</div>
  </li>`;
}

function kindText({ kind }: Schedule): string {
  return (KINDS as Record<string, string>)[kind] ?? kind;
}

function lastText({ lastRunAt, lastStatus, lastError }: Schedule, now: number): Html {
  // A schedule whose runs were all skipped has no last run.
  const when = lastRunAt === '' ? undefined : agoTag(lastRunAt, now);
  switch (lastStatus) {
    case 'ok':
      return html`<span class="tag good">done</span> ${when}`;
    case 'error':
      return html`<span class="tag bad">failed</span> ${when && html`${when}: `}${lastError}`;
    case 'skipped':
      return html`<span class="tag warn">skipped</span> ${lastError}`;
    default:
      return when ? html`<span class="tag warn">running</span> since ${when}` : html`Not run yet.`;
  }
}

function actions(request: ServerRequest, schedule: Schedule): Html[] {
  const { id, enabled } = schedule;
  const what = `${kindText(schedule)}, ${timingText(schedule.cronExpr)}`;
  const unseen = html`<span class="unseen"> (${what})</span>`;
  const fields = { scheduleId: id };
  return [
    buttonForm(request, 'run', html`Run now${unseen}`, { fields }),
    buttonForm(request, 'switch', html`Turn ${enabled ? 'off' : 'on'}${unseen}`, {
      fields: { ...fields, enabled: String(!enabled) },
    }),
    html`<a class="button second" href="${request.here}?edit=${id}#schedule">Change${unseen}</a>`,
    confirmed(
      'No further runs.',
      'Delete…',
      what,
      buttonForm(request, 'delete', 'Delete', { fields, variant: 'danger' }),
    ),
  ];
}
