import { SECOND_MS } from '../../kernel/units.ts';
import { withTimeout } from '../../kernel/timeout.ts';

/** How long a page waits. Well below the time limits of proxies in front of the service. */
const PATIENCE_MS = 10 * SECOND_MS;

/**
 * Returns the message about work that may outlast the page: `done`, or `goesOn` if the work is not done in time. Throws
 * failures until then; the page itself shows later ones.
 */
export function inShort(
  work: Promise<unknown>,
  done: string,
  goesOn: string,
  patienceMs = PATIENCE_MS,
): Promise<string> {
  return withTimeout(
    work.then(() => done),
    patienceMs,
    { late: () => goesOn },
  );
}
