import { done } from '../api.ts';
import { call, on } from '../call.ts';
import { DORMOUSE } from '../called.ts';
import type { Context, Subject } from '../command.ts';
import { failed, wrongUsage } from '../errors.ts';
import { type Messages, read } from '../shapes.ts';
import { didYouMean, nearest } from '../suggest.ts';
import { listing } from '../table.ts';
import { oneLine } from '../text.ts';

const MEMBER = { memberId: '', email: '', role: '', pending: false as boolean } satisfies Partial<Messages['Member']>;
const ROLES = ['member', 'limited'] as const;

function roleOf(text = 'member'): (typeof ROLES)[number] {
  const role = ROLES.find((each) => each === text);
  if (role === undefined)
    throw wrongUsage("The role must be member (everything but the owner's tasks) or limited (view, start, stop).");
  return role;
}

/** Finds a member's id by e-mail address. */
async function memberId({ api }: Context, id: string, email: string): Promise<string> {
  const { members } = read({ members: [MEMBER] }, await done(api.GET('/v1/servers/{id}/members', on(id))), oneLine);
  const found = members.find((each) => each.email === email.toLowerCase() || each.memberId === email);
  if (found !== undefined) return found.memberId;
  const suggestion = didYouMean(
    nearest(
      email,
      members.map((each) => each.email),
    ),
  );
  throw failed('NO_SUCH_MEMBER', `${email} is not a member of ${id}. ${suggestion}`.trimEnd(), { server: id });
}

/** `dormouse members`. */
export const members: Subject = {
  name: 'members',
  summary: 'People with access to a server.',
  details: `A member can do everything except delete the server and manage its members, bill, database password and SFTP.
A limited member can view, start and stop it.`,
  commands: [
    call({
      name: 'members list',
      summary: 'List members and open invitations.',
      args: ['id'],
      call: ({ api }, [id]) => api.GET('/v1/servers/{id}/members', on(id)),
      shape: { members: [MEMBER] },
      show({ members }, { context: { terminal }, args: [id] }) {
        const rows = members.map(({ email, role, pending }) => [email, role, pending ? 'invited' : '']);
        const none = `No members. Invite someone with: ${DORMOUSE} members invite ${id} steve@example.org`;
        return listing(terminal.out, ['E-MAIL', 'ROLE', ''], rows, none);
      },
    }),
    call({
      name: 'members invite',
      summary: 'Invite someone by e-mail address.',
      args: ['id', 'email'],
      options: { role: { type: 'string', value: 'role', help: 'member (default) or limited.' } },
      call: ({ api }, [id, email = ''], { role }) =>
        api.POST('/v1/servers/{id}/members', { ...on(id), body: { email, role: roleOf(role) } }),
      shape: MEMBER,
      show: ({ email, role }, { args: [id] }) => [
        `Invited ${email} to ${id} as ${role}. They see the invitation after signing in.`,
      ],
    }),
    call({
      name: 'members role',
      summary: "Change a member's role. Applies at once.",
      args: ['id', 'email', 'member|limited'],
      async call(context, [id = '', email = '', role]) {
        const body = { role: roleOf(role), memberId: await memberId(context, id, email) };
        return context.api.POST('/v1/servers/{id}/members:setRole', { ...on(id), body });
      },
      shape: MEMBER,
      show: ({ email, role }, { args: [id] }) => [`${email} now has the role ${role} on ${id}.`],
    }),
    call({
      name: 'members remove',
      summary: 'Remove a member at once, or withdraw an invitation.',
      args: ['id', 'email'],
      async call(context, [id = '', email = '']) {
        const body = { memberId: await memberId(context, id, email) };
        return context.api.POST('/v1/servers/{id}/members:remove', { ...on(id), body });
      },
      shape: {},
      show: (_, { args: [id, email] }) => [`${email} no longer has access to ${id}.`],
    }),
  ],
};
