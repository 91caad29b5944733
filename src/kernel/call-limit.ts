import type { Clock } from './clock.ts';

/** Takes one of a key's places in the span that ends now; false: all are taken. */
export type TakePlace = (key: string) => boolean;

/** At most `most` calls of each key in any span of `spanMs`. Keys of which there was no call in that time cost nothing. */
export function createCallLimit({ most, spanMs, clock }: { most: number; spanMs: number; clock: Clock }): TakePlace {
  const calls = new Map<string, number[]>();
  return (key) => {
    const since = clock.now() - spanMs;
    // Those called last stand at the end.
    for (const [other, times] of calls) {
      if ((times.at(-1) ?? 0) > since) break;
      calls.delete(other);
    }
    const recent = (calls.get(key) ?? []).filter((at) => at > since);
    if (recent.length >= most) return false;
    recent.push(clock.now());
    calls.delete(key);
    calls.set(key, recent);
    return true;
  };
}
