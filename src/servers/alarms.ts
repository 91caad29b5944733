import type { Failure, ServerEvent } from '../../machines/server-types.ts';
import type { Clock } from '../kernel/clock.ts';
import { withTimeout } from '../kernel/timeout.ts';

/** Time limit for finding the reason of an expired deadline. */
const FINDING_MS = 5_000;
export interface AlarmOptions {
  /** Finds the reason why the phase failed. */
  findings?: () => Promise<Failure>;
  /**
   * Called when the alarm is due. Returns a later deadline while the phase is held up or still progressing; undefined
   * or a past instant lets the alarm fire.
   */
  spareUntil?: () => number | undefined;
}

/**
 * Sends ALARM at an instant, or at once if it has passed, with the result of `findings` if that is in time.
 * `spareUntil` may postpone it. Returns a function that cancels the alarm.
 */
export function setAlarm(
  clock: Clock,
  at: number,
  notify: (event: ServerEvent) => void,
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
    notify({ type: 'ALARM', at: clock.now(), ...(failure && { failure }) });
  }

  async function find(found: () => Promise<Failure>): Promise<void> {
    const over = new AbortController();
    cancel = () => over.abort();
    const failure = await withTimeout(found(), FINDING_MS, { clock, signal: over.signal }).catch(() => undefined);
    if (!over.signal.aborted) ring(failure);
  }
}
