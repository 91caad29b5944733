import { done } from '../api.ts';
import { DORMOUSE } from '../called.ts';
import { type Context, type Subject, call, on, option } from '../command.ts';
import { failed } from '../errors.ts';
import { listing } from '../format.ts';
import { oneOf } from '../parse.ts';
import { type Messages, read } from '../shapes.ts';
import { suggest } from '../suggest.ts';
import { oneLine } from '../text.ts';

/** How an open invitation without an address appears in place of one. */
const ANYONE = 'anyone with the link';

const MEMBER = { memberId: '', email: '', role: '', pending: false as boolean } satisfies Partial<Messages['Member']>;

function roleOf(text = 'member') {
  const message = "The role must be member (everything but the owner's tasks) or limited (view, start, stop).";
  return oneOf(['member', 'limited'], text, message);
}

/** Finds a member's id by e-mail address. */
async function memberId({ api }: Context, id: string, email: string): Promise<string> {
  const { members } = read({ members: [MEMBER] }, await done(api.GET('/v1/servers/{id}/members', on(id))), oneLine);
  const found = members.find((each) => each.email === email.toLowerCase() || each.memberId === email);
  if (found !== undefined) return found.memberId;
  const suggestion = suggest(
    email,
    members.map((each) => each.email),
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
      usage: 'members list <id>',
      summary: 'List members and open invitations.',
      call: ({ api }, [id]) => api.GET('/v1/servers/{id}/members', on(id)),
      shape: { members: [MEMBER] },
      show({ members }, { out, args: [id] }) {
        const none = `No members. Invite someone with: ${DORMOUSE} members invite ${id} steve@example.org`;
        return listing(out, members, none, {
          'E-MAIL': ({ email, memberId: member }) => email || `${ANYONE} (${member})`,
          ROLE: ({ role }) => role,
          '': ({ pending }) => (pending ? 'invited' : ''),
        });
      },
    }),
    call({
      usage: 'members invite <id> [email]',
      summary: 'Invite someone by a link, or by e-mail address.',
      options: { role: option('role', 'member (default) or limited.') },
      call: ({ api }, [id, email], { role }) =>
        api.POST('/v1/servers/{id}/members', { ...on(id), body: { ...(email && { email }), role: roleOf(role) } }),
      shape: { ...MEMBER, link: '' },
      show: ({ email, role, link }, { args: [id] }) => [
        `Invited ${email || ANYONE} to ${id} as ${role}. This link works once, within seven days:`,
        link,
      ],
    }),
    call({
      usage: 'members role <id> <email> <member|limited>',
      summary: "Change a member's role. Applies at once.",
      async call(context, [id = '', email = '', role]) {
        const body = { role: roleOf(role), memberId: await memberId(context, id, email) };
        return context.api.POST('/v1/servers/{id}/members:setRole', { ...on(id), body });
      },
      shape: MEMBER,
      show: ({ email, role }, { args: [id] }) => [`${email} now has the role ${role} on ${id}.`],
    }),
    call({
      usage: 'members remove <id> <email>',
      summary: 'Remove a member at once, or withdraw an invitation.',
      async call(context, [id = '', email = '']) {
        const body = { memberId: await memberId(context, id, email) };
        return context.api.POST('/v1/servers/{id}/members:remove', { ...on(id), body });
      },
      show: (_, { args: [id, email] }) => [`${email} no longer has access to ${id}.`],
    }),
  ],
};
