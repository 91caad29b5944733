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
  let cancel = clock.at(at, () => {
    if (findings === undefined) ring();
    else void find(findings);
  });
  return () => cancel();

  function ring(failure?: Failure): void {
    tell({ type: 'ALARM', at: clock.now(), ...(failure && { failure }) });
  }

  async function find(found: () => Promise<Failure>): Promise<void> {
    const over = new AbortController();
    cancel = () => over.abort();
    const failure = await withTimeout(found(), FINDING_MS, { clock, signal: over.signal }).catch(() => undefined);
    if (!over.signal.aborted) ring(failure);
  }
}
