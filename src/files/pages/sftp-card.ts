import type { ReplyOf } from '../../http/calls.ts';
import { confirmed } from '../../web/form.ts';
import { type Html, html } from '../../web/html.ts';
import { buttonForm } from '../../web/panel/form.ts';
import type { ServerRequest } from '../../web/panel/panel.ts';
import { copyButton, fact } from '../../web/panel/parts.ts';
import { countText } from '../../web/text.ts';

/** What is shown once. */
export type SftpLogin = ReplyOf<'EnableSftp'>;

/** How to reach the files over SFTP; the password is the owner's to make. */
export async function sftpCard(request: ServerRequest, login: SftpLogin | undefined): Promise<Html> {
  if (request.role !== 'owner') {
    return html`<section class="card">
      <h2>SFTP</h2>
      <p>The owner of the server can switch it on, and give you its user name and password.</p>
    </section>`;
  }
  const access = await request.call('GetSftp', { id: request.server.id });
  return html`<section class="card" id="sftp">
    <h2>SFTP ${access.enabled && html`<span class="tag good">on</span>`}</h2>
    ${login && passwordOnce(login)} ${access.enabled ? switchedOn(request, access) : switchedOff(request)}
  </section>`;
}

function passwordOnce({ password }: SftpLogin): Html {
  return html`<div class="note good" role="status">
    <p>This is the password, shown this once:</p>
    <p>
      <code class="password">${password}</code>
      ${copyButton(password, 'the password')}
    </p>
  </div>`;
}

function switchedOff(request: ServerRequest): Html {
  return html`<p>
      For programs such as FileZilla, WinSCP or Cyberduck: many files at once, also while the server sleeps. Switching
      it on makes a user name and a password.
    </p>
    ${buttonForm(request, 'sftp-on', 'Switch SFTP on')}`;
}

function switchedOn(request: ServerRequest, access: ReplyOf<'GetSftp'>): Html {
  const { host, port, username, sessions, hostKeyFingerprint } = access;
  return html`<p>
      Open <code>sftp://${username}@${host}:${port}</code> in FileZilla, WinSCP or Cyberduck, or run
      <code>sftp -P ${port} ${username}@${host}</code>.
    </p>
    <dl class="facts">
      ${copied('Address', host)} ${copied('Port', String(port))} ${copied('User name', username)}
      ${fact('Connected now', countText(sessions, 'program'))}
    </dl>
    <p class="hint">
      Your program shows a fingerprint when it first connects: it must be <code>${hostKeyFingerprint}</code>. Your own
      <a href="/profile/ssh">SSH keys</a> work in place of the password.
    </p>
    <div class="actions">
      ${confirmed(
        'The password so far is void, and whoever is connected with it is cut off.',
        'New password…',
        '',
        buttonForm(request, 'sftp-password', 'Make a new password', { look: 'danger' }),
      )}
      ${confirmed(
        'Nobody gets in any more, whoever is connected is cut off, and the password is void for good.',
        'Switch SFTP off…',
        '',
        buttonForm(request, 'sftp-off', 'Switch SFTP off', { look: 'danger' }),
      )}
    </div>`;
}

function copied(name: string, value: string): Html {
  return fact(name, html`<code>${value}</code> ${copyButton(value, `the ${name.toLowerCase()}`)}`);
}
