import type { ReplyOf } from '../../http/operation.ts';
import { type Html, html } from '../../web/html.ts';
import { filling, lineField } from '../../web/panel/fields.ts';
import { panelForm } from '../../web/panel/form.ts';
import type { ServerRequest } from '../../web/panel/panel.ts';
import type { Form } from '../../web/serve.ts';
import { countText, listText } from '../../web/text.ts';
import { type Kept, expired } from '../removal.ts';
import { ListBackups } from '../api.ts';

type Retention = ReplyOf<typeof ListBackups>['retention'];

/** The numbers of the form, with their labels. */
const FIELDS = [
  ['keepLast', 'Newest backups to keep'],
  ['hourly', 'Hourly backups to keep'],
  ['daily', 'Daily backups to keep'],
  ['weekly', 'Weekly backups to keep'],
  ['monthly', 'Monthly backups to keep'],
] as const satisfies readonly (readonly [keyof Retention, string])[];

const DIGITS = html`inputmode="numeric" pattern="[0-9]*"`;

/**
 * Describes how many backups are kept, with a form to change that. `goes`: the number that the entered values would
 * remove, which needs a separate confirmation.
 */
export function retentionCard(request: ServerRequest, retention: Retention, goes: number): Html {
  const filled = filling(request, 'retention');
  return html`<section class="card">
    <h2>Retention</h2>
    <p data-live="retention">${retentionText(retention)}</p>
    <details ${request.failed === 'retention' && html`open`}>
      <summary>Edit retention</summary>
      ${panelForm(
        request,
        'retention',
        html`<div class="side">
            ${FIELDS.map(([name, label]) =>
              lineField(filled, { name, label, value: String(retention[name]), maxlength: 4, more: DIGITS }),
            )}
          </div>
          <p class="hint">0 turns a rule off. If all are 0, every backup is kept. Days start at midnight UTC.</p>
          ${
            goes === 0
              ? html`<button type="submit">Save</button>`
              : html`<p class="note warn" role="alert">
                    The next backup deletes ${countText(goes, 'backup')} permanently. Lock the ones you want to keep.
                  </p>
                  <button class="danger" type="submit" name="goes" value="${goes}">Yes, delete them</button>`
          }`,
      )}
    </details>
  </section>`;
}

/** Returns the numbers of the form as entered. */
export function retentionIn(form: Form): (readonly [name: keyof Retention, typed: string])[] {
  return FIELDS.map(([name]) => [name, form.get(name)?.trim() || '0'] as const);
}

/** Returns how many existing backups the form's numbers would remove; 0 if one is not a number. */
export async function goingBy({ call, server: { id }, now }: ServerRequest, form: Form): Promise<number> {
  const typed = retentionIn(form);
  if (typed.some(([, text]) => !/^\d{1,4}$/.test(text))) return 0;
  const { backups, retention } = await call(ListBackups, { id });
  const rows = backups.map(({ kind, state, locked, note, createdAt, treeBytes }) => {
    return { kind, state, createdAt: Date.parse(createdAt ?? ''), locked, note, treeBytes: Number(treeBytes) } as Kept;
  });
  const wanted = Object.fromEntries(typed.map(([name, text]) => [name, Number(text)])) as unknown as Retention;
  const already = new Set(expired(rows, retention, now));
  return expired(rows, wanted, now).filter((row) => !already.has(row)).length;
}

/** Describes retention, as in `The 10 newest, and one for each of the last 7 days and 4 weeks. …` */
function retentionText({ keepLast, hourly, daily, weekly, monthly }: Retention): string {
  const spans = [
    [hourly, 'hour'],
    [daily, 'day'],
    [weekly, 'week'],
    [monthly, 'month'],
  ] as const;
  const named = spans.filter(([count]) => count > 0).map(([count, unit]) => countText(count, unit));
  if (keepLast === 0 && named.length === 0) return 'Every backup is kept until you delete it.';
  const newest = keepLast === 1 ? 'The newest' : `The ${keepLast} newest`;
  const last = named.length === 0 ? '' : `one for each of the last ${listText(named)}`;
  const rules = keepLast === 0 ? capital(last) : [newest, last].filter((part) => part !== '').join(', and ');
  return `${rules}. Older ones are deleted after each backup. Locked backups and the newest good one always stay.`;
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
