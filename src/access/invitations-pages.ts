import type { Accounts } from '../accounts/accounts.ts';
import { signInPath } from '../accounts/next.ts';
import { cardPage, newPasswordField, profilePage } from '../accounts/page-parts.ts';
import { EMAIL, credentialsOf, signInHint, whatIsWrong } from '../accounts/sign-in-pages.ts';
import { confirmed, csrfField, doneNote, hidden, problemNote, textField } from '../web/form.ts';
import { type Html, html } from '../web/html.ts';
import type { Page, PageRequest, SignedInRequest } from '../web/page-request.ts';
import { type Problem, problemOf } from '../web/problem.ts';
import type { Serve } from '../web/serve.ts';
import { dateText, plainName } from '../web/text.ts';
import { type Invitation, type LinkedInvitation, type MemberRole, listAccepted } from './member-rows.ts';
import {
  acceptInvitation,
  acceptLink,
  declineInvitation,
  invitationOfLink,
  invitationsOf,
  joinPath,
  opensAccount,
  signUpByLink,
} from './members.ts';

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
export function mountInvitations(serve: Serve, access: Accounts): void {
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

/** An open invitation, with its choice. */
export function invitationItem(
  { csrf }: SignedInRequest,
  { id, serverName, serverId, role, createdAt }: Invitation,
): Html {
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

/** The page of an invitation's link: visitors create an account and join at once, users accept. */
export function mountJoin(serve: Serve, accounts: Accounts): void {
  const { store, clock } = accounts;
  const shown = async (request: PageRequest, token: string, email = '', problem?: Problem): Promise<Page> => {
    const invitation = await invitationOfLink(store, token, clock.now());
    const form = { token, email, problem };
    return invitation === undefined ? goneLink(request, problem) : joinPage(request, { accounts, invitation, form });
  };

  serve.open('/join', (request) => shown(request, request.query.get('invitation') ?? ''));

  serve.submit('/join', async (request, form) => {
    const token = form.get('invitation') ?? '';
    try {
      if (request.principal) return { to: joined(await acceptLink(accounts, request.principal, token)) };
      const credentials = credentialsOf(form);
      const problem = whatIsWrong(form, credentials);
      if (problem) return await shown(request, token, form.get('email') ?? '', problem);
      const { token: session, device, serverId } = await signUpByLink(accounts, credentials, token, request.visitor);
      return { to: joined(serverId), session, device };
    } catch (error) {
      return shown(request, token, form.get('email') ?? '', problemOf(error));
    }
  });
}

const joined = (serverId: string) => `/servers/${serverId}?done=joined`;

function goneLink({ principal }: PageRequest, problem: Problem | undefined): Page {
  const page = cardPage(
    'Invitation',
    html`<p class="note bad" role="alert">This link has been used or revoked, or has expired. Ask for a new one.</p>
      ${principal ? html`<p class="aside"><a href="/servers">Your servers</a></p>` : signInHint('/servers')}`,
    problem,
  );
  return { ...page, status: problem?.status ?? 404 };
}

/** The values of the form, and its problem. */
interface JoinForm {
  token: string;
  email: string;
  problem: Problem | undefined;
}

function joinPage(
  request: PageRequest,
  { accounts, invitation, form }: { accounts: Accounts; invitation: LinkedInvitation; form: JoinForm },
): Page {
  const { token, email, problem } = form;
  const name = plainName(invitation.serverName) || invitation.serverId;
  const next = joinPath(token);
  const fixed = invitation.email !== null && { more: html`readonly` };
  const newAccount = html`${textField({ ...EMAIL, value: invitation.email ?? email, problem, ...fixed })}
    ${newPasswordField('Choose a password', problem)}<button type="submit">Create an account and join</button>`;
  const choice = request.principal
    ? html`<p>You are signed in as ${request.principal.email}.</p>
        <button type="submit">Join</button>`
    : opensAccount(accounts, invitation) && newAccount;
  return cardPage(
    `Join ${name}`,
    html`<p>You are invited to this Minecraft server. ${ROLES[invitation.role]}</p>
      ${problemNote(problem)}
      ${
        choice
          ? html`<form method="post" action="/join">
              ${csrfField(request.csrf)}${hidden('invitation', token)} ${choice}
            </form>`
          : html`<p>
              Sign in to join.
              ${
                accounts.signup === 'closed'
                  ? 'If you have no account, ask your administrator for one.'
                  : html`If you have no account, <a href="${signInPath(next, '/sign-up')}">create one</a>, then open
                      this link again.`
              }
            </p>`
      }
      ${!request.principal && signInHint(next)}`,
    problem,
    html`Join <bdi>${name}</bdi>`,
  );
}
