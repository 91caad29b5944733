import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import test from 'ava';
import type { Agents } from '../../src/engines/swarm/agents.ts';
import type { Manager, ServiceInfo } from '../../src/engines/swarm/manager.ts';
import { swarmServices } from '../../src/engines/swarm/services.ts';
import type { Task } from '../../src/engines/swarm/task.ts';
import { gameSpec } from '../conformance/game-spec.ts';

const never = new AbortController().signal;

test('a leftover container on a returned node is killed before the server’s new game is created', async (t) => {
  const dataDir = await mkdtemp(`${tmpdir()}/dormouse-stray-`);
  t.teardown(() => rm(dataDir, { recursive: true }));
  const done: string[] = [];
  const taskOf = (id: string, container: string) =>
    ({
      ID: id,
      ServiceID: `service-of-${id}`,
      NodeID: 'n1',
      CreatedAt: new Date(0).toISOString(),
      Status: { State: 'running', ContainerStatus: { ContainerID: container } },
      Spec: {},
    }) as Task;
  const tasks = new Map([['old', taskOf('old', 'of-old')]]);
  let service: ServiceInfo | undefined;
  const manager = {
    service: async () => service,
    services: async () => [],
    tasks: async () => [...tasks.values()],
    taskOf: async () => tasks.get('new'),
    task: async (id) => tasks.get(id),
    async create() {
      done.push('created');
      tasks.set('new', taskOf('new', 'of-new'));
      service = {
        ID: 's',
        Version: { Index: 1 },
        Spec: { Name: 's', Labels: { 'dormouse.installer': 'false' }, TaskTemplate: {} },
      };
      return true;
    },
    update: async () => {},
  } as Partial<Manager> as Manager;
  const container = (id: string) => ({
    inspect: async () => ({ State: { Running: true } }),
    async kill() {
      done.push(`killed ${id}`);
      tasks.delete('old');
    },
  });
  const services = swarmServices({
    manager,
    networks: { ensure: async () => undefined, peers: async () => [] },
    agents: { on: async () => ({ getContainer: container }) } as unknown as Agents,
    nodes: {
      offAt: () => undefined,
      wasOff: ({ ID }) => ID === 'old',
      requireReachable: () => {},
      nameOf: () => 'one',
    },
    home: { installation: 'i1', user: `${process.getuid!()}:${process.getgid!()}`, region: 'na' },
    imageFor: async (image) => ({ name: image, program: [] }),
    beforeDiscard: async () => {},
  });
  const { task } = await services.run(gameSpec('castle', { image: 'any', dataDir, env: {} }), false, never);
  t.is(task.ID, 'new');
  t.deepEqual(done, ['killed of-old', 'created']);
});
