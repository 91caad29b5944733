import { StatusError } from '../../kernel/status.ts';
import { html } from '../../web/html.ts';
import { ASSETS } from '../../web/assets.ts';
import type { Page } from '../../web/page-request.ts';
import type { Panel, PanelPage, ServerRequest } from '../../web/panel/panel.ts';
import { partOf } from '../../web/panel/parts.ts';
import type { Form } from '../../web/serve.ts';
import { scheduleForm } from './schedule-form.ts';
import { scheduleItem } from './schedule-item.ts';
import { cronOf } from './timing.ts';

const ON_A_PAGE = 20;

/** Mounts the page of a server's schedules. */
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
    const kind = text(form, 'kind') as 'start';
    const command = kind === ('command' as string) ? text(form, 'command') : '';
    const cronExpr = cronOf({ when: text(form, 'when'), time: text(form, 'time'), cronExpr: text(form, 'cronExpr') });
    await call('CreateSchedule', { id }, { scheduleId, kind, command, cronExpr });
    // Drops `?edit=…`, so that the form is empty again.
    return { to: `${here}?done=${scheduleId === '' ? 'made' : 'changed'}` };
  },
  async run({ call, server: { id } }, form) {
    const { lastStatus, lastError } = await call('RunScheduleNow', { id }, { scheduleId: text(form, 'scheduleId') });
    if (lastStatus === '') return 'running';
    if (lastStatus === 'ok') return 'ran';
    const began = lastStatus === 'skipped' ? 'The run was skipped' : 'The run failed';
    throw new StatusError('FAILED_PRECONDITION', 'SCHEDULE_FAILED', `${began}: ${lastError}`);
  },
  async switch({ call, server: { id } }, form) {
    const enabled = text(form, 'enabled') === 'true';
    await call('SetScheduleEnabled', { id }, { scheduleId: text(form, 'scheduleId'), enabled });
    return enabled ? 'on' : 'off';
  },
  async delete({ call, server: { id }, here }, form) {
    await call('DeleteSchedule', { id }, { scheduleId: text(form, 'scheduleId') });
    return { to: `${here}?done=deleted` };
  },
};

async function schedulesPage(request: ServerRequest): Promise<Page> {
  const { call, server, query } = request;
  const { schedules } = await call('ListSchedules', { id: server.id });
  const edited = schedules.find(({ id }) => id === (request.sent?.get('scheduleId') ?? query.get('edit')));
  const { shown, pager } = partOf(request, schedules, { key: 'from', most: ON_A_PAGE, of: 'schedules' });
  const main = html`<section class="card" data-live="schedules">
      <h2>Schedules</h2>
      <p>Automatic tasks. Only a start wakes the server: commands and restarts are skipped while it is asleep.</p>
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
