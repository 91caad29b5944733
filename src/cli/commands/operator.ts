import { done } from '../api.ts';
import { call } from '../call.ts';
import { DORMOUSE } from '../called.ts';
import type { Command, Context, Subject } from '../command.ts';
import { failed } from '../errors.ts';
import { memory, relative, size, some, words } from '../format.ts';
import { type Messages, read } from '../shapes.ts';
import { didYouMean, nearest } from '../suggest.ts';
import { listing } from '../table.ts';
import { oneLine } from '../text.ts';

const CAPACITY = { activeServers: 0, ramUsableMb: '0', ramUsedMb: '0', diskFreeMb: '0' } satisfies Partial<
  Messages['CapacityResponse']
>;
const MB = 1024 * 1024;

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
  if (state === 'fenced') return 'surely off';
  if (!reachable) return 'not reachable';
  if (drained) return `drained: ${drainReason}`;
  return trouble === '' ? 'takes starts' : `takes no starts: ${trouble}`;
}

function draining(verb: 'drain' | 'resume', summary: string): Command {
  return call({
    name: `nodes ${verb}`,
    summary,
    args: ['node', 'reason'],
    call: ({ api }, [node = '', reason = '']) => api.POST(`/v1/operator/nodes:${verb}`, { body: { node, reason } }),
    shape: NODE,
    show: (node) => [`${node.node}: ${nodeState(node)}.`],
  });
}

/** `dormouse nodes`. */
export const nodes: Subject = {
  name: 'nodes',
  summary: 'The machines that servers run on, and what they have left.',
  commands: [
    call({
      name: 'nodes list',
      summary: 'List them.',
      call: ({ api }) => api.GET('/v1/operator/nodes'),
      shape: { nodes: [NODE] },
      show({ nodes }, { context: { terminal } }) {
        const rows = nodes.map((node) => [
          node.node,
          nodeState(node),
          node.region,
          String(node.capacity.activeServers),
          `${memory(Number(node.capacity.ramUsedMb))} of ${memory(Number(node.capacity.ramUsableMb))}`,
          size(Number(node.capacity.diskFreeMb) * MB),
        ]);
        return listing(
          terminal.out,
          ['NODE', 'STATE', 'REGION', 'AWAKE', 'MEMORY', 'DISK FREE'],
          rows,
          'There are no nodes.',
        );
      },
    }),
    draining('drain', 'Let a node start no servers. Those that are awake stay awake.'),
    draining('resume', 'Let it take new starts again.'),
    call({
      name: 'nodes fence',
      summary:
        'Say that a node which does not answer is surely off. Its games start on other nodes. If it is not, worlds are ruined.',
      args: ['node', 'reason'],
      call: ({ api }, [node = '', reason = '']) => api.POST('/v1/operator/nodes:fence', { body: { node, reason } }),
      shape: NODE,
      show: (node) => [`${node.node}: ${nodeState(node)}.`],
    }),
    call({
      name: 'nodes region',
      summary: 'Say in which region a node stands, whose servers then start on it; none keeps games off it.',
      args: ['node', 'region', 'reason'],
      call: ({ api }, [node = '', region = '', reason = '']) =>
        api.POST('/v1/operator/nodes:setRegion', { body: { node, region, reason } }),
      shape: NODE,
      show: (node) => [`${node.node} stands in ${node.region}: ${nodeState(node)}.`],
    }),
  ],
};

/** `dormouse capacity`. */
export const capacity = call({
  name: 'capacity',
  summary: 'Show what room the service has for games.',
  call: ({ api }) => api.GET('/v1/capacity'),
  shape: { ...CAPACITY, coresUsable: 0, coresUsed: 0 },
  show: ({ activeServers, ramUsableMb, ramUsedMb, diskFreeMb, coresUsed, coresUsable }) => [
    `${some(activeServers, 'server')} awake: ${memory(Number(ramUsedMb))} of ${memory(Number(ramUsableMb))} of memory, ` +
      `${coresUsed} of ${coresUsable} cores; ${size(Number(diskFreeMb) * MB)} of disk are free.`,
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
  const meant = didYouMean(
    nearest(
      email,
      invitations.map((each) => each.email),
    ),
  );
  throw failed('NO_SUCH_INVITATION', `Nobody of the address ${email} is invited. ${meant}`.trimEnd());
}

/** Invitations to create an account, besides `dormouse invite`. */
export const invitations: Subject = {
  name: 'invitations',
  summary: 'Addresses that may make an account and have not yet.',
  commands: [
    call({
      name: 'invitations list',
      summary: `List them. Make one with: ${DORMOUSE} invite <email>`,
      call: ({ api }) => api.GET('/v1/operator/invitations'),
      shape: { invitations: [INVITATION] },
      show({ invitations }, { context: { terminal }, now }) {
        const rows = invitations.map(({ email, invitedBy, createdAt, expiresAt }) => [
          email,
          relative(createdAt, now),
          invitedBy,
          relative(expiresAt, now),
        ]);
        return listing(terminal.out, ['E-MAIL', 'INVITED', 'BY', 'ENDS'], rows, 'Nobody is invited.');
      },
    }),
    call({
      name: 'invitations cancel',
      summary: 'Take one back: its link makes no account any more.',
      args: ['email'],
      async call(context, [email = '']) {
        const path = { invitationId: await invitationId(context, email) };
        return context.api.POST('/v1/operator/invitations/{invitationId}:cancel', { params: { path }, body: {} });
      },
      shape: {},
      show: (_, { args: [email] }) => [`${email} is not invited any more.`],
    }),
  ],
};

const MACHINE = { id: '', kind: '', name: '', state: '', since: '', deadlineAt: '' } satisfies Partial<
  Messages['OperatorMachine']
>;

/** `dormouse machines`. */
export const machines = call({
  name: 'machines',
  summary: 'List every server and sign-in of the service, those in a passing state first.',
  options: {
    state: { type: 'string', value: 'state', help: 'Only those in this state.' },
    search: { type: 'string', value: 'text', help: 'Only those whose id or name is like it.' },
  },
  call: ({ api }, _, { state = '', search = '' }) =>
    api.GET('/v1/operator/machines', { params: { query: { state, search, limit: 100 } } }),
  shape: { machines: [MACHINE], next: '' },
  show({ machines, next }, { context: { terminal }, now }) {
    const rows = machines.map(({ id, kind, name, state, since }) => [
      id,
      kind,
      name,
      words(state),
      relative(since, now),
    ]);
    const lines = listing(terminal.out, ['ID', 'KIND', 'NAME', 'STATE', 'SINCE'], rows, 'There are none.');
    return next === '' ? lines : [...lines, 'There are more: narrow it by --search or --state.'];
  },
});

const ORPHAN = { kind: '', id: '', up: false as boolean, at: '' } satisfies Partial<Messages['Orphan']>;

/** `dormouse orphans`. */
export const orphans: Subject = {
  name: 'orphans',
  summary: 'What belongs to no server: games, databases, data, backups, here and off site.',
  commands: [
    call({
      name: 'orphans list',
      summary: 'List them.',
      call: ({ api }) => api.GET('/v1/operator/orphans'),
      shape: { orphans: [ORPHAN], unread: [''] },
      show({ orphans, unread }, { context: { terminal }, now }) {
        const rows = orphans.map(({ kind, id, up, at }) => [
          kind,
          id,
          at === '' ? 'not known' : relative(at, now),
          up ? 'runs' : '',
        ]);
        const lines = listing(terminal.out, ['KIND', 'ID', 'SINCE', ''], rows, 'There are none.');
        return unread.length === 0 ? lines : [...lines, `Not to be listed now: ${unread.join(', ')}.`];
      },
    }),
    call({
      name: 'orphans remove',
      summary: 'Remove one for good. A running game goes before its files.',
      args: ['kind', 'id', 'reason'],
      warning: ([kind, id]) => `The ${kind} of ${id} will be removed for good.`,
      call: ({ api }, [kind = '', id = '', reason = '']) =>
        api.POST('/v1/operator/orphans:remove', { body: { kind, id, reason } }),
      shape: {},
      show: (_, { args: [kind, id] }) => [`The ${kind} of ${id} is removed.`],
    }),
  ],
};
