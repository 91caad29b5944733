/** Causes of transitions without a request, and failures of requests. */
import type { Cause, Ending, Failure, NoRoom, Reading } from './server-types.ts';

export const IDLE: Cause = { kind: 'system', id: 'idle', note: 'no players online' };
export const FALSE_WAKE: Cause = { kind: 'system', id: 'false_wake', note: 'woken, but no player joined' };
export const INSIDE: Cause = { kind: 'system', id: 'stopped_inside', note: 'stopped by a command in the game' };
export const UNEXPECTED: Cause = { kind: 'system', id: 'unexpected', note: 'was running although it should be asleep' };

/** The cause of ending a game that does not respond. */
export const HUNG: Cause = { kind: 'system', id: 'hung', note: 'stopped responding' };
export const AGAIN_AFTER_HUNG: Cause = { ...HUNG, note: 'restarted because it stopped responding' };

/** Returns the failure of a game that hung. `silentMs`: how long the game has been silent. */
export function hung({ silentMs, lastLines = '' }: Pick<Reading, 'silentMs' | 'lastLines'>): Failure {
  const minutes = Math.round((silentMs ?? 0) / 60_000);
  const span = minutes < 2 ? `${Math.round((silentMs ?? 0) / 1_000)} seconds` : `${minutes} minutes`;
  return {
    code: 'hung',
    summary: `Hung: the game ran but did not respond for ${span}, so it was ended.`,
    suggestion:
      'Check the end of the log. Common causes are a mod or plugin that waits for something, and a busy machine. ' +
      'Then start the server yourself: a game that hangs twice within an hour is not restarted automatically.',
    raw: lastLines,
  };
}

/** Returns the cause of a restart after the game has ended this way. */
export function againAfter(how: Ending): Cause {
  return { ...systemOf(how), note: `restarted after ${WHAT_HAPPENED[how]}` };
}

/**
 * Returns the cause of going to sleep instead of a restart. The game ended this way before the player who woke the
 * server joined.
 */
export function notAgainAfter(how: Ending): Cause {
  return { ...systemOf(how), note: `not restarted after ${WHAT_HAPPENED[how]}: no player had joined` };
}

function systemOf(how: Ending): Pick<Cause, 'kind' | 'id'> {
  return { kind: 'system', id: how === 'crashed' ? 'crash' : 'lost' };
}

const WHAT_HAPPENED: Record<Ending, string> = {
  crashed: 'a crash',
  lost: 'the loss of its engine or machine',
  ended: 'an unrequested end',
  stopped: 'a stop',
};

/** Returns the failure for the crash that exceeded the limit. */
export function crashLoop({ summary, suggestion, raw }: Failure): Failure {
  return {
    code: 'crash_loop',
    summary: `Crash loop: the game ended unexpectedly three times in an hour and was not restarted. Last: ${summary}`,
    suggestion: `${suggestion} Then start the server yourself: until then, players cannot wake it.`.trimStart(),
    raw,
  };
}

/** The failure of a game that was killed because it did not end within the time allowed for a stop. */
export const STOP_FORCED: Failure = {
  code: 'stop_forced',
  summary: 'Stop forced: the game did not save and end in time, so it was killed.',
  suggestion:
    'Changes that it had not saved are lost. Check the end of the log: a very large world, a slow disk or a plugin ' +
    'that waits for something can cause this.',
  raw: '',
};

export const START_TIMEOUT: Failure = {
  code: 'start_timeout',
  summary: 'Start timed out: the server ran but never became ready for players, and its log stopped growing.',
  suggestion: 'Check the end of the log before the next start: a mod that hangs or a very large world can cause this.',
  raw: '',
};
export const INSTALL_TIMEOUT: Failure = {
  code: 'install_timeout',
  summary: 'Install timed out: the installer did not finish.',
  suggestion: 'Retry the install. If it hangs again, choose another version of the pack.',
  raw: '',
};
const LATER = 'Start it when another server sleeps, give it less memory, or ask the operator for another machine.';

/** Returns the failure of a server queued for room. */
export function inLine({ code, summary, raw }: Omit<NoRoom, 'at'>): Failure {
  const suggestion = 'It is queued and starts automatically when there is room. Stopping it removes it from the queue.';
  return { code, summary, suggestion, raw };
}

/** Returns the failure of a server that was removed from the queue. */
export function outOfLine(failure: Failure): Failure {
  return { ...failure, code: 'no_room_found', suggestion: LATER };
}

/** Returns the failure of a server that has been queued for the longest time allowed (`ms`). */
export function noRoomFor(ms: number): Failure {
  const summary = `No room: the server waited ${Math.round(ms / 60_000)} minutes for a machine with room. Start it again later.`;
  return { code: 'no_room_found', summary, suggestion: LATER, raw: '' };
}

/** Whether an effect rejected because no machine has room now. */
export function isNoRoom(error: unknown): error is NoRoom {
  return isFailure(error) && error.code === 'no_room' && 'at' in error && typeof error.at === 'number';
}

/** Adds the log's findings to a failure. An `unknown` finding only contributes the last lines. */
export function shownBy(failure: Failure, found: Failure | undefined): Failure {
  if (found === undefined) return failure;
  if (found.code === 'unknown') return { ...failure, raw: found.raw };
  const summary = `${failure.summary} Its log shows: ${found.summary}`;
  return { ...failure, summary, suggestion: found.suggestion, raw: found.raw };
}

export const CANCELLED: Failure = {
  code: 'cancelled',
  summary: 'Install cancelled: it was stopped before it finished.',
  suggestion: 'Retry the install when you are ready.',
  raw: '',
};

/** Returns the Failure for the rejection of an effect, which may be any error. */
export function failureOf(error: unknown): Failure {
  if (isFailure(error))
    return { code: error.code, summary: error.summary, suggestion: error.suggestion, raw: error.raw };
  return {
    code: 'unknown',
    summary: `Unexpected: ${error instanceof Error ? error.message : String(error)}`,
    suggestion: 'Try again. If this continues, ask the operator to check the service log.',
    raw: '',
  };
}

function isFailure(value: unknown): value is Failure {
  return (
    typeof value === 'object' &&
    value !== null &&
    'code' in value &&
    'summary' in value &&
    'suggestion' in value &&
    'raw' in value
  );
}
