import test from 'ava';
import { engineConformance } from './engine.ts';
import { swarmBenches } from './swarm-bench.ts';

/** One engine in the suite, for its time; the same holds on three. */
const NODES = Number(process.env.SWARM_NODES ?? 1);
const benches = swarmBenches(NODES);
test.after.always(() => benches.end());

engineConformance(test, `swarm of ${NODES}`, (t) => benches.make(t));
