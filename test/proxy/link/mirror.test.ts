import test from 'ava';
import { Mirror } from '../../../proxy/link/mirror.ts';
import { route } from '../support.ts';

const HOUR_MS = 3_600_000;

for (const skewMs of [-HOUR_MS, HOUR_MS])
  test(`a game’s age is measured by the proxy’s clock, even if the service’s clock is off by ${skewMs} ms`, (t) => {
    let now = 1_700_000_000_000;
    const mirror = new Mirror(() => now);
    const says = (readyAt: number | null) => mirror.take({ list: [['one.example', route({ readyAt })]] });
    mirror.begin();
    says(null);
    mirror.whole();
    now += 5_000;
    says(now + skewMs);
    t.is(mirror.lookup('one.example')?.readyAt, now);
    const readyAt = now;
    now += 90_000;
    says(readyAt + skewMs);
    t.is(mirror.lookup('one.example')?.readyAt, readyAt, 'whatever else of it changes');
    mirror.begin();
    says(readyAt + skewMs);
    mirror.whole();
    t.is(mirror.lookup('one.example')?.readyAt, readyAt, 'after a break of the link too');
  });
