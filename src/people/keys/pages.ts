import { KEY_SCOPES, SCOPES, isScope } from '../../http/scopes.ts';
import type { Clock } from '../../kernel/clock.ts';
import { MINUTE_MS } from '../../kernel/units.ts';
import { confirmed, csrfField, doneNote, hidden } from '../../web/form.ts';
import { type Html, html } from '../../web/html.ts';
import type { Page, SignedInRequest } from '../../web/page-request.ts';
import { problemOf } from '../../web/problem.ts';
import type { Serve } from '../../web/serve.ts';
import { agoText, dateText, plainName } from '../../web/text.ts';
import { listReachableServers } from '../members/owned-servers.ts';
import type { People } from '../people.ts';
import { profilePage } from '../profile-frame.ts';
import { proved } from '../proved.ts';
import { type Draft, EMPTY_DRAFT, draftOf, keyForm, wantedKey } from './key-form.ts';
import { keysOf, mintOwnKey, revokeOwnKey } from './own-keys.ts';
import type { ApiKeyRow } from './rows.ts';

/** A new key and its name. */
interface NewKey {
  key: string;
  name: string;
}

const DONE: Record<string, string> = { revoked: 'Key revoked.' };

/** API keys: listing, creating, showing once, revoking. */
export function mountKeys(serve: Serve, people: People): void {
  const { store } = people;
  const reveals = createReveals<NewKey>(people.clock);

  serve.signedIn('/profile/keys', (request) => listPage(request, EMPTY_DRAFT));

  serve.submitSignedIn('/profile/keys', async (request, form) => {
    const draft = draftOf(form);
    const wanted = wantedKey(draft, request.now);
    if ('problem' in wanted) return listPage(request, { ...draft, problem: wanted.problem });
    try {
      const { key, row } = await mintOwnKey(people, await proved(people, request, form), wanted);
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
    await revokeOwnKey(people, request.principal, form.get('key') ?? '');
    return { to: '/profile/keys?done=revoked' };
  });

  async function listPage(request: SignedInRequest, draft: Draft): Promise<Page> {
    const [keys, servers] = await Promise.all([
      keysOf(store, request.principal),
      listReachableServers(store, request.principal),
    ]);
    const names = new Map(servers.map(({ id, name }) => [id, name]));
    const scopes = KEY_SCOPES.filter((scope) => request.principal.scopes.has(scope));
    const main = html`${doneNote(DONE[request.query.get('done') ?? ''])}
      <section class="card">
        <h2>Your keys</h2>
        <p>
          Programs call the API with a key in the header <code>x-api-key</code>. Anyone with a key can use its
          permissions.
        </p>
        ${
          keys.length === 0
            ? html`<p class="empty">No keys yet.</p>`
            : html`<ul class="list">
                ${keys.map((key) => keyItem(request, key, names))}
              </ul>`
        }
      </section>
      ${keyForm(request, { draft, scopes, servers })}`;
    return profilePage(request, 'API keys', main, draft.problem);
  }
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

/** Holds values that are shown to one session for a short time, in memory only. */
interface Reveals<T> {
  put(sessionId: string, value: T): void;
  /** Returns undefined once the time is over. */
  see(sessionId: string): T | undefined;
}

/** Long enough to copy a key, even after a reload of the page. */
export const REVEAL_MS = 5 * MINUTE_MS;
const MOST = 10_000;

/**
 * Keeps the latest value of each session. This lets a GET show a secret that a POST created, without putting it in an
 * address.
 */
export function createReveals<T>(clock: Clock): Reveals<T> {
  const kept = new Map<string, { value: T; until: number }>();
  return {
    put(sessionId, value) {
      const now = clock.now();
      for (const [id, { until }] of kept) {
        if (until > now && kept.size < MOST) break;
        kept.delete(id);
      }
      kept.delete(sessionId);
      kept.set(sessionId, { value, until: now + REVEAL_MS });
    },
    see(sessionId) {
      const found = kept.get(sessionId);
      return found && found.until > clock.now() ? found.value : undefined;
    },
  };
}
