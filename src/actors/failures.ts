import { serverState } from '../../machines/server.ts';
import type { Ending, Failure } from '../../machines/server-types.ts';
import type { ServerSnapshot } from '../../machines/server.ts';
import type { NewDiagnostic } from '../store/rows.ts';

/** The event of a transition, as far as a failure may lie in it. */
interface FailingEvent {
  type: string;
  how?: Ending;
  failure?: Failure;
}

/** The failure that a transition is due to, as it is kept; undefined where it is due to none. */
export function failureIn(
  before: ServerSnapshot,
  after: ServerSnapshot,
  event: FailingEvent,
  at: number,
): NewDiagnostic | undefined {
  const [from, to] = [serverState(before), serverState(after)];
  if (from === to) return undefined;
  const { startFailure, installFailure } = after.context;
  if (from === 'running' && event.how === 'crashed') return diagnostic('crash', event.failure, at);
  if (to === 'start_failed') return diagnostic(from === 'running' ? 'crash' : 'start', startFailure, at);
  return to === 'install_failed' ? diagnostic('install', installFailure, at) : undefined;
}

function diagnostic(
  kind: NewDiagnostic['kind'],
  failure: Failure | null | undefined,
  at: number,
): NewDiagnostic | undefined {
  if (!failure) return undefined;
  const { code, summary, suggestion, raw } = failure;
  return { at, kind, code, summary, suggestion, evidence: raw };
}
