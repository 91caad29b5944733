import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import type { FenceNode, NodeNotes } from '../../src/engines/swarm/fences.ts';
import { fenceBy } from '../../src/engines/swarm/open.ts';
import { openSwarmNodes } from '../../src/engines/swarm/nodes.ts';
import { type Manager, type NodeInfo, fencedManager } from '../../src/engines/swarm/manager.ts';
import { AGENT_NONE, agentLabel } from '../../src/engines/swarm/service-spec.ts';
import type { Task } from '../../src/engines/swarm/task.ts';
import { createLog } from '../../src/kernel/log.ts';
import { until } from '../support/until.ts';

const never = new AbortController().signal;

function taskOf(id: string, NodeID = 'n1', { state = 'running', made = 0 } = {}): Task {
  const times = { CreatedAt: new Date(made).toISOString() };
  return { ID: id, NodeID, ...times, Status: { State: state }, DesiredState: 'running', Spec: {} } as unknown as Task;
}

/** A swarm of one node, which tests can change, and its manager. */
function standIn() {
  const labels: Record<string, string> = { 'dormouse.region': 'na', 'dormouse.files.i1': 'shared' };
  const now = { state: 'down', there: true, labels, tasks: [taskOf('t1')], changed: 0 };
  const node = () =>
    ({
      ID: 'n1',
      Spec: { Labels: now.labels, Availability: 'active' },
      Description: { Hostname: 'one', Resources: {} },
      Status: { State: now.state, Addr: '192.0.2.1' },
    }) as unknown as NodeInfo;
  const manager = {
    nodes: async () => (now.there ? [node()] : []),
    tasks: async () => now.tasks,
    async updateNode(_, change) {
      now.changed += 1;
      now.labels = change(node().Spec).Labels ?? {};
    },
  } as Partial<Manager> as Manager;
  return Object.assign(now, { manager });
}

/** Opens the nodes like a service. `stored` collects the notes that it writes, oldest first. */
async function opened(
  given: Partial<Parameters<typeof openSwarmNodes>[0]> & { manager: Manager },
  stored: NodeNotes[] = [{}],
) {
  return openSwarmNodes({
    installation: 'i1',
    region: 'na',
    notes: { read: async () => stored.at(-1)!, write: async (notes) => void stored.push(structuredClone(notes)) },
    lostAfterMs: 0,
    log: createLog({ level: 'silent' }),
    ...given,
  });
}

test('a node that returns while its fencing command runs does not count as off', async (t) => {
  const swarm = standIn();
  const stored: NodeNotes[] = [{}];
  const command = Promise.withResolvers<boolean>();
  let ended = never;
  const fenceNode: FenceNode = (_, signal) => {
    ended = signal;
    return command.promise;
  };
  const nodes = await opened({ ...swarm, fenceNode }, stored);
  await nodes.refresh();
  t.not(nodes.whereIs('any')?.state, 'ready');
  await until(() => ended !== never);
  swarm.state = 'ready';
  await nodes.refresh();
  t.true(ended.aborted, 'the command is cancelled');
  command.resolve(true);
  await new Promise((resolve) => setImmediate(resolve));
  t.is(nodes.offAt(swarm.tasks[0]!), undefined);
  t.deepEqual(stored.at(-1)?.['n1']?.off, []);
});

test('a node’s public address is its own, or the one in its label', async (t) => {
  const swarm = standIn();
  const nodes = await opened(swarm);
  await nodes.refresh();
  t.like(nodes.list()[0], { address: '192.0.2.1', publicHost: '192.0.2.1' });
  swarm.labels['dormouse.host'] = 'eu1.example.org';
  await nodes.refresh();
  t.like(nodes.list()[0], { address: '192.0.2.1', publicHost: 'eu1.example.org' });
});

test('a fence covers only the tasks seen at that time, regardless of the clocks', async (t) => {
  const swarm = standIn();
  const hour = 3_600_000;
  // The manager's clock is an hour ahead of the service's.
  swarm.tasks = [taskOf('t1', 'n1', { made: Date.now() + hour })];
  const nodes = await opened(swarm);
  await nodes.refresh();
  t.true(await nodes.fence('n1'));
  t.not(nodes.offAt(swarm.tasks[0]!), undefined);
  // A task created there later, by a clock an hour behind. It is lost too.
  const later = taskOf('t2', 'n1', { made: Date.now() - hour });
  swarm.tasks = [...swarm.tasks, later];
  await nodes.refresh();
  t.is(nodes.offAt(later), undefined);
  t.is(nodes.list()[0]?.games, 1);
});

test('a clock set ahead does not make a briefly silent node count as off', async (t) => {
  const swarm = standIn();
  let passedMs = 0;
  const nodes = await opened({ ...swarm, lostAfterMs: 1, countMs: () => passedMs });
  await nodes.refresh();
  const begunAt = Date.now();
  while (Date.now() - begunAt < 2) await new Promise((resolve) => setImmediate(resolve));
  t.false(await nodes.refresh());
  t.is(nodes.offAt(swarm.tasks[0]!), undefined);
  t.is(nodes.list()[0]?.games, 1);
  passedMs = 1;
  t.true(await nodes.refresh());
  t.not(nodes.offAt(swarm.tasks[0]!), undefined);
});

test('a node keeps its state while a new leader of the swarm does not know it', async (t) => {
  const swarm = standIn();
  const nodes = await opened({ ...swarm, lostAfterMs: 1, countMs: () => 0 });
  swarm.state = 'unknown';
  await nodes.refresh();
  t.is(nodes.list()[0]?.state, 'down', 'a node that was never ready is not ready');
  for (const state of ['ready', 'down'] as const) {
    swarm.state = state;
    await nodes.refresh();
    t.is(nodes.list()[0]?.state, state);
    swarm.state = 'unknown';
    await nodes.refresh();
    t.is(nodes.list()[0]?.state, state);
  }
});

test('a task that still runs on a node back from a fence is a stray and does not count as off', async (t) => {
  const swarm = standIn();
  const stored: NodeNotes[] = [{}];
  const nodes = await opened(swarm, stored);
  await nodes.refresh();
  await nodes.fence('n1');
  const [task] = swarm.tasks as [Task];
  swarm.state = 'ready';
  await nodes.refresh();
  t.is(nodes.offAt(task), undefined, 'the node was cut off, not switched off');
  t.true(nodes.wasOff(task));
  t.deepEqual(nodes.strays(), [task]);
  // The stray is also known after a restart of the service.
  const again = await opened(swarm, stored);
  await again.refresh();
  t.deepEqual(again.strays(), [task]);
  swarm.tasks = [taskOf('t1', 'n1', { state: 'shutdown' })];
  await nodes.refresh();
  t.deepEqual(nodes.strays(), []);
  swarm.tasks = [];
  await nodes.refresh();
  t.like(stored.at(-1)?.['n1'], { off: [], fencedAt: null });
});

test('a node that left the swarm is fenced by its name, even after a restart', async (t) => {
  const swarm = standIn();
  const stored: NodeNotes[] = [{}];
  swarm.state = 'ready';
  await (await opened(swarm, stored)).refresh();
  swarm.there = false;
  const asked: object[] = [];
  const fenceNode: FenceNode = async (node) => asked.push(node) > 0;
  const nodes = await opened({ ...swarm, fenceNode }, stored);
  await nodes.refresh();
  t.like(nodes.list(), [{ name: 'one', address: '192.0.2.1', state: 'gone' }]);
  await until(() => nodes.offAt(swarm.tasks[0]!) !== undefined);
  t.deepEqual(asked, [{ id: 'n1', name: 'one', address: '192.0.2.1' }]);
  // A service that never saw the node does not know its name, so it cannot fence it.
  const blind = await opened({ ...swarm, fenceNode });
  await blind.refresh();
  await new Promise((resolve) => setImmediate(resolve));
  t.is(asked.length, 1);
  t.is(blind.offAt(swarm.tasks[0]!), undefined);
});

test('a fence that the database does not record cuts no power and marks no task off', async (t) => {
  const swarm = standIn();
  const notes = { read: async () => ({}), write: () => Promise.reject(new Error('another process has taken over')) };
  let asked = 0;
  const fenceNode: FenceNode = async () => (asked += 1) > 0;
  const nodes = await opened({ ...swarm, notes, fenceNode });
  await nodes.refresh();
  await t.throwsAsync(nodes.fence('n1'), { message: /taken over/ });
  t.is(nodes.offAt(swarm.tasks[0]!), undefined);
  t.is(asked, 0);
});

test('a service that may have been replaced changes nothing in the swarm', async (t) => {
  const swarm = standIn();
  swarm.state = 'ready';
  swarm.labels = {};
  const refused = { message: /taken over/ };
  const manager = fencedManager(swarm.manager, () => Promise.reject(new Error('another process has taken over')));
  const nodes = await opened({ manager });
  await t.throwsAsync(nodes.refresh(), refused);
  await t.throwsAsync(nodes.setStarts('n1', false), refused);
  t.is(swarm.changed, 0);
});

test('a start does not recheck nodes that are known to share the servers’ folder', async (t) => {
  const swarm = standIn();
  swarm.state = 'ready';
  const asked: (readonly string[])[] = [];
  const checkFiles = async (ids: readonly string[]) => {
    asked.push(ids);
    return new Map(ids.map((id) => [id, 'it is not mounted there']));
  };
  const nodes = await opened({ ...swarm, checkFiles });
  await nodes.refresh();
  await nodes.admitNodes('new');
  t.deepEqual(asked, []);
  t.true(nodes.list()[0]?.takesStarts);
  await t.throwsAsync(nodes.admitNodes('all'), { message: /one: it is not mounted there/ });
  t.deepEqual(asked, [['n1']]);
  await nodes.refresh();
  t.like(nodes.list()[0], {
    takesStarts: false,
    trouble: 'It does not share the servers’ folder: it is not mounted there',
  });
});

test('a node closed to games keeps its agent until its last game is gone', async (t) => {
  const swarm = standIn();
  swarm.state = 'ready';
  const nodes = await opened(swarm);
  await nodes.refresh();
  await nodes.setRegion('n1', 'none');
  t.like(nodes.list()[0], { takesStarts: false, region: 'none' });
  t.is(swarm.labels[agentLabel('i1')], undefined);
  t.deepEqual(nodes.ready(), ['n1']);
  swarm.tasks = [];
  await nodes.refresh();
  t.is(swarm.labels[agentLabel('i1')], AGENT_NONE);
  await nodes.refresh();
  t.deepEqual(nodes.ready(), []);
  await nodes.setRegion('n1', 'na');
  t.is(swarm.labels[agentLabel('i1')], undefined);
});

test('a failed fencing command is reported without its text and output, which may contain a password', async (t) => {
  const node = { id: 'n1', name: 'one', address: '192.0.2.1' };
  t.true(await fenceBy('test "$NODE_NAME $NODE_ADDRESS $NODE_ID" = "one 192.0.2.1 n1"')(node, never));
  const failed = await t.throwsAsync(fenceBy('echo hush >&2; : hush; exit 3')(node, never));
  t.is(failed?.message, 'FENCE_COMMAND ended with 3');
  t.notRegex(JSON.stringify(failed), /hush/);
});

test('a fencing command that hangs or whose node returns is killed with all its child processes', async (t) => {
  const node = { id: 'n1', name: 'one', address: '' };
  const folder = await mkdtemp(join(tmpdir(), 'dormouse-fence-'));
  t.teardown(() => rm(folder, { recursive: true }));
  await Promise.all([endsAll(t, join(folder, 'late'), 1_500), endsAll(t, join(folder, 'back'), 60_000)]);

  async function endsAll(t: ExecutionContext, file: string, mostMs: number): Promise<void> {
    const back = new AbortController();
    const command = fenceBy(`sleep 1000 & echo $! > ${file}; wait`, mostMs)(node, back.signal);
    command.catch(() => {});
    const pid = Number(await until({ despiteErrors: true }, async () => (await readFile(file, 'utf8')).trim()));
    if (mostMs > 10_000) back.abort();
    await t.throwsAsync(command, { message: 'FENCE_COMMAND ended with SIGKILL' });
    await until(async () => !/sleep/.test(await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')));
  }
});
