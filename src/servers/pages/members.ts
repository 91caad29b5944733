import type { ReplyOf } from '../../http/operation.ts';
import type { SignUp } from '../../accounts/accounts.ts';
import { confirmed, hidden } from '../../web/form.ts';
import { type Html, html } from '../../web/html.ts';
import type { Page } from '../../web/page-request.ts';
import { choiceField, filling, lineField, radioField } from '../../web/panel/fields.ts';
import { buttonForm, panelForm } from '../../web/panel/form.ts';
import type { Panel, ServerRequest } from '../../web/panel/panel.ts';
import type { Form } from '../../web/serve.ts';
import { InviteMember, ListMembers, RemoveMember, SetMemberRole } from '../api/members.ts';

type Member = ReplyOf<typeof ListMembers>['members'][number];
type MemberRole = 'member' | 'limited';

interface MemberRules {
  signup: SignUp;
  /** Members of an operator's server must not write its files, unless they are operators too. */
  operatorsWriteAlone: boolean;
}

/** Members of a server and their invitations. */
export function mountMembers(panel: Panel, rules: MemberRules): void {
  panel.serverPage({
    path: '/members',
    show: (request) => membersPage(request, rules),
    forms: {
      async invite({ call, server: { id } }, form) {
        await call(InviteMember, { id }, { email: (form.get('email') ?? '').trim(), role: roleIn(form) });
        return 'invited';
      },
      async role({ call, server: { id } }, form) {
        await call(SetMemberRole, { id }, { memberId: form.get('member') ?? '', role: roleIn(form) });
        return 'role';
      },
      async remove({ call, server: { id } }, form) {
        await call(RemoveMember, { id }, { memberId: form.get('member') ?? '' });
        return 'removed';
      },
    },
    done: {
      invited: 'Invitation sent.',
      role: 'Role changed.',
      removed: 'Removed.',
    },
  });
}

/** The permissions of each role, for the person who assigns it. */
const ROLES: Record<MemberRole, string> = {
  member: 'Member: everything except deleting the server, members, billing, and database and SFTP passwords.',
  limited: 'Limited: start and stop the server, see logs and players.',
};

const ROLE_NAMES: readonly [MemberRole, string][] = [
  ['member', 'Member'],
  ['limited', 'Limited'],
];

async function membersPage(request: ServerRequest, rules: MemberRules): Promise<Page> {
  const { members } = await request.call(ListMembers, { id: request.server.id });
  const [pending, accepted] = [members.filter((each) => each.pending), members.filter((each) => !each.pending)];
  const main = html`<section class="card">
      <h2>Members</h2>
      ${list(request, accepted, 'No members.')}
    </section>
    ${
      pending.length > 0 &&
      html`<section class="card">
        <h2>Invited</h2>
        <p>They see it under Profile → Invitations after signing in. If e-mail is set up, we notify them.</p>
        ${list(request, pending, '')}
      </section>`
    }
    ${inviteCard(request, rules)}`;
  return { title: 'Members', main };
}

function inviteCard(request: ServerRequest, { signup, operatorsWriteAlone }: MemberRules): Html {
  const filled = filling(request, 'invite');
  return html`<section class="card">
    <h2>Invite someone</h2>
    <p>They need an account here with this address. ${withoutAccount(request, signup)}</p>
    ${
      operatorsWriteAlone &&
      request.principal.operator &&
      html`<p class="note">
        Games run directly on this machine, without containers. Members who aren’t operators can’t change this server’s
        files, mods or mod packs, because that code would run here. <code>TRUST_TENANTS=true</code> allows it for all
        members.
      </p>`
    }
    ${panelForm(
      request,
      'invite',
      html`${lineField(filled, { name: 'email', label: 'E-mail address', maxlength: 254, type: 'email' })}
        ${radioField(filled, {
          name: 'role',
          label: 'Role',
          value: 'limited',
          options: ROLE_NAMES.map(([role]) => [role, ROLES[role]]),
        })}<button type="submit">Invite</button>`,
    )}
  </section>`;
}

/** Returns what to do for addresses without an account. Does not reveal whether one exists. */
function withoutAccount({ principal }: ServerRequest, signup: SignUp): Html {
  if (signup !== 'closed') return html`People without an account create one when they accept.`;
  if (!principal.operator) return html`Sign-up is closed. Ask your administrator to invite the address first.`;
  return html`Sign-up is closed. For people without an account,
    <a href="/operator/accounts">create an invitation</a> first.`;
}

function list(request: ServerRequest, members: readonly Member[], none: string): Html {
  if (members.length === 0) return html`<p class="empty">${none}</p>`;
  return html`<ul class="list">
    ${members.map((member) => memberItem(request, member))}
  </ul>`;
}

function memberItem(request: ServerRequest, { memberId, email, role, pending }: Member): Html {
  const field = { name: 'role', label: html`Role<span class="unseen"> of ${email}</span>`, value: role };
  const what = pending ? 'Cancel the invitation' : 'Remove';
  return html`<li>
    <h3><bdi>${email}</bdi></h3>
    <p>${ROLES[role as MemberRole]}</p>
    ${panelForm(
      request,
      'role',
      html`${hidden('member', memberId)}
        <div class="side">
          ${choiceField({ ...filling(request, ''), form: memberId }, { ...field, options: ROLE_NAMES })}
          <button class="second" type="submit">Change<span class="unseen"> the role of ${email}</span></button>
        </div>`,
    )}
    ${confirmed(
      pending ? 'The link in their e-mail stops working.' : 'Their open sessions on the server end immediately.',
      `${what}…`,
      email,
      buttonForm(request, 'remove', what, { fields: { member: memberId }, variant: 'danger' }),
    )}
  </li>`;
}

function roleIn(form: Form): MemberRole {
  return form.get('role') as MemberRole;
}
