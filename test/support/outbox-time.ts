import { listDueMessages } from '../../src/notices/rows.ts';
import type { Store } from '../../src/store/store.ts';
import type { FakeClock } from '../fakes/clock.ts';

/** Advances the clock, and waits for the writes and messages that become due. */
export async function passOutbox({ store, clock }: { store: Store; clock: FakeClock }, ms: number): Promise<void> {
  for (const end = clock.now() + ms; clock.now() < end;) {
    const next = Math.max(clock.nextAt(), clock.now() + 1);
    await clock.advance(Math.min(next, end) - clock.now());
    const isDue = async () => (await listDueMessages(store, clock.now(), 1)).length > 0;
    for (let n = 0; n < 6 || (n < 200 && (await isDue())); n++) await store.write(async () => {});
  }
}
