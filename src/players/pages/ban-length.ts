import { invalidFields } from '../../http/errors.ts';
import { DAY_MS, HOUR_MS } from '../../kernel/units.ts';
import { type Html, html } from '../../web/html.ts';
import { type Filling, choiceField, lineField } from '../../web/panel/fields.ts';
import type { Form } from '../../web/serve.ts';

const LENGTHS: Readonly<Partial<Record<string, number>>> = { hour: HOUR_MS, day: DAY_MS, week: 7 * DAY_MS };
const DATE_CHARS = 10;

/** The form fields for a ban's length. */
export function lengthFields(filled: Filling): Html {
  return html`${choiceField(filled, {
    name: 'length',
    label: 'Duration',
    options: [
      ['', 'Permanent'],
      ['hour', 'An hour'],
      ['day', 'A day'],
      ['week', 'A week'],
      ['date', 'Until a date'],
    ],
  })}
  ${lineField(filled, {
    name: 'expires',
    label: 'Last day of the ban (UTC)',
    hint: 'Used only with “Until a date”.',
    type: 'date',
    maxlength: DATE_CHARS,
    required: false,
  })}`;
}

/**
 * Returns the end of a ban from its form, in the operations' format; undefined if it is permanent. Throws INVALID_FIELD
 * for an invalid date.
 */
export function endIn(form: Form, now: number): string | undefined {
  const length = form.get('length') ?? '';
  if (length !== 'date') {
    const ms = LENGTHS[length];
    return ms === undefined ? undefined : new Date(now + ms).toISOString();
  }
  const day = form.get('expires') ?? '';
  const begins = Date.parse(`${day}T00:00:00Z`);
  // Dates such as 31 February parse, but become another day.
  if (Number.isNaN(begins) || !new Date(begins).toISOString().startsWith(day))
    throw invalidFields([{ field: 'expires', description: 'Enter a date, such as 2030-01-31.' }]);
  return new Date(begins + DAY_MS).toISOString();
}
