import test from 'ava';
import type { StartupPhase } from '../../machines/server-types.ts';
import { type ServerNow, etaSeconds } from '../../src/servers/server-now.ts';

test('a start is estimated by the usual one, but not while it downloads', (t) => {
  const starting = (phase: StartupPhase | null, coldStartsMs: number[]) =>
    ({
      row: { coldStartsMs },
      state: 'starting',
      context: { wokenAt: 1_000, live: { phase } },
    }) as unknown as ServerNow;
  t.is(etaSeconds(starting('starting', [30_000, 20_000, 10_000]), 6_000), 15);
  t.is(etaSeconds(starting(null, [20_000]), 6_000), 15);
  t.is(etaSeconds(starting('starting', [20_000]), 30_000), null, 'slower than usual');
  t.is(etaSeconds(starting('starting', []), 6_000), null, 'the first start');
  for (const phase of ['downloading', 'installing'] as const) t.is(etaSeconds(starting(phase, [20_000]), 6_000), null);
});
