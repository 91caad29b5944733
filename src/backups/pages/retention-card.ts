import type { ReplyOf } from '../../http/calls.ts';
import { type Html, html } from '../../web/html.ts';
import { filling, lineField } from '../../web/panel/fields.ts';
import { panelForm } from '../../web/panel/form.ts';
import type { ServerRequest } from '../../web/panel/panel.ts';
import { countText, listText } from '../../web/text.ts';

type Retention = ReplyOf<'ListBackups'>['retention'];

/** The numbers of the form, with their labels. */
export const RETENTION_FIELDS = [
  ['keepLast', 'The newest'],
  ['hourly', 'One of each hour, for so many hours'],
  ['daily', 'One of each day, for so many days'],
  ['weekly', 'One of each week, for so many weeks'],
  ['monthly', 'One of each month, for so many months'],
] as const satisfies readonly (readonly [keyof Retention, string])[];

const DIGITS = html`inputmode="numeric" pattern="[0-9]*"`;

/** How many backups are kept, in words, and a form to change it. */
export function retentionCard(request: ServerRequest, retention: Retention): Html {
  const filled = filling(request, 'retention');
  return html`<section class="card">
    <h2>What is kept</h2>
    <p data-live="retention">${retentionText(retention)}</p>
    <details ${request.failed === 'retention' && html`open`}>
      <summary>Change what is kept</summary>
      ${panelForm(
        request,
        'retention',
        html`<div class="side">
            ${RETENTION_FIELDS.map(([name, label]) =>
              lineField(filled, { name, label, value: String(retention[name]), maxlength: 4, more: DIGITS }),
            )}
          </div>
          <p class="hint">0 turns a rule off; with all at 0, every backup is kept. Days begin at midnight UTC.</p>
          <button type="submit">Save</button>`,
      )}
    </details>
  </section>`;
}

/** `The 10 newest, and the newest of each of the last 7 days and 4 weeks. …` */
function retentionText({ keepLast, hourly, daily, weekly, monthly }: Retention): string {
  const spans = [
    [hourly, 'hour'],
    [daily, 'day'],
    [weekly, 'week'],
    [monthly, 'month'],
  ] as const;
  const named = spans.filter(([count]) => count > 0).map(([count, unit]) => countText(count, unit));
  if (keepLast === 0 && named.length === 0) return 'Every backup, until you delete it.';
  const newest = keepLast === 1 ? 'The newest' : `The ${keepLast} newest`;
  const last = named.length === 0 ? '' : `the newest of each of the last ${listText(named)}`;
  const rules = keepLast === 0 ? capital(last) : [newest, last].filter((part) => part !== '').join(', and ');
  return `${rules}. Others are deleted when a backup has been made; locked ones and the newest good one always stay.`;
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
