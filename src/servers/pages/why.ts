import type { Failure } from '../../../machines/server-types.ts';
import { type Html, html } from '../../web/html.ts';
import type { Obstacle } from './obstacles.ts';

/** The obstacles to a server's next join, worded for its pages. */
export interface Outlook {
  /** Why it does not go on; undefined: nothing is against it beside its own state. */
  why: Failure | undefined;
  /** Whether any player may wake it by joining. */
  playersWake: boolean;
  /** The rule that refuses a wake; undefined if none does or the server does not sleep. */
  obstacle: Obstacle | undefined;
}

/** The summary of a failure (`Title: detail`): its title stands out. What follows the first colon is its detail, colons and all. */
export function summaryText(summary: string): Html {
  const [title = '', ...detail] = summary.split(': ');
  return html`<strong>${title}</strong>${detail.length > 0 && `: ${detail.join(': ')}`}`;
}

/** Why a server does not go on, where there is room for a sentence; its own page says the rest. */
export function whyText({ code, summary }: Failure): Html {
  return summaryText(code === 'no_room' ? 'Waiting for capacity: starts automatically' : summary);
}

/** Returns what wakes a sleeping server, or why it cannot wake. */
export function wakeText({ playersWake, obstacle }: Outlook): Html | string {
  if (obstacle !== undefined) return obstacle.text;
  return playersWake ? 'Joining wakes it' : 'Only Start wakes it';
}

/** The problem of a server that is neither asleep nor awake, by state. */
export const UNREADY: Readonly<Record<string, string>> = {
  installing: 'Installing software',
  install_failed: 'Install failed',
  start_failed: 'The last start failed',
};
