import type { ReplyOf } from '../../http/operation.ts';
import type { SignUp } from '../../accounts/accounts.ts';
import { confirmed, hidden } from '../../web/form.ts';
import { type Html, html } from '../../web/html.ts';
import type { Page } from '../../web/page-request.ts';
import { choiceField, filling, lineField, radioField } from '../../web/panel/fields.ts';
import { buttonForm, panelForm } from '../../web/panel/form.ts';
import { copyButton } from '../../web/panel/parts.ts';
import type { Panel, ServerRequest } from '../../web/panel/panel.ts';
import { timeTag } from '../../web/panel/time.ts';
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
      async invite(request, form) {
        const {
          call,
          server: { id },
        } = request;
        const email = (form.get('email') ?? '').trim();
        const { link } = await call(InviteMember, { id }, { ...(email && { email }), role: roleIn(form) });
        return membersPage(request, rules, link);
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

/** Shows `link`, that of a new invitation, only this time. */
async function membersPage(request: ServerRequest, rules: MemberRules, link?: string): Promise<Page> {
  const { members } = await request.call(ListMembers, { id: request.server.id });
  const [pending, accepted] = [members.filter((each) => each.pending), members.filter((each) => !each.pending)];
  const main = html`${link !== undefined && newLink(link)}
    <section class="card">
      <h2>Members</h2>
      ${list(request, accepted, 'No members.')}
    </section>
    ${
      pending.length > 0 &&
      html`<section class="card">
        <h2>Invited</h2>
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
    <p>
      Create a link and send it to a friend. It works for one person, within seven days.
      ${withoutAccount(request, signup)}
    </p>
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
      html`${lineField(filled, { name: 'email', label: 'E-mail address (optional)', maxlength: 254, type: 'email', required: false, hint: 'Only this address can then use the link. If e-mail is set up, we send it there.' })}
        ${radioField(filled, {
          name: 'role',
          label: 'Role',
          value: 'limited',
          options: ROLE_NAMES.map(([role]) => [role, ROLES[role]]),
        })}<button type="submit">Create a link</button>`,
    )}
  </section>`;
}

function withoutAccount({ principal }: ServerRequest, signup: SignUp): string {
  if (signup === 'open' || principal.operator) return 'It also creates an account for people without one.';
  if (signup === 'letter') return 'People without an account create one first.';
  return 'Sign-up is closed: people without an account ask your administrator for one.';
}

function list(request: ServerRequest, members: readonly Member[], none: string): Html {
  if (members.length === 0) return html`<p class="empty">${none}</p>`;
  return html`<ul class="list">
    ${members.map((member) => memberItem(request, member))}
  </ul>`;
}

function newLink(link: string): Html {
  return html`<section class="card">
    <h2>Your invitation link</h2>
    <p class="note warn" role="status"><strong>Copy it now.</strong> It is shown only this once.</p>
    <p><code class="secret">${link}</code> ${copyButton(link, 'the invitation link')}</p>
  </section>`;
}

function memberItem(request: ServerRequest, member: Member): Html {
  const { memberId, role, pending, linkExpiresAt } = member;
  const email = member.email || 'Anyone with the link';
  const field = { name: 'role', label: html`Role<span class="unseen"> of ${email}</span>`, value: role };
  const what = pending ? 'Cancel the invitation' : 'Remove';
  return html`<li>
    <h3><bdi>${email}</bdi></h3>
    <p>
      ${ROLES[role as MemberRole]}
      ${linkExpiresAt && html`The link ${Date.parse(linkExpiresAt) > request.now ? 'works until' : 'expired'} ${timeTag(linkExpiresAt)}.`}
    </p>
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
      pending ? 'The link stops working.' : 'Their open sessions on the server end immediately.',
      `${what}…`,
      email,
      buttonForm(request, 'remove', what, { fields: { member: memberId }, variant: 'danger' }),
    )}
  </li>`;
}

function roleIn(form: Form): MemberRole {
  return form.get('role') as MemberRole;
}
