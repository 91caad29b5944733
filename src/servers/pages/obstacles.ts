import type { StatusError } from '../../kernel/status.ts';
import { type Role, isAtLeast } from '../../http/roles.ts';
import { type Html, html } from '../../web/html.ts';
import type { Servers } from '../servers.ts';

/** What a rule has against the next wake of a sleeping server, as its pages say it. */
export interface Obstacle {
  /** What is in the way, and what to do, in one sentence without its end. */
  text: Html;
  /** Who joins is let in all the same, later. */
  onlyWaits: boolean;
  /** Start is not refused. */
  startWakes: boolean;
}

/** A sleeping server, and what its reader is on it. */
interface Sleeper {
  id: string;
  role: Role;
}

export interface ObstacleOptions {
  servers: Pick<Servers, 'refusals'>;
  /** Whether any player may wake it by joining. */
  playersWake: (serverId: string) => boolean;
}

/** Why a join, or else a start, would not wake these sleeping servers now; of those that it would wake, nothing. */
export async function obstaclesTo(
  sleepers: readonly Sleeper[],
  { servers, playersWake }: ObstacleOptions,
): Promise<Map<string, Obstacle>> {
  const ids = sleepers.map(({ id }) => id);
  const joins = await asked(servers, ids.filter(playersWake), 'JOIN');
  // Where only players may not, it matters what is against a start.
  const startable = ids.filter((id) => !playersWake(id) || joins.get(id)?.reason === WAKES_USED_UP);
  const starts = await asked(servers, startable, 'START');
  return new Map(
    sleepers.flatMap(({ id, role }) => {
      const refusal = starts.get(id) ?? joins.get(id);
      return refusal ? [[id, obstacleOf(refusal, { id, role })]] : [];
    }),
  );
}

async function asked(
  servers: ObstacleOptions['servers'],
  ids: readonly string[],
  command: 'JOIN' | 'START',
): Promise<Map<string, StatusError>> {
  return ids.length === 0 ? new Map() : servers.refusals(ids, command);
}

const WAKES_USED_UP = 'WAKES_USED_UP';

/** Words for a refusal. */
interface Words {
  /** What is in the way. */
  title: string;
  /** Who can mend it, on which page, and how. A page that is relative is one of the server's own. */
  mend?: readonly [by: Role, page: string, how: string];
  /** What to do, for everybody else. */
  others: string;
}

function obstacleOf(refusal: StatusError, sleeper: Sleeper): Obstacle {
  const isForEver = refusal.options.metadata?.['fits'] === 'never';
  const words = (isForEver ? TOO_LARGE[refusal.reason] : undefined) ?? WORDS[refusal.reason];
  return {
    text: words ? textOf(words, sleeper) : html`<strong>It cannot be woken now</strong>: ${refusal.message}`,
    onlyWaits: refusal.reason === 'NODE_CAPACITY' && !isForEver,
    startWakes: refusal.reason === WAKES_USED_UP,
  };
}

function textOf({ title, mend, others }: Words, { id, role }: Sleeper): Html {
  const [by, page, how] = mend ?? [];
  if (by === undefined || page === undefined || !isAtLeast(role, by)) return html`<strong>${title}</strong>: ${others}`;
  const href = page.startsWith('/') ? page : `/servers/${id}${page.startsWith('#') ? '' : '/'}${page}`;
  return html`<strong>${title}</strong>: <a href="${href}">${how}</a>`;
}

const LESS_RAM = { mend: ['member', 'settings', 'give it less'], others: 'its owner has to give it less' } as const;
const STOP_ONE = {
  mend: ['owner', '/servers', 'stop another one first'],
  others: 'it can once another one sleeps',
} as const;
const DELETE = 'delete something';

/** Where it does not help that others sleep. */
const TOO_LARGE: Readonly<Record<string, Words>> = {
  MAX_RAM: { title: 'It is set to more RAM than it may use', ...LESS_RAM },
  NODE_CAPACITY: { title: 'It is set to more RAM than there is', ...LESS_RAM },
};

/** By the reason of the refusal. Players read `joining/refusals.ts`. */
const WORDS: Readonly<Record<string, Words>> = {
  INSUFFICIENT_FUNDS: {
    title: 'The wallet has too little to wake it',
    mend: ['owner', '/bill', 'top up'],
    others: 'its owner has to top up',
  },
  SPEND_CAP_REACHED: {
    title: 'The spend cap leaves too little to wake it this month',
    mend: ['owner', '/bill', 'raise it'],
    others: 'its owner can raise it',
  },
  EULA_NOT_ACCEPTED: {
    title: 'Nobody has agreed to Minecraft’s EULA yet',
    mend: ['owner', '#eula', 'read it and agree'],
    others: 'its owner has to agree',
  },
  UPLOADED_CODE_NOT_ALLOWED: {
    title: 'Its software is not run here',
    mend: ['member', 'settings/version', 'choose another'],
    others: 'its owner has to choose another',
  },
  QUOTA_EXCEEDED: {
    title: 'Its disk is full',
    mend: ['member', 'files', DELETE],
    others: 'its owner has to make room',
  },
  ACCOUNT_DISK_EXCEEDED: {
    title: 'The disk that all servers of its account share is full',
    mend: ['owner', 'files', DELETE],
    others: 'its owner has to make room',
  },
  MAX_SERVERS: { title: 'Its account’s limit of awake servers is reached', ...STOP_ONE },
  MAX_RAM: { title: 'The awake servers of its account use all the RAM they may', ...STOP_ONE },
  NODE_CAPACITY: { title: 'No room right now', others: 'who joins waits in line until there is some' },
  NODE_DRAINED: { title: 'Nothing is started here right now', others: 'ask the operator of this installation' },
  REGION_DOWN: { title: 'No machine that could run it answers', others: 'try again in a few minutes' },
  [WAKES_USED_UP]: {
    title: 'Start wakes it, joining no more today',
    mend: ['member', 'settings/joining', 'let players wake it more often'],
    others: 'players have woken it as often as they may',
  },
};
