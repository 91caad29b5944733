import type { Failure, ServerEvent } from '../../machines/server-types.ts';
import type { Clock } from '../kernel/clock.ts';
import { withTimeout } from '../kernel/timeout.ts';

/** How long it may take to find out why something is given up. */
const FINDING_MS = 5_000;
/** What has been held up has so much longer once that is over. */
const HELD_UP_MS = 30_000;

export interface AlarmOptions {
  /** Why it is given up. */
  findings?: () => Promise<Failure>;
  /** Whether nothing of it can go on for now, through no fault of its own: then it is not given up yet. */
  isHeldUp?: () => boolean;
}

/**
 * Tells ALARM at an instant, at once where it has passed, with what `findings` gives in good time; later where it is held up
 * then. Returns the cancellation.
 */
export function setAlarm(
  clock: Clock,
  at: number,
  tell: (event: ServerEvent) => void,
  { findings, isHeldUp }: AlarmOptions = {},
): () => void {
  let cancel = clock.at(at, due);
  return () => cancel();

  function due(): void {
    if (isHeldUp?.()) cancel = clock.at(clock.now() + HELD_UP_MS, due);
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
