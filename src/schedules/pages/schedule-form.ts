import { hidden } from '../../web/form.ts';
import { type Html, html } from '../../web/html.ts';
import { choiceField, filling, lineField } from '../../web/panel/fields.ts';
import { panelForm } from '../../web/panel/form.ts';
import type { ServerRequest } from '../../web/panel/panel.ts';
import { KINDS, type Schedule } from './schedule-item.ts';
import { WHENS, timingOf } from './timing.ts';

/** The default of a new schedule: a nightly backup, which every server should have. */
const NEW = { id: '', kind: 'backup', command: '', cronExpr: '0 4 * * *' };

/**
 * Returns the form that creates or changes a schedule. The style sheet hides the fields that a choice does not need.
 */
export function scheduleForm(request: ServerRequest, edited: Schedule | undefined): Html {
  const filled = filling(request, 'save');
  const { id, kind, command, cronExpr } = edited ?? NEW;
  const { when, time } = timingOf(cronExpr);
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
          <div class="unless-cron">
            ${lineField(filled, {
              name: 'time',
              label: 'Time',
              hint: html`In UTC<span data-own-time="save-time"></span>. For hourly tasks only the minutes apply.`,
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
              hint: 'Minute, hour, day of month, month, day of week. UTC.',
              value: cronExpr,
              maxlength: 120,
              required: false,
            })}
          </div>
        </div>
        <div class="actions">
          <button type="submit">${edited ? 'Save' : 'Create schedule'}</button>
          ${edited && html`<a class="button second" href="${request.here}">Cancel</a>`}
        </div>`,
    )}
  </section>`;
}
