import type { ReplyOf } from '../../http/operation.ts';
import { type Html, html } from '../../web/html.ts';
import { stateText, toneOf } from '../../web/panel/state.ts';
import { exactTime } from '../../web/panel/time.ts';
import { plainName } from '../../web/text.ts';
import { REASON_CHARS } from './frame.ts';
import type { GetMachine, ListMachines } from '../machines-api.ts';

export type MachineSummary = ReplyOf<typeof ListMachines>['machines'][number];
export type MachineDetail = ReplyOf<typeof GetMachine>;

/** Returns the epoch ms of an instant that is never missing. */
export function instantOf(instant: string | null): number {
  return Date.parse(instant ?? '');
}

/** Returns a state under its own name, as in the statechart. */
export function stateTag(state: string): Html {
  return html`<span class="tag ${toneOf(state)}">${stateText(state)}</span>`;
}

/** Returns, for example, `until 24 November 2026, 14:05:09 UTC`. */
export function untilText(until: string): Html {
  return html`until ${exactTime(until)}`;
}

/** Returns what a machine waits for in words. */
export function waitsText({ waitsFor, kind, state }: MachineSummary): Html {
  if (waitsFor.length > 0) {
    return html`${waitsFor.map(({ what, until }) => html`<span>${what}</span>${until !== null && html`<small>${untilText(until)}</small>`}`)}`;
  }
  if (kind === 'grant') return html`<span class="soft">–</span>`;
  return html`<span class="soft">${state === 'hibernated' ? 'a player or its owner' : 'its owner'}</span>`;
}

const WHO: Readonly<Record<string, string>> = {
  key: 'API key',
  user: 'User',
  player: 'Player',
  schedule: 'Schedule',
  operator: 'Operator',
  system: 'Automatic',
};

/** Returns a cause in words. Player names and reasons come from outside. */
export function causeText({ kind, id, note }: MachineSummary['cause']): Html {
  const who =
    kind === 'system' ? (id === 'device' ? 'Device' : WHO[kind]) : html`${WHO[kind]} <bdi>${plainName(id)}</bdi>`;
  const why = plainName(note, REASON_CHARS);
  return html`<span>${who}</span>${why !== '' && html`<small><bdi>${why}</bdi></small>`}`;
}

/** The effect of each event an operator can send, in one sentence. */
export const EVENTS: Readonly<Record<string, string>> = {
  ALARM: 'Run the due timeout now, or retry what hangs.',
  KILL: 'End the game immediately, without saving.',
  STOP: 'Save and put the server to sleep.',
  START: 'Start the server. Funds and capacity are checked as usual.',
  RESTART: 'Stop the server, then start it.',
  RETRY_INSTALL: 'Run the installer again.',
  REINSTALL: 'Reinstall the content.',
  DELETE: 'Delete the server, its world and its backups permanently.',
  DENY: 'Decline. The device receives “access denied”.',
};

export function eventText(event: string): string {
  return EVENTS[event] ?? '';
}

/** Returns a machine's display name. */
export function machineName({ name, id }: MachineSummary): string {
  return plainName(name) || id;
}

/** Returns one row of a machine's history. */
export function transitionRow({ at, event, from, to, cause }: MachineDetail['transitions'][number]): Html {
  return html`<tr>
    <td data-label="At">${at !== null && exactTime(at)}</td>
    <td data-label="Event"><code>${event}</code></td>
    <td data-label="Change">
      <span>${from !== '' && from !== to && html`${stateTag(from)} → `}${stateTag(to)}</span>
    </td>
    <td data-label="Cause">${causeText(cause)}</td>
  </tr>`;
}
