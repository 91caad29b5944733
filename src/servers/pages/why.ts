import type { Failure } from '../../../machines/server-types.ts';
import { type Html, html } from '../../web/html.ts';
import type { Obstacle } from './obstacles.ts';

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
