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
    throw wrongUsage('A role is member (all but the owner’s matters) or limited (look, start, stop).');
  return role;
}

/** Finds a member's id by e-mail address. */
async function memberId({ api }: Context, id: string, email: string): Promise<string> {
  const { members } = read({ members: [MEMBER] }, await done(api.GET('/v1/servers/{id}/members', on(id))), oneLine);
  const found = members.find((each) => each.email === email.toLowerCase() || each.memberId === email);
  if (found !== undefined) return found.memberId;
  const meant = didYouMean(
    nearest(
      email,
      members.map((each) => each.email),
    ),
  );
  throw failed('NO_SUCH_MEMBER', `${email} is not let into ${id}. ${meant}`.trimEnd(), { server: id });
}

/** `dormouse members`. */
export const members: Subject = {
  name: 'members',
  summary: 'Who beside you may see to a server.',
  details: `A member may do all but delete the server and see to its members, bill, database password and SFTP.
One who is limited may look, start and stop.`,
  commands: [
    call({
      name: 'members list',
      summary: 'List who has been let in or invited.',
      args: ['id'],
      call: ({ api }, [id]) => api.GET('/v1/servers/{id}/members', on(id)),
      shape: { members: [MEMBER] },
      show({ members }, { context: { terminal }, args: [id] }) {
        const rows = members.map(({ email, role, pending }) => [email, role, pending ? 'invited' : '']);
        const none = `Nobody but you. Let somebody in with: ${DORMOUSE} members invite ${id} steve@example.org`;
        return listing(terminal.out, ['E-MAIL', 'ROLE', ''], rows, none);
      },
    }),
    call({
      name: 'members invite',
      summary: 'Let somebody in, by their e-mail address.',
      args: ['id', 'email'],
      options: { role: { type: 'string', value: 'role', help: 'member (default) or limited.' } },
      call: ({ api }, [id, email = ''], { role }) =>
        api.POST('/v1/servers/{id}/members', { ...on(id), body: { email, role: roleOf(role) } }),
      shape: MEMBER,
      show: ({ email, role }, { args: [id] }) => [
        `${email} is invited to ${id} as ${role}, and finds it after signing in.`,
      ],
    }),
    call({
      name: 'members role',
      summary: 'Change what a member may do, at once.',
      args: ['id', 'email', 'member|limited'],
      async call(context, [id = '', email = '', role]) {
        const body = { role: roleOf(role), memberId: await memberId(context, id, email) };
        return context.api.POST('/v1/servers/{id}/members:setRole', { ...on(id), body });
      },
      shape: MEMBER,
      show: ({ email, role }, { args: [id] }) => [`${email} is ${role} on ${id} now.`],
    }),
    call({
      name: 'members remove',
      summary: 'End what somebody may do, at once, or take an invitation back.',
      args: ['id', 'email'],
      async call(context, [id = '', email = '']) {
        const body = { memberId: await memberId(context, id, email) };
        return context.api.POST('/v1/servers/{id}/members:remove', { ...on(id), body });
      },
      shape: {},
      show: (_, { args: [id, email] }) => [`${email} has no access to ${id} any more.`],
    }),
  ],
};
