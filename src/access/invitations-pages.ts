import type { AccessStore } from '../accounts/accounts.ts';
import { profilePage } from '../accounts/page-parts.ts';
import { confirmed, csrfField, doneNote, hidden } from '../web/form.ts';
import { type Html, html } from '../web/html.ts';
import type { SignedInRequest } from '../web/page-request.ts';
import type { Serve } from '../web/serve.ts';
import { dateText, plainName } from '../web/text.ts';
import { type Invitation, type MemberRole, listAccepted } from './member-rows.ts';
import { acceptInvitation, declineInvitation, invitationsOf } from './members.ts';

const DONE: Record<string, string> = {
  declined: 'Invitation declined.',
  left: 'You left the server. Your open sessions on it have ended.',
};

const ROLES: Record<MemberRole, string> = {
  member:
    'As a member you can do everything except delete the server, manage members and billing, and see the passwords of its database and SFTP.',
  limited: 'With limited access you can start and stop the server and see its logs and players.',
};

/** Invitations to other people's servers, and the servers joined by one. */
export function mountInvitations(serve: Serve, access: AccessStore): void {
  // E-mails link to this address.
  serve.open('/invitations', () => ({ to: '/profile/invitations' }));

  serve.signedIn('/profile/invitations', async (request) => {
    const [invitations, accepted] = await Promise.all([
      invitationsOf(access.store, request.principal),
      listAccepted(access.store, request.principal.userId),
    ]);
    const main = html`${doneNote(DONE[request.query.get('done') ?? ''])}
      <section class="card">
        <h2>Invitations to you</h2>
        ${
          !request.principal.emailVerified &&
          html`<p class="note warn">
            Invitations appear once you confirm your address. <a href="/profile">Send the e-mail again</a>.
          </p>`
        }
        ${
          invitations.length === 0
            ? html`<p class="empty">No invitations.</p>`
            : html`<ul class="list">
                ${invitations.map((invitation) => invitationItem(request, invitation))}
              </ul>`
        }
      </section>
      ${
        accepted.length > 0 &&
        html`<section class="card" id="shared">
          <h2>Servers shared with you</h2>
          <ul class="list">
            ${accepted.map((each) => sharedItem(request, each))}
          </ul>
        </section>`
      }`;
    return profilePage(request, 'Invitations', main);
  });

  serve.submitSignedIn('/profile/invitations', async (request, form) => {
    const id = form.get('invitation') ?? '';
    if (form.get('decision') === 'accept') {
      const serverId = await acceptInvitation(access, request.principal, id);
      return { to: `/servers/${serverId}?done=joined` };
    }
    await declineInvitation(access, request.principal, id);
    return { to: `/profile/invitations?done=${form.get('decision') === 'leave' ? 'left' : 'declined'}` };
  });
}

function sharedItem({ csrf }: SignedInRequest, { id, serverName, serverId, role }: Invitation): Html {
  const name = plainName(serverName) || serverId;
  return html`<li>
    <h3>
      <a href="/servers/${serverId}"><bdi>${name}</bdi></a>
    </h3>
    <p>${ROLES[role]}</p>
    ${confirmed(
      'Your open sessions on it end immediately. Only its owner can invite you again.',
      'Leave…',
      name,
      html`<form method="post" action="/profile/invitations">
        ${csrfField(csrf)}${hidden('invitation', id)}
        <button class="danger" type="submit" name="decision" value="leave">
          Yes, leave<span class="unseen">, ${name}</span>
        </button>
      </form>`,
    )}
  </li>`;
}

function invitationItem({ csrf }: SignedInRequest, { id, serverName, serverId, role, createdAt }: Invitation): Html {
  const name = plainName(serverName) || serverId;
  return html`<li>
    <h3><bdi>${name}</bdi> <code>${serverId}</code></h3>
    <p>${ROLES[role]} Invited ${dateText(createdAt)}.</p>
    <form class="choice" method="post" action="/profile/invitations">
      ${csrfField(csrf)}${hidden('invitation', id)}
      <button class="second" type="submit" name="decision" value="decline">
        Decline<span class="unseen"> ${name}</span>
      </button>
      <button type="submit" name="decision" value="accept">Accept<span class="unseen"> ${name}</span></button>
    </form>
  </li>`;
}
