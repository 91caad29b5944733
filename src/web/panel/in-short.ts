import { SECOND_MS } from '../../kernel/units.ts';
import { withTimeout } from '../../kernel/timeout.ts';

/** As long as a page is worth waiting for; well below what proxies in front of the service give it. */
const PATIENCE_MS = 10 * SECOND_MS;

/**
 * Returns the message after starting work that continues without the page: `done`, or `goesOn` if it takes longer than
 * a page does. Throws failures until then; the page itself shows later ones.
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
