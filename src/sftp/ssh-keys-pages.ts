import type { Accounts } from '../accounts/accounts.ts';
import { passwordAgain, profilePage, proved } from '../accounts/page-parts.ts';
import { confirmed, csrfField, doneNote, hidden, problemNote, textField } from '../web/form.ts';
import { type Html, html } from '../web/html.ts';
import { type Problem, invalid, problemOf } from '../web/problem.ts';
import type { Serve } from '../web/serve.ts';
import { agoText, dateText, plainName } from '../web/text.ts';
import type { Page, SignedInRequest } from '../web/page-request.ts';
import { SSH_KEY_CHARS, type SshKeyRow, type SshSessions, addSshKey, removeSshKey, sshKeysOf } from './ssh-keys.ts';

const DONE: Record<string, string> = {
  added: 'SSH key added.',
  removed: 'SSH key removed. Its sessions have ended.',
};
const NAME_CHARS = 60;

interface Draft {
  name: string;
  publicKey: string;
  problem?: Problem;
}

interface SshKeyPages extends Accounts {
  sftp: SshSessions;
}

/** Mounts the page of the public keys for SFTP: listing, adding, removing. */
export function mountSshKeys(serve: Serve, accounts: SshKeyPages): void {
  serve.signedIn('/profile/ssh', (request) => listPage(request, { name: '', publicKey: '' }));

  serve.submitSignedIn('/profile/ssh', async (request, form) => {
    const name = plainName(form.get('name') ?? '', NAME_CHARS);
    const draft = { name, publicKey: (form.get('publicKey') ?? '').slice(0, SSH_KEY_CHARS) };
    if (name === '') {
      return listPage(request, {
        ...draft,
        problem: invalid('name', 'Enter a name for the key.'),
      });
    }
    try {
      await addSshKey(accounts, await proved(accounts, request, form), draft);
      return { to: '/profile/ssh?done=added' };
    } catch (error) {
      return listPage(request, { ...draft, problem: problemOf(error) });
    }
  });

  serve.submitSignedIn('/profile/ssh/remove', async (request, form) => {
    await removeSshKey(accounts, request.principal, form.get('key') ?? '');
    return { to: '/profile/ssh?done=removed' };
  });

  async function listPage(request: SignedInRequest, draft: Draft): Promise<Page> {
    const keys = await sshKeysOf(accounts.store, request.principal);
    const main = html`${doneNote(DONE[request.query.get('done') ?? ''])}
      <section class="card">
        <h2>Your SSH keys</h2>
        <p>
          With these keys you can open the files of all servers of your account over SFTP without a password, if SFTP is
          on. The user name is the server’s SFTP name.
        </p>
        ${
          keys.length === 0
            ? html`<p class="empty">No keys yet.</p>`
            : html`<ul class="list">
                ${keys.map((key) => keyItem(request, key))}
              </ul>`
        }
      </section>
      ${addForm(request, draft)}`;
    return profilePage(request, 'SSH keys', main, draft.problem);
  }
}

function addForm(request: SignedInRequest, { name, publicKey, problem }: Draft): Html {
  return html`<section class="card" id="new">
    <h2>Add a key</h2>
    ${problemNote(problem)}
    <form method="post" action="/profile/ssh#new">
      ${csrfField(request.csrf)}
      ${textField({ name: 'name', label: 'Name', value: name, maxlength: NAME_CHARS, autocomplete: 'off', problem })}
      ${textField({
        name: 'publicKey',
        label: 'Public key',
        value: publicKey,
        hint: 'The line in your .pub file. It starts with ssh-ed25519, ecdsa-sha2- or ssh-rsa.',
        maxlength: SSH_KEY_CHARS,
        autocomplete: 'off',
        problem,
      })}
      ${passwordAgain(request, problem)}
      <button type="submit">Add the key</button>
    </form>
  </section>`;
}

function keyItem(
  { csrf, now }: SignedInRequest,
  { id, name, type, fingerprint, createdAt, lastUsedAt }: SshKeyRow,
): Html {
  const called = plainName(name) || 'Unnamed';
  return html`<li>
    <h3><bdi>${called}</bdi></h3>
    <p>
      ${type} · added ${dateText(createdAt)} ·
      ${lastUsedAt === null ? 'never used' : `used ${agoText(lastUsedAt, now)}`}
    </p>
    <p><code>${fingerprint}</code></p>
    ${confirmed(
      'This key can no longer sign in, and its open sessions end.',
      'Remove…',
      called,
      html`<form method="post" action="/profile/ssh/remove">
        ${csrfField(csrf)}${hidden('key', id)}
        <button class="danger" type="submit">Yes, remove this key</button>
      </form>`,
    )}
  </li>`;
}
