import { SECOND_MS } from '../../kernel/units.ts';
import { withTimeout } from '../../kernel/timeout.ts';

/** As long as a page is worth waiting for; well below what proxies in front of the service give it. */
const PATIENCE_MS = 10 * SECOND_MS;

/**
 * What a form says of work that goes on whether or not anybody waits: `done`, or `goesOn` where it takes longer than a page
 * does. What fails by then is thrown; what fails later is shown by the page itself.
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
