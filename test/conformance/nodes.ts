import type { ExecutionContext } from 'ava';
import type { Engine, EngineNodes, GameSpec } from '../../src/engines/engine.ts';
import { until } from '../support/until.ts';

const never = new AbortController().signal;

/**
 * Tests that the nodes of every engine of several machines must pass. Needs a ready node and a server that may start on
 * it.
 */
export async function nodesHold(
  t: ExecutionContext,
  engine: Engine & { nodes: EngineNodes },
  spec: GameSpec,
): Promise<void> {
  const { nodes } = engine;
  const { serverId } = spec;
  const [first] = nodes.list();
  const { id } = first!;
  const now = () => nodes.list().find((node) => node.id === id)!;
  t.like(first, {
    state: 'ready',
    takesStarts: true,
    drained: false,
    trouble: '',
    games: 0,
    waitsSince: null,
    fencedAt: null,
  });
  t.true(first!.ramMb > 0 && first!.cores > 0);
  t.is(nodes.whereIs(serverId), undefined);

  await engine.boot(spec, never);
  await until(async () => nodes.whereIs(serverId)?.id === id);
  t.like(now(), { games: 1, usedRamMb: spec.ramMb });
  t.false(await nodes.fence(id), 'nobody’s word is taken against the node’s own');
  t.like(now(), { state: 'ready', fencedAt: null });

  await nodes.setStarts(id, false);
  t.like(now(), { state: 'ready', takesStarts: false, drained: true });
  t.true((await engine.inspect(serverId))?.up, 'what runs there goes on');
  await engine.halt(serverId, 1_000);
  await t.throwsAsync(engine.boot(spec, never), { message: /No node of the swarm has room/, code: 'no_room' });
  await nodes.setStarts(id, true);
  t.like(now(), { takesStarts: true, drained: false });
  t.true((await engine.boot(spec, never)).up);
  await engine.erase(serverId);
  await until(async () => nodes.whereIs(serverId) === undefined);
}
