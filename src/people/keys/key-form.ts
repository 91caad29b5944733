import { SCOPES, type Scope, isScope } from '../../http/scopes.ts';
import { DAY_MS } from '../../kernel/units.ts';
import { csrfField, problemNote, textField } from '../../web/form.ts';
import { type Html, html } from '../../web/html.ts';
import { type Problem, invalid } from '../../web/problem.ts';
import type { Form } from '../../web/serve.ts';
import { plainName } from '../../web/text.ts';
import type { SignedInRequest } from '../../web/page-request.ts';
import { passwordAgain } from '../proved.ts';
import type { WantedKey } from './own-keys.ts';

/** The submitted values. */
export interface Draft {
  name: string;
  scopes: readonly string[];
  /** Days, or `never`. */
  expiry: string;
  /** `all`, or `some` for only `servers`. */
  reach: string;
  servers: readonly string[];
  problem?: Problem;
}

const NAME_CHARS = 60;
const EXPIRIES = [
  ['30', '30 days'],
  ['90', '90 days'],
  ['365', 'a year'],
  ['never', 'No expiration'],
] as const;

export const EMPTY_DRAFT: Draft = { name: '', scopes: [], expiry: '90', reach: 'all', servers: [] };

export function draftOf(form: Form): Draft {
  return {
    name: form.get('name') ?? '',
    scopes: form.getAll('scope'),
    expiry: form.get('expiry') ?? '',
    reach: form.get('reach') ?? 'all',
    servers: form.getAll('server'),
  };
}

/** Returns the requested key, or the problem of the form. */
export function wantedKey(draft: Draft, now: number): WantedKey | { problem: Problem } {
  const name = plainName(draft.name, NAME_CHARS);
  const scopes = [...new Set(draft.scopes)].filter(isScope);
  const days = EXPIRIES.find(([value]) => value === draft.expiry)?.[0];
  if (name === '') return { problem: invalid('name', 'Enter a name for the key.') };
  if (scopes.length === 0) return { problem: invalid('scope', 'Choose at least one permission.') };
  if (days === undefined) return { problem: invalid('expiry', 'Choose when the key expires.') };
  if (draft.reach !== 'all' && draft.servers.length === 0) {
    return { problem: invalid('server', 'Choose at least one server, or all of them.') };
  }
  return {
    name,
    scopes,
    expiresAt: days === 'never' ? null : now + Number(days) * DAY_MS,
    serverIds: draft.reach === 'all' ? null : [...new Set(draft.servers)],
  };
}

/** The form of a new key. `scopes` are those the user can grant, `servers` those they can reach. */
export function keyForm(
  request: SignedInRequest,
  {
    draft,
    scopes,
    servers,
  }: { draft: Draft; scopes: readonly Scope[]; servers: readonly { id: string; name: string }[] },
): Html {
  const { problem } = draft;
  return html`<section class="card" id="new">
    <h2>Create a key</h2>
    ${problemNote(problem)}
    <form method="post" action="/profile/keys#new">
      ${csrfField(request.csrf)}
      ${textField({
        name: 'name',
        label: 'Name',
        value: draft.name,
        hint: 'Purpose: “backup script”, “Discord bot”.',
        maxlength: NAME_CHARS,
        autocomplete: 'off',
        problem,
      })}
      <fieldset ${problem?.field === 'scope' && html`aria-describedby="scope-problem"`}>
        <legend>Permissions</legend>
        ${wrong(problem, 'scope')}
        ${scopes.map(
          (scope) =>
            html`<label class="tick"
              ><input
                type="checkbox"
                name="scope"
                value="${scope}"
                ${draft.scopes.includes(scope) && html`checked`}
              /><span>${SCOPES[scope]} <code>${scope}</code></span></label
            >`,
        )}
      </fieldset>
      ${servers.length > 0 && serverChoice(draft, servers)}
      <fieldset>
        <legend>Expiration</legend>
        ${wrong(problem, 'expiry')} ${EXPIRIES.map(([value, text]) => radio('expiry', value, text, draft.expiry))}
      </fieldset>
      ${passwordAgain(request, problem)}
      <button type="submit">Create key</button>
    </form>
  </section>`;
}

function serverChoice(
  { reach, servers: chosen, problem }: Draft,
  servers: readonly { id: string; name: string }[],
): Html {
  return html`<fieldset ${problem?.field === 'server' && html`aria-describedby="server-problem"`}>
    <legend>Servers</legend>
    ${wrong(problem, 'server')} ${radio('reach', 'all', 'All servers you can reach, including later ones', reach)}
    ${radio('reach', 'some', 'Only these:', reach)}
    <div class="below">
      ${servers.map(
        ({ id, name }) =>
          html`<label class="tick"
            ><input type="checkbox" name="server" value="${id}" ${chosen.includes(id) && html`checked`} /><span
              ><bdi>${plainName(name) || id}</bdi> <code>${id}</code></span
            ></label
          >`,
      )}
    </div>
  </fieldset>`;
}

function radio(name: string, value: string, text: string, chosen: string): Html {
  return html`<label class="tick"
    ><input type="radio" name="${name}" value="${value}" ${value === chosen && html`checked`} /><span
      >${text}</span
    ></label
  >`;
}

function wrong(problem: Problem | undefined, field: string): Html | undefined {
  if (problem?.field !== field) return undefined;
  return html`<p class="wrong" role="alert" id="${field}-problem">${problem.message}</p>`;
}
