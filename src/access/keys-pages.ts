import type { Accounts } from '../accounts/accounts.ts';
import { REVEAL_MS, Reveals, passwordAgain, profilePage, proved } from '../accounts/page-parts.ts';
import { KEY_SCOPES, SCOPES, type Scope, isScope } from '../http/scopes.ts';
import { naturalOrder } from '../kernel/natural-order.ts';
import { DAY_MS, MINUTE_MS } from '../kernel/units.ts';
import { ASSETS } from '../web/assets.ts';
import { confirmed, csrfField, doneNote, hidden, problemNote, textField } from '../web/form.ts';
import { type Html, html } from '../web/html.ts';
import type { Page, SignedInRequest } from '../web/page-request.ts';
import { SEARCH_CHARS, filterChoice, filterForm, foundBy, partOf } from '../web/panel/parts.ts';
import { type Problem, invalid, problemOf } from '../web/problem.ts';
import type { Form, Serve } from '../web/serve.ts';
import { agoText, dateText, plainName } from '../web/text.ts';
import type { ApiKeyRow } from './key-rows.ts';
import { type WantedKey, keysOf, mintOwnKey, revokeOwnKey } from './keys.ts';
import { listReachableServers } from './owned-servers.ts';

/** A new key and its name. */
interface NewKey {
  key: string;
  name: string;
}

const PATH = '/profile/keys';
/** Number of keys from which on the list can be searched, and most keys on a page. */
const [MANY, MOST_SHOWN] = [6, 20];

const DONE: Record<string, string> = { revoked: 'Key revoked.' };

/** API keys: listing, creating, showing once, revoking. */
export function mountKeys(serve: Serve, accounts: Accounts): void {
  const { store } = accounts;
  const reveals = new Reveals<NewKey>(accounts.clock);

  serve.signedIn('/profile/keys', (request) => listPage(request, EMPTY_DRAFT));

  serve.submitSignedIn('/profile/keys', async (request, form) => {
    const draft = draftOf(form);
    const wanted = wantedKey(draft, request.now);
    if ('problem' in wanted) return listPage(request, { ...draft, problem: wanted.problem });
    try {
      const { key, row } = await mintOwnKey(accounts, await proved(accounts, request, form), wanted);
      reveals.put(request.principal.sessionId, { key, name: row.name });
      return { to: '/profile/keys/new' };
    } catch (error) {
      return listPage(request, { ...draft, problem: problemOf(error) });
    }
  });

  serve.signedIn('/profile/keys/new', (request) => {
    const made = reveals.see(request.principal.sessionId);
    return made ? newKeyPage(request, made) : { to: '/profile/keys' };
  });

  serve.submitSignedIn('/profile/keys/revoke', async (request, form) => {
    await revokeOwnKey(accounts, request.principal, form.get('key') ?? '');
    return { to: '/profile/keys?done=revoked' };
  });

  async function listPage(request: SignedInRequest, draft: Draft): Promise<Page> {
    const [keys, servers] = await Promise.all([
      keysOf(store, request.principal),
      listReachableServers(store, request.principal),
    ]);
    const names = new Map(servers.map(({ id, name }) => [id, name]));
    const scopes = KEY_SCOPES.filter((scope) => request.principal.scopes.has(scope));
    const { search, sort } = askedOf(request);
    const found = sortedKeys(foundKeys(keys, search, names), sort);
    const place = { here: PATH, query: request.query, csrf: request.csrf };
    const { shown, pager } = partOf(place, found, { key: 'from', most: MOST_SHOWN, of: 'keys' });
    const sorting = filterChoice('sort', 'Sort by', Object.entries(SORTS), sort);
    const main = html`${doneNote(DONE[request.query.get('done') ?? ''])}
      ${keys.length >= MANY && filterForm(PATH, { value: search, hint: 'name, last characters, permission or server' }, sorting)}
      <section class="card">
        <h2>Your keys</h2>
        <p>
          Programs call the API with a key in the header <code>x-api-key</code>. Anyone with a key can use its
          permissions.
        </p>
        ${
          shown.length > 0
            ? html`<ul class="list">
                ${shown.map((key) => keyItem(request, key, names))}
              </ul>`
            : search === ''
              ? html`<p class="empty">No keys yet.</p>`
              : html`<p class="empty">No key matches. <a href="${PATH}">Show all</a></p>`
        }
      </section>
      ${pager} ${keyForm(request, { draft, scopes, servers })}`;
    return { ...profilePage(request, 'API keys', main, draft.problem), styles: [ASSETS.listsStyle] };
  }
}

const SORTS = { '': 'Newest first', name: 'Name', used: 'Last used', expiry: 'Expires next' } as const;
type Sort = keyof typeof SORTS;

function askedOf({ query }: SignedInRequest): { search: string; sort: Sort } {
  const sort = query.get('sort') ?? '';
  const search = plainName(query.get('q') ?? '', SEARCH_CHARS);
  return { search, sort: Object.hasOwn(SORTS, sort) ? (sort as Sort) : '' };
}

/** Returns the keys that contain every word of the search in their name, last characters, permissions or servers. */
function foundKeys(keys: readonly ApiKeyRow[], search: string, names: ReadonlyMap<string, string>): ApiKeyRow[] {
  return foundBy(search, keys, ({ name, last4, scopes, serverIds }) => {
    const servers = (serverIds ?? []).flatMap((id) => [id, names.get(id) ?? '']);
    return [name, last4, ...scopes, ...servers];
  });
}

/** Returns the keys in an order of `SORTS`; equal ones with the newest first. */
function sortedKeys(keys: readonly ApiKeyRow[], sort: Sort): ApiKeyRow[] {
  const compare: Record<Sort, (one: ApiKeyRow, other: ApiKeyRow) => number> = {
    '': () => 0,
    name: (one, other) => naturalOrder(one.name, other.name),
    used: (one, other) => (other.lastUsedAt ?? 0) - (one.lastUsedAt ?? 0),
    expiry: (one, other) => (one.expiresAt ?? Number.MAX_VALUE) - (other.expiresAt ?? Number.MAX_VALUE),
  };
  return keys.toSorted((one, other) => compare[sort](one, other) || other.createdAt - one.createdAt);
}

function keyItem({ csrf, now }: SignedInRequest, key: ApiKeyRow, names: ReadonlyMap<string, string>): Html {
  const { id, name, last4, createdAt, lastUsedAt, expiresAt, scopes, serverIds } = key;
  const called = plainName(name) || 'Unnamed';
  const over = expiresAt !== null && expiresAt <= now;
  const expiry = expiresAt === null ? 'does not expire' : `${over ? 'expired' : 'expires'} ${dateText(expiresAt)}`;
  return html`<li>
    <h3>
      <bdi>${called}</bdi>
      <code>…${last4}</code> ${over && html`<span class="tag bad">expired</span>`}
    </h3>
    <p>
      Created ${dateText(createdAt)} · ${lastUsedAt === null ? 'never used' : `used ${agoText(lastUsedAt, now)}`} ·
      ${expiry}
    </p>
    <details>
      <summary>Permissions<span class="unseen"> (${called})</span></summary>
      <ul>
        ${scopes.map((scope) => html`<li>${isScope(scope) ? SCOPES[scope] : scope} <code>${scope}</code></li>`)}
      </ul>
      <p>
        ${
          serverIds
            ? `Only on: ${serverIds.map((server) => plainName(names.get(server) ?? server)).join(', ') || 'no server'}`
            : 'All your servers.'
        }
      </p>
    </details>
    ${confirmed(
      'Programs that use this key stop working immediately. This can’t be undone.',
      'Revoke…',
      called,
      html`<form method="post" action="/profile/keys/revoke">
        ${csrfField(csrf)}${hidden('key', id)}
        <button class="danger" type="submit">Yes, revoke this key</button>
      </form>`,
    )}
  </li>`;
}

function newKeyPage(request: SignedInRequest, { key, name }: NewKey): Page {
  const main = html`<section class="card">
    <h2>Your new key “<bdi>${plainName(name)}</bdi>”</h2>
    <p class="note warn">
      <strong>Copy it now.</strong> It is shown only here for ${REVEAL_MS / MINUTE_MS} minutes, and never again.
    </p>
    <div class="field">
      <label for="key">The key</label>
      <p class="hint" id="key-hint">Click in the box, select all (Ctrl+A or ⌘A) and copy (Ctrl+C or ⌘C).</p>
      <textarea id="key" class="secret" aria-describedby="key-hint" rows="2" readonly spellcheck="false">
${key}</textarea>
    </div>
    <p>Store it in a password manager, never in a chat, an issue or a repository.</p>
    <p><a class="button" href="/profile/keys">I have copied it</a></p>
  </section>`;
  return profilePage(request, 'New API key', main);
}

/** The submitted values. */
interface Draft {
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

const EMPTY_DRAFT: Draft = { name: '', scopes: [], expiry: '90', reach: 'all', servers: [] };

function draftOf(form: Form): Draft {
  return {
    name: form.get('name') ?? '',
    scopes: form.getAll('scope'),
    expiry: form.get('expiry') ?? '',
    reach: form.get('reach') ?? 'all',
    servers: form.getAll('server'),
  };
}

/** Returns the requested key, or the problem of the form. */
function wantedKey(draft: Draft, now: number): WantedKey | { problem: Problem } {
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
function keyForm(
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
