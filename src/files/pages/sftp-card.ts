import type { ReplyOf } from '../../http/operation.ts';
import { confirmed } from '../../web/form.ts';
import { type Html, html } from '../../web/html.ts';
import { buttonForm } from '../../web/panel/form.ts';
import type { ServerRequest } from '../../web/panel/panel.ts';
import { copyButton, fact } from '../../web/panel/parts.ts';
import { countText } from '../../web/text.ts';
import { type EnableSftp, GetSftp } from '../../sftp/api.ts';

/** The user name and password, shown only once. */
export type SftpLogin = ReplyOf<typeof EnableSftp>;

/** Shows how to access the files over SFTP. Only the owner can create a password. */
export async function sftpCard(request: ServerRequest, login: SftpLogin | undefined): Promise<Html> {
  if (request.role !== 'owner') {
    return html`<section class="card">
      <h2>SFTP</h2>
      <p>The server’s owner can turn SFTP on and give you the user name and password.</p>
    </section>`;
  }
  const access = await request.call(GetSftp, { id: request.server.id });
  return html`<section class="card" id="sftp">
    <h2>SFTP ${access.enabled && html`<span class="tag good">on</span>`}</h2>
    ${login && passwordOnce(login)} ${access.enabled ? switchedOn(request, access) : switchedOff(request)}
  </section>`;
}

function passwordOnce({ password }: SftpLogin): Html {
  return html`<div class="note good" role="status">
    <p>This password is shown only once:</p>
    <p>
      <code class="password">${password}</code>
      ${copyButton(password, 'the password')}
    </p>
  </div>`;
}

function switchedOff(request: ServerRequest): Html {
  return html`<p>
      Transfer many files with FileZilla, WinSCP or Cyberduck, even while the server is asleep. Turning it on creates a
      user name and a password.
    </p>
    ${buttonForm(request, 'sftp-on', 'Turn SFTP on')}`;
}

function switchedOn(request: ServerRequest, access: ReplyOf<typeof GetSftp>): Html {
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
      On the first connection your program shows a fingerprint. It must be <code>${hostKeyFingerprint}</code>. Your own
      <a href="/profile/ssh">SSH keys</a> work instead of the password.
    </p>
    <div class="actions">
      ${confirmed(
        'The current password stops working, and its connections close.',
        'New password…',
        '',
        buttonForm(request, 'sftp-password', 'Create a new password', { variant: 'danger' }),
      )}
      ${confirmed(
        'All connections close, and the password stops working permanently.',
        'Turn SFTP off…',
        '',
        buttonForm(request, 'sftp-off', 'Turn SFTP off', { variant: 'danger' }),
      )}
    </div>`;
}

function copied(name: string, value: string): Html {
  return fact(name, html`<code>${value}</code> ${copyButton(value, `the ${name.toLowerCase()}`)}`);
}
