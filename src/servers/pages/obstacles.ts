import type { StatusError } from '../../kernel/status.ts';
import { type Role, isAtLeast } from '../../http/roles.ts';
import { type Html, html } from '../../web/html.ts';
import type { Servers } from '../servers.ts';

/** A rule that refuses the next wake of a sleeping server, worded for its pages. */
export interface Obstacle {
  /** The obstacle and the remedy, as one sentence without its full stop. */
  text: Html;
  /** Players who join are held until the obstacle is gone. */
  onlyWaits: boolean;
  /** The obstacle does not refuse a start. */
  startWakes: boolean;
}

/** A sleeping server, and the reader's role on it. */
interface Sleeper {
  id: string;
  role: Role;
}

export interface ObstacleOptions {
  servers: Servers;
  /** Whether any player may wake it by joining. */
  playersWake: (serverId: string) => boolean;
}

/**
 * Returns why a join, or else a start, of these sleeping servers would be refused now. Servers that would wake are
 * missing.
 */
export async function obstaclesTo(
  sleepers: readonly Sleeper[],
  { servers, playersWake }: ObstacleOptions,
): Promise<Map<string, Obstacle>> {
  const ids = sleepers.map(({ id }) => id);
  const joins = await asked(servers, ids.filter(playersWake), 'JOIN');
  // For servers that only players must not wake, the check of a start matters.
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
  /** The obstacle. */
  title: string;
  /** The role that can fix it, the page and the action. A relative page is one of the server's pages. */
  mend?: readonly [by: Role, page: string, how: string];
  /** The action for all other readers. */
  others: string;
}

function obstacleOf(refusal: StatusError, sleeper: Sleeper): Obstacle {
  const isForEver = refusal.options.metadata?.['fits'] === 'never';
  const words = (isForEver ? TOO_LARGE[refusal.reason] : undefined) ?? WORDS[refusal.reason];
  return {
    text: words ? textOf(words, sleeper) : html`<strong>Can’t start now</strong>: ${refusal.message}`,
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

const LESS_RAM = { mend: ['member', 'settings', 'reduce it'], others: 'ask its owner to reduce it' } as const;
const STOP_ONE = {
  mend: ['owner', '/servers', 'stop another one first'],
  others: 'it can start once another one sleeps',
} as const;
const DELETE = 'delete something';

/** Texts for reasons that persist even if other servers sleep. */
const TOO_LARGE: Readonly<Record<string, Words>> = {
  MAX_RAM: { title: 'Its RAM exceeds the allowed limit', ...LESS_RAM },
  NODE_CAPACITY: { title: 'Its RAM exceeds the available RAM', ...LESS_RAM },
};

/** Texts by reason. Players get those of `joining/refusals.ts`. */
const WORDS: Readonly<Record<string, Words>> = {
  INSUFFICIENT_FUNDS: {
    title: 'The wallet balance is too low to start it',
    mend: ['owner', '/bill', 'top up'],
    others: 'ask its owner to top up',
  },
  SPEND_CAP_REACHED: {
    title: 'The monthly spend cap leaves too little to start it',
    mend: ['owner', '/bill', 'raise it'],
    others: 'its owner can raise it',
  },
  EULA_NOT_ACCEPTED: {
    title: 'Minecraft’s EULA is not accepted yet',
    mend: ['owner', '#eula', 'read it and agree'],
    others: 'ask its owner to accept',
  },
  UPLOADED_CODE_NOT_ALLOWED: {
    title: 'Its software can’t run here',
    mend: ['member', 'settings/version', 'choose another'],
    others: 'ask its owner to choose another',
  },
  QUOTA_EXCEEDED: {
    title: 'Its disk is full',
    mend: ['member', 'files', DELETE],
    others: 'ask its owner to free some space',
  },
  ACCOUNT_DISK_EXCEEDED: {
    title: 'The account’s disk space is used up',
    mend: ['owner', 'files', DELETE],
    others: 'ask its owner to free some space',
  },
  MAX_SERVERS: { title: 'Its account’s limit of awake servers is reached', ...STOP_ONE },
  MAX_RAM: { title: 'The account’s running servers use all of its RAM', ...STOP_ONE },
  NODE_CAPACITY: { title: 'No capacity right now', others: 'players who join wait in a queue' },
  NODE_DRAINED: { title: 'Starts are paused here', others: 'ask your administrator' },
  REGION_DOWN: { title: 'No machine that can run it is responding', others: 'try again in a few minutes' },
  [WAKES_USED_UP]: {
    title: 'Daily wake limit reached. Press Start to wake it',
    mend: ['member', 'settings/joining', 'raise the limit'],
    others: 'joining works again tomorrow',
  },
};
