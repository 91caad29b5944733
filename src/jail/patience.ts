import { callerGone } from '../kernel/caller-gone.ts';
import type { Room } from './space.ts';

/**
 * Returns a function to call before each piece. It reserves space for the piece, and rejects if its caller has gone.
 * The previous piece counts as written by then.
 */
export function patiently(
  { grow, landed }: Pick<Room, 'grow' | 'landed'>,
  { signal }: { signal?: AbortSignal | undefined } = {},
  taken: (bytes: number) => void = () => {},
): (bytes: number) => Promise<void> {
  let last = 0;
  return async (bytes) => {
    landed(last);
    last = bytes;
    if (signal?.aborted) throw callerGone();
    if (bytes > 0) await grow(bytes);
    taken(bytes);
  };
}
