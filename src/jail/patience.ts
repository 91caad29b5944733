import { callerGone } from '../kernel/caller-gone.ts';
import type { Room } from './space.ts';

/**
 * Checks before each piece that there is room for it and that its caller is still there. The piece before has been
 * written by then.
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
