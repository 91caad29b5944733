import type { ReplyOf } from '../../http/calls.ts';
import type { SignUp } from '../../people/people.ts';
import { confirmed, hidden } from '../../web/form.ts';
import { type Html, html } from '../../web/html.ts';
import type { Page } from '../../web/page-request.ts';
import { choiceField, filling, lineField, radioField } from '../../web/panel/fields.ts';
import { buttonForm, panelForm } from '../../web/panel/form.ts';
import type { Panel, ServerRequest } from '../../web/panel/panel.ts';
import type { Form } from '../../web/serve.ts';

type Member = ReplyOf<'ListMembers'>['members'][number];
type MemberRole = 'member' | 'limited';

interface MemberRules {
  signup: SignUp;
  /** Members of an operator's server may not write its files, unless they are operators too. */
  operatorsWriteAlone: boolean;
}

/** Who beside its owner may do something with the server, and who is asked to. */
export function mountMembers(panel: Panel, rules: MemberRules): void {
  panel.serverPage({
    path: '/members',
    show: (request) => membersPage(request, rules),
    forms: {
      async invite({ call, server: { id } }, form) {
        await call('InviteMember', { id }, { email: (form.get('email') ?? '').trim(), role: roleIn(form) });
        return 'invited';
      },
      async role({ call, server: { id } }, form) {
        await call('SetMemberRole', { id }, { memberId: form.get('member') ?? '', role: roleIn(form) });
        return 'role';
      },
      async remove({ call, server: { id } }, form) {
        await call('RemoveMember', { id }, { memberId: form.get('member') ?? '' });
        return 'removed';
      },
    },
    done: {
      invited: 'They are invited, and let in once they accept.',
      role: 'Changed, at once.',
      removed: 'Removed, at once.',
    },
  });
}

/** What each role may do, for who gives it. */
const ROLES: Record<MemberRole, string> = {
  member: 'Member: everything but deleting the server, its members, its bill and the passwords of database and SFTP.',
  limited: 'Limited: start and stop it, and see its logs and players.',
};

const ROLE_NAMES: readonly [MemberRole, string][] = [
  ['member', 'Member'],
  ['limited', 'Limited'],
];

async function membersPage(request: ServerRequest, rules: MemberRules): Promise<Page> {
  const { members } = await request.call('ListMembers', { id: request.server.id });
  const [pending, accepted] = [members.filter((each) => each.pending), members.filter((each) => !each.pending)];
  const main = html`<section class="card">
      <h2>Members</h2>
      ${list(request, accepted, 'Nobody but you.')}
    </section>
    ${
      pending.length > 0 &&
      html`<section class="card">
        <h2>Invited</h2>
        <p>
          They find the invitation under Profile, Invitations, once they have signed in. Where this service sends mail,
          a letter tells them.
        </p>
        ${list(request, pending, '')}
      </section>`
    }
    ${inviteCard(request, rules)}`;
  return { title: 'Members', main };
}

function inviteCard(request: ServerRequest, { signup, operatorsWriteAlone }: MemberRules): Html {
  const filled = filling(request, 'invite');
  return html`<section class="card">
    <h2>Invite somebody</h2>
    <p>They need an account here with this address. ${withoutAccount(request, signup)}</p>
    ${
      operatorsWriteAlone &&
      request.principal.operator &&
      html`<p class="note">
        Games run on this machine itself, without a container. A member who is not an operator cannot change files, mods
        or mod packs of this server: such code would run here. <code>TRUST_TENANTS=true</code> lets all members do it.
      </p>`
    }
    ${panelForm(
      request,
      'invite',
      html`${lineField(filled, { name: 'email', label: 'E-mail address', maxlength: 254, type: 'email' })}
        ${radioField(filled, {
          name: 'role',
          label: 'What they may do',
          value: 'limited',
          options: ROLE_NAMES.map(([role]) => [role, ROLES[role]]),
        })}<button type="submit">Invite</button>`,
    )}
  </section>`;
}

/** What is to be done about an address that has none. Whether one has, nobody is told here. */
function withoutAccount({ principal }: ServerRequest, signup: SignUp): Html {
  if (signup !== 'closed') return html`Without one, they make it when they accept.`;
  if (!principal.operator)
    return html`Sign-up is closed: without one, ask the operator of this installation to let the address in first.`;
  return html`Sign-up is closed: without one, <a href="/operator/accounts">let the address in</a> first.`;
}

function list(request: ServerRequest, members: readonly Member[], none: string): Html {
  if (members.length === 0) return html`<p class="empty">${none}</p>`;
  return html`<ul class="list">
    ${members.map((member) => memberItem(request, member))}
  </ul>`;
}

function memberItem(request: ServerRequest, { memberId, email, role, pending }: Member): Html {
  const field = { name: 'role', label: html`Role<span class="unseen"> of ${email}</span>`, value: role };
  const what = pending ? 'Take back the invitation' : 'Remove';
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
      pending ? 'A letter that they have got leads nowhere then.' : 'What they have open on the server ends at once.',
      `${what}…`,
      email,
      buttonForm(request, 'remove', what, { fields: { member: memberId }, look: 'danger' }),
    )}
  </li>`;
}

function roleIn(form: Form): MemberRole {
  return form.get('role') as MemberRole;
}
