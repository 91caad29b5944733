import type { Failure } from '../../../machines/server-types.ts';
import { type Role, isAtLeast } from '../../http/roles.ts';
import type { OwnerWords, StatusError } from '../../kernel/status.ts';
import type { Servers } from '../servers.ts';
import { type Html, html } from '../../web/html.ts';

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

/**
 * Returns why a join, or else a start, of these sleeping servers would be refused now. Servers that would wake are
 * omitted. `playersWake`: whether any player may wake the server by joining.
 */
export async function obstaclesTo(
  sleepers: readonly Sleeper[],
  servers: Servers,
  playersWake: (serverId: string) => boolean,
): Promise<Map<string, Obstacle>> {
  const ids = sleepers.map(({ id }) => id);
  const joins = await asked(servers, ids.filter(playersWake), 'JOIN');
  // Check a start for servers that players cannot wake now.
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
  servers: Servers,
  ids: readonly string[],
  command: 'JOIN' | 'START',
): Promise<Map<string, StatusError>> {
  return ids.length === 0 ? new Map() : servers.refusals(ids, command);
}

const WAKES_USED_UP = 'WAKES_USED_UP';

function obstacleOf(refusal: StatusError, sleeper: Sleeper): Obstacle {
  const isForEver = refusal.options.metadata?.['fits'] === 'never';
  const words = refusal.options.words?.owner;
  return {
    text: words ? textOf(words, sleeper) : html`<strong>Can’t start now</strong>: ${refusal.message}`,
    onlyWaits: refusal.reason === 'NODE_CAPACITY' && !isForEver,
    startWakes: refusal.reason === WAKES_USED_UP,
  };
}

function textOf({ title, mend, others }: OwnerWords, { id, role }: Sleeper): Html {
  const [by, page, how] = mend ?? [];
  if (by === undefined || page === undefined || !isAtLeast(role, by)) return html`<strong>${title}</strong>: ${others}`;
  const href = page.startsWith('/') ? page : `/servers/${id}${page.startsWith('#') ? '' : '/'}${page}`;
  return html`<strong>${title}</strong>: <a href="${href}">${how}</a>`;
}

/** The obstacles to a server's next join, worded for its pages. */
export interface WakeFacts {
  /** Why the server cannot proceed; undefined if only its own state matters. */
  why: Failure | undefined;
  /** Whether any player may wake the server by joining. */
  playersWake: boolean;
  /** The rule that refuses a wake; undefined if none does or the server does not sleep. */
  obstacle: Obstacle | undefined;
}

/**
 * Returns a failure's summary (`Title: detail`) with the title emphasized. Everything after the first colon is the
 * detail.
 */
export function summaryText(summary: string): Html {
  const [title = '', ...detail] = summary.split(': ');
  return html`<strong>${title}</strong>${detail.length > 0 && `: ${detail.join(': ')}`}`;
}

/** Returns why a server cannot proceed in one sentence. Its own page has the details. */
export function whyText({ code, summary }: Failure): Html {
  return summaryText(code === 'no_room' ? 'Waiting for capacity: starts automatically' : summary);
}

/** Returns what wakes a sleeping server, or why it cannot wake. */
export function wakeText({ playersWake, obstacle }: WakeFacts): Html | string {
  if (obstacle !== undefined) return obstacle.text;
  return playersWake ? 'Joining wakes it' : 'Only Start wakes it';
}

/** The problem of a server that is neither asleep nor awake, by state. */
export const UNREADY: Readonly<Record<string, string>> = {
  installing: 'Installing software',
  install_failed: 'Install failed',
  start_failed: 'The last start failed',
};
