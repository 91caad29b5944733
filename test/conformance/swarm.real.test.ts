import test from 'ava';
import { createCapacity } from '../../src/billing/capacity.ts';
import { createReachability } from '../../src/engines/reachability.ts';
import { fleetOfNodes } from '../../src/operators/fleet.ts';
import { openNodeDrain } from '../../src/operators/node-drain.ts';
import { fakeClock } from '../fakes/clock.ts';
import { openEmptyStore } from '../support/empty-store.ts';
import { isHere } from '../support/needs.ts';
import { engineConformance } from './engine.ts';
import { nodesHold } from './nodes.ts';
import { swarmBenches } from './swarm-bench.ts';

/** The number of engines. One saves time; the suite also passes on three. */
const NODES = Number(process.env.SWARM_NODES ?? 1);
const benches = swarmBenches(NODES);
test.after.always(() => benches.end());

engineConformance(test.runIf(isHere('swarm')), `swarm of ${NODES}`, (t) => benches.make(t));
// The same suite without an overlay network.
engineConformance(test.runIf(isHere('swarm')), `swarm of ${NODES} without an overlay`, (t) =>
  benches.make(t, { overlay: false }),
);

/** With more nodes, a game may start on a node other than the one under test. */
if (NODES === 1) {
  test
    .runIf(isHere('swarm'))
    .serial('swarm of 1: a node is listed, drained and resumed, and cannot be fenced while it answers', async (t) => {
      t.timeout(300_000);
      const bench = await benches.make(t);
      const { engine, spec } = bench;
      t.teardown(engine.watch(() => {}));
      const nodes = engine.nodes!;
      await nodesHold(t, { ...engine, nodes }, spec('alpha'));

      const store = await openEmptyStore();
      t.teardown(() => store.close());
      const clock = fakeClock(Date.now());
      const config = { nodeLabel: 'node-1', region: 'na', maxServersPerAccount: 0 };
      const probe = async () => ({ cores: 1, ramMb: 1, diskFreeMb: 10, diskTotalMb: 20 });
      const capacity = await createCapacity(clock, probe, () => [], nodes, 'na');
      t.teardown(() => capacity.close());
      const drain = await openNodeDrain(store, config, nodes);
      const reachability = createReachability(engine, clock);
      const fleet = fleetOfNodes({ store, clock }, nodes, capacity, reachability, drain, 0);
      const done: string[] = [];
      const audit = async (_: unknown, name: string) => void done.push(name);
      const [node] = await fleet.list();
      t.like(node, { node: 'node1', state: 'ready', region: 'na', reachable: true, lostSince: null });
      t.true(node!.ramTotalMb > 0 && Number(node!.capacity.ramUsableMb) < node!.ramTotalMb);
      t.like(await fleet.setDrained('node1', { reason: 'new disks', at: 1 }, audit), {
        state: 'drained',
        drainReason: 'new disks',
      });
      t.is(drain.closed('na')?.reason, 'new disks');
      t.like(await t.throwsAsync(fleet.fence('node1', audit)), { reason: 'NODE_ANSWERS' });
      t.like(await fleet.setDrained(node!.id, undefined, audit), { state: 'ready', drained: false });
      t.deepEqual(done, ['node1', 'node1']);
    });
}
