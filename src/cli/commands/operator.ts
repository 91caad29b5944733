import { done } from '../api.ts';
import { DORMOUSE } from '../called.ts';
import { type Command, type Context, type Subject, call, option } from '../command.ts';
import { failed } from '../errors.ts';
import { capacityColumns, listing, memory, relative, sizeMb, some, words } from '../format.ts';
import { CAPACITY, type Messages, read } from '../shapes.ts';
import { suggest } from '../suggest.ts';
import { oneLine } from '../text.ts';

const NODE = {
  node: '',
  reachable: false,
  drained: false,
  drainReason: '',
  region: '',
  state: '',
  trouble: '',
  capacity: CAPACITY,
};

function nodeState({ reachable, drained, drainReason, state, trouble }: typeof NODE): string {
  if (state === 'fenced') return 'confirmed off';
  if (!reachable) return 'not reachable';
  if (drained) return `drained: ${drainReason}`;
  return trouble === '' ? 'available' : `starts no servers: ${trouble}`;
}

function changing(verb: 'drain' | 'resume' | 'fence', summary: string): Command {
  return call({
    usage: `nodes ${verb} <node> <reason>`,
    summary,
    call: ({ api }, [node = '', reason = '']) => api.POST(`/v1/operator/nodes:${verb}`, { body: { node, reason } }),
    shape: NODE,
    show: (node) => [`${node.node}: ${nodeState(node)}.`],
  });
}

/** `dormouse nodes`. */
export const nodes: Subject = {
  name: 'nodes',
  summary: 'The nodes that servers run on, and their free capacity.',
  commands: [
    call({
      usage: 'nodes list',
      summary: 'List the nodes.',
      call: ({ api }) => api.GET('/v1/operator/nodes'),
      shape: { nodes: [NODE] },
      show: ({ nodes }, { out }) =>
        listing(out, nodes, 'No nodes.', {
          NODE: ({ node }) => node,
          STATE: nodeState,
          REGION: ({ region }) => region,
          ...capacityColumns(({ capacity }: typeof NODE) => capacity),
        }),
    }),
    changing('drain', 'Drain a node, so that no more servers start on it. Awake servers stay awake.'),
    changing('resume', 'Resume a drained node.'),
    changing('fence', 'Confirm that an unreachable node is off, so that its games can start on other nodes.'),
    call({
      usage: 'nodes region <node> <region> <reason>',
      summary: "Set a node's region. Servers of that region start on it. With none, no servers do.",
      call: ({ api }, [node = '', region = '', reason = '']) =>
        api.POST('/v1/operator/nodes:setRegion', { body: { node, region, reason } }),
      shape: NODE,
      show: (node) => [`${node.node} is in the region ${node.region}: ${nodeState(node)}.`],
    }),
  ],
};

/** `dormouse capacity`. */
export const capacity = call({
  usage: 'capacity',
  summary: 'Show the free capacity for games.',
  call: ({ api }) => api.GET('/v1/capacity'),
  shape: { ...CAPACITY, coresUsable: 0, coresUsed: 0 },
  show: ({ activeServers, ramUsableMb, ramUsedMb, diskFreeMb, coresUsed, coresUsable }) => [
    `${some(activeServers, 'server')} awake: ${memory(Number(ramUsedMb))} of ${memory(Number(ramUsableMb))} of memory` +
      ` and ${coresUsed} of ${coresUsable} cores reserved, ${sizeMb(diskFreeMb)} of disk free.`,
  ],
});

const INVITATION = {
  invitationId: '',
  email: '',
  invitedBy: '',
  createdAt: '',
  expiresAt: '',
} satisfies Messages['AccountInvitation'];

async function invitationId({ api }: Context, email: string): Promise<string> {
  const reply = await done(api.GET('/v1/operator/invitations'));
  const { invitations } = read({ invitations: [INVITATION] }, reply, oneLine);
  const found = invitations.find((each) => each.email === email.toLowerCase() || each.invitationId === email);
  if (found !== undefined) return found.invitationId;
  const suggestion = suggest(
    email,
    invitations.map((each) => each.email),
  );
  throw failed('NO_SUCH_INVITATION', `${email} has no open invitation. ${suggestion}`.trimEnd());
}

/** Invitations to create an account, besides `dormouse invite`. */
export const invitations: Subject = {
  name: 'invitations',
  summary: 'Open invitations to create an account.',
  commands: [
    call({
      usage: 'invitations list',
      summary: `List open invitations. Create one with: ${DORMOUSE} invite <email>`,
      call: ({ api }) => api.GET('/v1/operator/invitations'),
      shape: { invitations: [INVITATION] },
      show: ({ invitations }, { out, now }) =>
        listing(out, invitations, 'No open invitations.', {
          'E-MAIL': ({ email }) => email,
          INVITED: ({ createdAt }) => relative(createdAt, now),
          BY: ({ invitedBy }) => invitedBy,
          EXPIRES: ({ expiresAt }) => relative(expiresAt, now),
        }),
    }),
    call({
      usage: 'invitations cancel <email>',
      summary: 'Withdraw an invitation. Its link stops working.',
      async call(context, [email = '']) {
        const path = { invitationId: await invitationId(context, email) };
        return context.api.POST('/v1/operator/invitations/{invitationId}:cancel', { params: { path }, body: {} });
      },
      show: (_, { args: [email] }) => [`Withdrew the invitation of ${email}.`],
    }),
  ],
};

const MACHINE = { id: '', kind: '', name: '', state: '', since: '', deadlineAt: '' } satisfies Partial<
  Messages['OperatorMachine']
>;

/** `dormouse machines`. */
export const machines = call({
  usage: 'machines',
  summary: 'List all servers and device grants, those in a transient state first.',
  options: {
    state: option('state', 'Only machines in this state.'),
    search: option('text', 'Only machines whose id or name contains the text.'),
  },
  call: ({ api }, _, { state = '', search = '' }) =>
    api.GET('/v1/operator/machines', { params: { query: { state, search, limit: 100 } } }),
  shape: { machines: [MACHINE], next: '' },
  show({ machines, next }, { out, now }) {
    const lines = listing(out, machines, 'No machines.', {
      ID: ({ id }) => id,
      KIND: ({ kind }) => kind,
      NAME: ({ name }) => name,
      STATE: ({ state }) => words(state),
      SINCE: ({ since }) => relative(since, now),
    });
    return next === '' ? lines : [...lines, 'The list is not complete. Narrow it with --search or --state.'];
  },
});

const ORPHAN = { kind: '', id: '', up: false as boolean, at: '' } satisfies Partial<Messages['Orphan']>;

/** `dormouse orphans`. */
export const orphans: Subject = {
  name: 'orphans',
  summary: 'Orphans: games, databases, data and backups that belong to no server.',
  commands: [
    call({
      usage: 'orphans list',
      summary: 'List the orphans.',
      call: ({ api }) => api.GET('/v1/operator/orphans'),
      shape: { orphans: [ORPHAN], unread: [''] },
      show({ orphans, unread }, { out, now }) {
        const lines = listing(out, orphans, 'No orphans.', {
          KIND: ({ kind }) => kind,
          ID: ({ id }) => id,
          SINCE: ({ at }) => (at === '' ? 'unknown' : relative(at, now)),
          '': ({ up }) => (up ? 'running' : ''),
        });
        return unread.length === 0 ? lines : [...lines, `Could not list: ${unread.join(', ')}. Try again later.`];
      },
    }),
    call({
      usage: 'orphans remove <kind> <id> <reason>',
      summary: 'Permanently remove an orphan. Remove a running game before its files.',
      warning: ([kind, id]) => `This permanently removes the ${kind} of ${id}.`,
      call: ({ api }, [kind = '', id = '', reason = '']) =>
        api.POST('/v1/operator/orphans:remove', { body: { kind, id, reason } }),
      show: (_, { args: [kind, id] }) => [`Removed the ${kind} of ${id}.`],
    }),
  ],
};
