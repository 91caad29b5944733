import type { Failure, ServerEvent } from '../../machines/server-types.ts';
import type { Clock } from '../kernel/clock.ts';
import { withTimeout } from '../kernel/timeout.ts';

/** How long it may take to find out why something is given up. */
const FINDING_MS = 5_000;
export interface AlarmOptions {
  /** Why it is given up. */
  findings?: () => Promise<Failure>;
  /** Until when it is not given up, asked when the alarm is due: it is held up, or moves on. Undefined, or past: give it up. */
  spareUntil?: () => number | undefined;
}

/**
 * Sends ALARM at an instant, at once if it has passed, with what `findings` returns in good time; later while `spareUntil` says so.
 * Returns the cancellation.
 */
export function setAlarm(
  clock: Clock,
  at: number,
  tell: (event: ServerEvent) => void,
  { findings, spareUntil }: AlarmOptions = {},
): () => void {
  let cancel = clock.at(at, due);
  return () => cancel();

  function due(): void {
    const until = spareUntil?.() ?? 0;
    if (until > clock.now()) cancel = clock.at(until, due);
    else if (findings === undefined) ring();
    else void find(findings);
  }

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
