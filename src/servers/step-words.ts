import type { Cause, ServerState } from '../../machines/server-types.ts';

/** A step from one wire state to another, for the log. */
export interface SaidStep {
  id: string;
  from: ServerState;
  to: ServerState;
  /** The event's name. */
  event: string;
  cause: Cause;
  /** The failure behind the step. */
  failure?: { code: string; summary: string; suggestion: string } | undefined;
  /** Duration of a successful start. */
  startMs?: number | undefined;
}

/** Returns one sentence for operators who do not know the states. */
export function stepWords({ id, from, to, event, cause, failure, startMs }: SaidStep): string {
  switch (to) {
    case 'starting':
      return from === 'running' ? `${id} is ${cause.note}` : `${id} wakes up: ${whoOrWhat(cause)}`;
    case 'running':
      return `${id} is ready${startMs === undefined ? '' : ` after ${(startMs / 1_000).toFixed(1)} s`}`;
    case 'stopping':
      if (event === 'KILL') return `${id} is killed without saving: ${whoOrWhat(cause)}`;
      return event === 'MAINTAIN'
        ? `${id} goes to sleep for a file operation`
        : `${id} goes to sleep: ${whoOrWhat(cause)}`;
    case 'hibernated':
      return from === 'installing' ? `${id} is installed` : `${id} sleeps`;
    case 'installing':
      return `${id} is being installed: ${whoOrWhat(cause)}`;
    case 'install_failed':
      return `${id} could not be installed${because(failure)}`;
    case 'start_failed':
      return `${id} ${from === 'running' ? 'ended unexpectedly' : 'could not start'}${because(failure)}`;
    case 'deleting':
      return `${id} is being deleted: ${whoOrWhat(cause)}`;
    default:
      return to satisfies never;
  }
}

function whoOrWhat({ kind, id, note }: Cause): string {
  if (kind === 'player') return `${id} joined`;
  if (kind === 'operator') return note === '' ? 'by an operator' : `by an operator, ${note}`;
  return note === '' ? id : note;
}

/** Returns, for example, `: Out of memory: … (out_of_memory). Give it more RAM.` */
function because(failure: SaidStep['failure']): string {
  if (failure === undefined) return '';
  const summary = failure.summary.replaceAll(/\s+/g, ' ').replace(/\.$/, '');
  return `: ${summary} (${failure.code}). ${failure.suggestion}`.trimEnd();
}
