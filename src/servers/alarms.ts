import type { Failure, ServerEvent } from '../../machines/server-types.ts';
import type { Clock } from '../kernel/clock.ts';
import { withTimeout } from '../kernel/timeout.ts';

/** How long it may take to find out why something is given up. */
const FINDING_MS = 5_000;

/**
 * Tells ALARM at an instant, at once where it has passed, with what `findings` gives in good time. Returns the cancellation.
 */
export function setAlarm(
  clock: Clock,
  at: number,
  tell: (event: ServerEvent) => void,
  findings?: () => Promise<Failure>,
): () => void {
  const over = new AbortController();
  const ring = (failure?: Failure) => {
    if (!over.signal.aborted) tell({ type: 'ALARM', at: clock.now(), ...(failure && { failure }) });
  };
  const cancel = clock.at(at, () => {
    if (findings === undefined) ring();
    else void soon(findings).then(ring);
  });
  return () => {
    cancel();
    over.abort();
  };

  async function soon(find: () => Promise<Failure>): Promise<Failure | undefined> {
    return await withTimeout(find(), FINDING_MS, { clock, signal: over.signal }).catch(() => undefined);
  }
}
