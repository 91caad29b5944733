import type { ReplyOf } from '../http/operation.ts';
import { StatusError } from '../kernel/status.ts';
import { playHours } from './next-run.ts';
import { WHENS, cronOf, timingOf, timingText } from './timing.ts';
import type { ScheduleKind } from './rows.ts';
import { ASSETS } from '../web/assets.ts';
import { confirmed, hidden } from '../web/form.ts';
import { type Html, html } from '../web/html.ts';
import type { Page } from '../web/page-request.ts';
import { choiceField, filling, lineField, tickField } from '../web/panel/fields.ts';
import { buttonForm, panelForm } from '../web/panel/form.ts';
import type { Panel, PanelPage, ServerRequest } from '../web/panel/panel.ts';
import { partOf } from '../web/panel/parts.ts';
import { agoTag, timeTag } from '../web/panel/time.ts';
import type { Form } from '../web/serve.ts';
import { untilText } from '../web/text.ts';
import { leftText } from '../servers/stopping.ts';
import { CreateSchedule, DeleteSchedule, ListSchedules, RunScheduleNow, SetScheduleEnabled, WARNED } from './api.ts';

const ON_A_PAGE = 20;

export function mountSchedulePages(panel: Panel): void {
  panel.serverPage({ path: '/schedules', show: schedulesPage, forms: FORMS, done: DONE });
}

const DONE = {
  made: 'Schedule created.',
  changed: 'Schedule saved.',
  ran: 'Done.',
  running: 'Running.',
  on: 'Schedule on.',
  off: 'Schedule off.',
  deleted: 'Schedule deleted.',
};

const FORMS: NonNullable<PanelPage<ServerRequest>['forms']> = {
  async save({ call, server: { id }, here }, form) {
    const scheduleId = text(form, 'scheduleId');
    const kind = text(form, 'kind') as ScheduleKind;
    const command = kind === 'command' ? text(form, 'command') : '';
    const [when, time, hours] = [text(form, 'when'), text(form, 'time'), text(form, 'hours')];
    const cronExpr = cronOf({ when, time, hours, cronExpr: text(form, 'cronExpr') });
    // Fields that the form hides do not count.
    const onlyWhenEmpty = when !== 'play' && form.get('onlyWhenEmpty') === 'true';
    const warnSeconds =
      WARNED.includes(kind) && when !== 'sleep' && !onlyWhenEmpty ? Number(text(form, 'warnSeconds')) : 0;
    const times = { cronExpr, timeZone: text(form, 'timeZone') };
    await call(CreateSchedule, { id }, { scheduleId, kind, command, ...times, onlyWhenEmpty, warnSeconds });
    // Drops `?edit=…`, so that the form is empty again.
    return { to: `${here}?done=${scheduleId === '' ? 'made' : 'changed'}` };
  },
  async run({ call, server: { id } }, form) {
    const { lastStatus, lastError } = await call(RunScheduleNow, { id }, { scheduleId: text(form, 'scheduleId') });
    if (lastStatus === '') return 'running';
    if (lastStatus === 'ok') return 'ran';
    const began = lastStatus === 'skipped' ? 'The run was skipped' : 'The run failed';
    throw new StatusError('FAILED_PRECONDITION', 'SCHEDULE_FAILED', `${began}: ${lastError}`);
  },
  async switch({ call, server: { id } }, form) {
    const enabled = text(form, 'enabled') === 'true';
    await call(SetScheduleEnabled, { id }, { scheduleId: text(form, 'scheduleId'), enabled });
    return enabled ? 'on' : 'off';
  },
  async delete({ call, server: { id }, here }, form) {
    await call(DeleteSchedule, { id }, { scheduleId: text(form, 'scheduleId') });
    return { to: `${here}?done=deleted` };
  },
};

async function schedulesPage(request: ServerRequest): Promise<Page> {
  const { call, server, query } = request;
  const { schedules } = await call(ListSchedules, { id: server.id });
  const edited = schedules.find(({ id }) => id === (request.sent?.get('scheduleId') ?? query.get('edit')));
  const { shown, pager } = partOf(request, schedules, { key: 'from', most: ON_A_PAGE, of: 'schedules' });
  const main = html`<section class="card" data-live="schedules">
      <h2>Schedules</h2>
      <p>
        Automatic tasks. Only a start wakes the server: commands and restarts are skipped while it is asleep, updates
        while it is awake.
      </p>
      ${
        schedules.length === 0
          ? html`<p class="empty">No schedules yet. Try a nightly backup.</p>`
          : html`<ul class="list">
              ${shown.map((schedule) => scheduleItem(request, schedule))}
            </ul>`
      }
      ${pager}
    </section>
    ${scheduleForm(request, edited)}`;
  return { title: 'Schedules', main, scripts: [ASSETS.schedulesScript] };
}

function text(form: Form, field: string): string {
  return (form.get(field) ?? '').trim();
}

/** The default of a new schedule: a nightly backup, which every server should have. */
const NEW = {
  id: '',
  kind: 'backup',
  command: '',
  cronExpr: '0 4 * * *',
  timeZone: 'UTC',
  onlyWhenEmpty: false,
  warnSeconds: 0,
};

/** The offered warnings, in seconds. */
const WARNINGS = [30, 60, 300, 600];

/**
 * Returns the form that creates or changes a schedule. The style sheet hides the fields that a choice does not need.
 */
function scheduleForm(request: ServerRequest, edited: Schedule | undefined): Html {
  const filled = filling(request, 'save');
  const { id, kind, command, cronExpr, timeZone, onlyWhenEmpty, warnSeconds } = edited ?? NEW;
  const warnings = WARNINGS.includes(warnSeconds) || warnSeconds === 0 ? WARNINGS : [warnSeconds, ...WARNINGS];
  const { when, time, hours } = timingOf(cronExpr);
  return html`<section class="card" id="schedule">
    <h2>${edited ? 'Change the schedule' : 'New schedule'}</h2>
    ${panelForm(
      request,
      'save',
      html`${hidden('scheduleId', id)}
        <div class="side schedule">
          ${choiceField(filled, { name: 'kind', label: 'What', value: kind, options: Object.entries(KINDS) })}
          <div class="if-command">
            ${lineField(filled, {
              name: 'command',
              label: 'Command',
              hint: 'Enter it as in the console.',
              value: command,
              maxlength: 4_096,
              required: false,
            })}
          </div>
          ${choiceField(filled, { name: 'when', label: 'When', value: when, options: WHENS })}
          <div class="if-play">
            ${lineField(filled, {
              name: 'hours',
              label: 'Hours of play',
              hint: 'Counts minutes with players online.',
              type: 'number',
              value: hours,
              maxlength: 3,
              required: false,
              more: html`min="1" max="720"`,
            })}
          </div>
          <div class="if-daily">
            ${lineField(filled, {
              name: 'time',
              label: 'Time',
              hint: 'For hourly tasks only the minutes apply.',
              type: 'time',
              value: time,
              maxlength: 5,
              required: false,
            })}
          </div>
          <div class="if-cron">
            ${lineField(filled, {
              name: 'cronExpr',
              label: 'Cron expression',
              hint: 'Minute, hour, day of month, month, day of week; or @daily.',
              value: cronExpr,
              maxlength: 120,
              required: false,
            })}
          </div>
          <div class="if-timed">
            ${lineField(filled, {
              name: 'timeZone',
              label: 'Time zone',
              hint: 'For example Europe/Berlin. Summer time is followed.',
              value: timeZone,
              maxlength: 64,
              required: false,
              more: html`list="zones" ${!edited && filled.value('timeZone', '') === '' && html`data-own-zone`}`,
            })}
          </div>
          <datalist id="zones"></datalist>
          <div class="if-warned">
            ${choiceField(filled, {
              name: 'warnSeconds',
              label: 'Warn players',
              value: String(warnSeconds),
              options: [
                ['0', 'no'],
                ...warnings.map((each) => [String(each), `${leftText(each * 1_000)} before`] as const),
              ],
            })}
          </div>
          <div class="unless-play">
            ${tickField(filled, { name: 'onlyWhenEmpty', label: 'Only if no one is online', on: onlyWhenEmpty })}
          </div>
        </div>
        <div class="actions">
          <button type="submit">${edited ? 'Save' : 'Create schedule'}</button>
          ${edited && html`<a class="button second" href="${request.here}">Cancel</a>`}
        </div>`,
    )}
  </section>`;
}

type Schedule = ReplyOf<typeof ListSchedules>['schedules'][number];

/** The name of each kind, in the form's order. */
const KINDS: Readonly<Record<ScheduleKind, string>> = {
  backup: 'Back up',
  start: 'Start the server',
  stop: 'Stop the server',
  restart: 'Restart the server',
  update: 'Update to the newest build',
  command: 'Run a command',
};

/** Returns one schedule as a list item: its action, its time, its last run, and its buttons. */
function scheduleItem(request: ServerRequest, schedule: Schedule): Html {
  const { id, command, cronExpr, enabled, nextRunAt, onlyWhenEmpty, playedMinutes, warnSeconds } = schedule;
  const hours = playHours(cronExpr);
  return html`<li id="${id}">
    <h3>
      ${kindText(schedule)}${command !== '' && html`: <code>${command}</code>`}
      ${!enabled && html`<span class="tag">off</span>`}
    </h3>
    <p>
      ${timingText(schedule)}${hours !== undefined && ` (${playText(hours * 60 - playedMinutes)} left)`}${
        nextRunAt !== '' && html` · next: ${timeTag(nextRunAt)}, ${untilText(Date.parse(nextRunAt), request.now)}`
      }
      ${onlyWhenEmpty && ' · only if no one is online'}
      ${warnSeconds > 0 && ` · warns players ${leftText(warnSeconds * 1_000)} before`}
    </p>
    <p>${lastText(schedule, request.now)}</p>
    <div class="actions">${actions(request, schedule)}</div>
  </li>`;
}

function playText(minutes: number): string {
  return [`${Math.floor(minutes / 60)} h`, `${minutes % 60} min`].filter((part) => !part.startsWith('0 ')).join(' ');
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
  const what = `${kindText(schedule)}, ${timingText(schedule)}`;
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
