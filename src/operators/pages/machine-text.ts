import type { Cause } from '../../../machines/server-types.ts';
import { type Html, html } from '../../web/html.ts';
import { stateText, toneOf } from '../../web/panel/state.ts';
import { plainName } from '../../web/text.ts';
import type { MachineDetail, MachineSummary } from '../machines.ts';
import { eventName } from '../../web/statechart/statechart.ts';

/** A state by its own name, as the statechart has it. */
export function stateTag(state: string): Html {
  return html`<span class="tag ${toneOf(state)}">${stateText(state)}</span>`;
}

/** `until 14:05:09 UTC`. */
export function untilText(until: number): string {
  return `until ${new Date(until).toISOString().slice(11, 19)} UTC`;
}

/** What a machine waits for, in words. */
export function waitsText({ waitsFor, kind, state }: MachineSummary): Html {
  if (waitsFor.length > 0) {
    return html`${waitsFor.map(({ what, until }) => html`<span>${what}</span>${until !== null && html`<small>${untilText(until)}</small>`}`)}`;
  }
  if (kind === 'grant') return html`<span class="soft">nothing: it is over</span>`;
  return html`<span class="soft">${state === 'hibernated' ? 'a player, or its owner' : 'its owner'}</span>`;
}

const WHO: Record<Cause['kind'], string> = {
  key: 'API key',
  user: 'User',
  player: 'Player',
  schedule: 'Schedule',
  operator: 'Operator',
  system: 'By itself',
};

/** Who or what, and why. Names of players and reasons come from outside. */
export function causeText({ kind, id, note }: Cause): Html {
  const who =
    kind === 'system' ? (id === 'device' ? 'Device' : WHO.system) : html`${WHO[kind]} <bdi>${plainName(id)}</bdi>`;
  const why = plainName(note, 200);
  return html`<span>${who}</span>${why !== '' && html`<small><bdi>${why}</bdi></small>`}`;
}

/** What an event that an operator may send does, in a sentence. */
const EVENTS: Record<string, string> = {
  ALARM: 'Time is up: do now what is due then, or try again what hangs.',
  KILL: 'End the game at once, without saving.',
  STOP: 'Save, and put it to sleep.',
  START: 'Wake it. Funds and capacity are asked as ever.',
  RESTART: 'Stop it, then start it again.',
  RETRY_INSTALL: 'Run the installer again.',
  REINSTALL: 'Install the content anew.',
  DELETE: 'Remove the server, its world and its backups for good.',
  DENY: 'Decline it: the device is told that access was denied.',
};

export function eventText(event: string): string {
  return EVENTS[event] ?? '';
}

/** The name under which a machine goes. */
export function machineName({ name, id }: Pick<MachineSummary, 'name' | 'id'>): string {
  return plainName(name) || id;
}

/** One line of a machine's history. */
export function transitionRow({ at, event, from, to, cause }: MachineDetail['transitions'][number]): Html {
  return html`<tr>
    <td data-label="At"><time datetime="${new Date(at).toISOString()}">${momentText(at)}</time></td>
    <td data-label="Event"><code>${eventName(event)}</code></td>
    <td data-label="Change">
      <span>${from !== '' && from !== to && html`${stateTag(from)} → `}${stateTag(to)}</span>
    </td>
    <td data-label="Cause">${causeText(cause)}</td>
  </tr>`;
}

/** `2026-11-20 23:50:12.345`, UTC: what happened within one second is told apart. */
function momentText(at: number): string {
  return new Date(at).toISOString().replace('T', ' ').slice(0, -1);
}
