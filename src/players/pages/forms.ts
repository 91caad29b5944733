import { invalidFields } from '../../http/errors.ts';
import { DAY_MS, HOUR_MS } from '../../kernel/units.ts';
import { type Html, html } from '../../web/html.ts';
import { type Filling, choiceField, lineField } from '../../web/panel/fields.ts';
import type { Panel, ServerRequest } from '../../web/panel/panel.ts';
import type { Form } from '../../web/serve.ts';
import { KickPlayer, SetBanEntry, SetIpBanEntry, SetOpEntry, SetWhitelistEnforced, SetWhitelistEntry } from '../api.ts';

type Forms = NonNullable<Parameters<Panel['serverPage']>[0]['forms']>;

/** The page's forms, one operation each. */
export const playerForms: Forms = {
  async kick({ call, server, here }, form) {
    await call(KickPlayer, server, { name: text(form, 'name'), reason: text(form, 'reason') });
    return { to: `${here}?done=kicked` };
  },
  async enforce({ call, server }, form) {
    await call(SetWhitelistEnforced, server, { enforced: isOn(form) });
    return 'whitelist';
  },
  async whitelist({ call, server }, form) {
    await call(SetWhitelistEntry, server, { name: text(form, 'name'), allowed: isOn(form) });
    return 'whitelist';
  },
  async operator({ call, server }, form) {
    await call(SetOpEntry, server, { name: text(form, 'name'), op: isOn(form) });
    return 'operators';
  },
  async ban(request, form) {
    await request.call(SetBanEntry, request.server, { name: text(form, 'name'), ...banIn(request, form) });
    return { to: `${request.here}?done=bans#bans` };
  },
  async 'ban-address'(request, form) {
    await request.call(SetIpBanEntry, request.server, { ip: text(form, 'ip'), ...banIn(request, form) });
    return 'bans';
  },
} satisfies Record<string, (request: ServerRequest, form: Form) => unknown>;

function banIn({ now }: ServerRequest, form: Form) {
  const expires = endIn(form, now);
  return { banned: isOn(form), reason: text(form, 'reason'), ...(expires !== undefined && { expires }) };
}

/** Returns a field without surrounding blanks, which are usually typed or copied by mistake. */
function text(form: Form, field: string): string {
  return (form.get(field) ?? '').trim();
}

function isOn(form: Form): boolean {
  return form.get('on') === 'true';
}

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
function endIn(form: Form, now: number): string | undefined {
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
