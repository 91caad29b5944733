import test from 'ava';
import { fenceBy } from '../../src/engines/swarm/open.ts';
import { openSwarmNodes } from '../../src/engines/swarm/nodes.ts';
import type { Manager, NodeInfo } from '../../src/engines/swarm/manager.ts';
import type { Task } from '../../src/engines/swarm/task.ts';
import { createLog } from '../../src/kernel/log.ts';

test('a node that has come back while its fencing command ran says itself what runs there', async (t) => {
  let state = 'down';
  const node = () =>
    ({
      ID: 'n1',
      Spec: { Labels: { 'dormouse.region': 'na' }, Availability: 'active' },
      Description: { Hostname: 'one', Resources: {} },
      Status: { State: state, Addr: '192.0.2.1' },
    }) as unknown as NodeInfo;
  const task = {
    ID: 't1',
    NodeID: 'n1',
    CreatedAt: new Date(0).toISOString(),
    Status: { State: 'running' },
    DesiredState: 'running',
    Spec: {},
  } as unknown as Task;
  const manager = { nodes: async () => [node()], tasks: async () => [task] } as unknown as Manager;
  const written: object[] = [];
  const command = Promise.withResolvers<boolean>();
  const nodes = await openSwarmNodes({
    manager,
    installation: 'i1',
    region: 'na',
    notes: { read: async () => ({}), write: async (notes) => void written.push(notes) },
    fenceNode: () => command.promise,
    lostAfterMs: 0,
    log: createLog({ level: 'silent' }),
  });
  await nodes.look();
  t.not(nodes.whereIs('any')?.state, 'ready');
  state = 'ready';
  await nodes.look();
  command.resolve(true);
  await new Promise((resolve) => setImmediate(resolve));
  t.is(nodes.offAt(task), undefined);
  t.deepEqual(written, []);
});

test('a fencing command that fails is told of without its words, which may hold a password', async (t) => {
  const node = { id: 'n1', name: 'one', address: '192.0.2.1' };
  t.true(await fenceBy('test "$NODE_NAME $NODE_ADDRESS $NODE_ID" = "one 192.0.2.1 n1"')(node));
  const failed = await t.throwsAsync(fenceBy('echo hush >&2; : hush; exit 3')(node));
  t.is(failed?.message, 'FENCE_COMMAND ended with 3');
  t.notRegex(JSON.stringify(failed), /hush/);
});
