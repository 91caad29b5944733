import test from 'ava';
import { NotIsolatedError } from '../../src/engines/swarm/agents.ts';
import { rulesFor } from '../../src/engines/swarm/agent-rules.ts';
import { type IsolateTaskParts, isolateTask } from '../../src/engines/swarm/isolate-task.ts';
import type { Task } from '../../src/engines/swarm/task.ts';

const taskIn = (State: string) =>
  ({
    ID: 't1',
    NodeID: 'n1',
    Status: { State, ContainerStatus: { ContainerID: 'c1' } },
  }) as Task;
const missing = Object.assign(new Error('no such container of this installation'), { statusCode: 404 });

/** A node whose agent returns these answers in order and repeats the last. Undefined means success. */
function nodeThat(answers: (Error | undefined)[], state = 'running') {
  const asked: string[] = [];
  const parts: IsolateTaskParts = {
    agents: {
      async isolate(nodeId, containerId) {
        asked.push(`${containerId} on ${nodeId}`);
        const answer = answers[Math.min(asked.length, answers.length) - 1];
        if (answer) throw answer;
      },
    },
    manager: { task: async () => taskIn(state) },
    node: 'one',
  };
  return { asked, parts };
}

test('isolating a game is retried until the agent of its node succeeds', async (t) => {
  const { asked, parts } = nodeThat([missing, undefined]);
  await isolateTask(parts, taskIn('running'));
  t.deepEqual(asked, ['c1 on n1', 'c1 on n1']);
});

test('a node that cannot isolate a game is named in the error, with a suggestion', async (t) => {
  const { asked, parts } = nodeThat([new NotIsolatedError('sh: iptables-restore: not found')]);
  const error = await t.throwsAsync(isolateTask(parts, taskIn('running')));
  t.like(error, {
    code: 'unknown',
    message: 'one could not isolate the game from other games: sh: iptables-restore: not found.',
  });
  t.regex((error as Error & { suggestion: string }).suggestion, /needs iptables/);
  t.is(asked.length, 1);
});

test('isolating a game fails if no agent answers on its node', async (t) => {
  const { parts } = nodeThat([missing]);
  const message = 'one could not isolate the game from other games: its agent does not respond.';
  await t.throwsAsync(isolateTask({ ...parts, agentMs: 0 }, taskIn('running')), { message });
});

test('a game that has ended needs no isolation', async (t) => {
  const { asked, parts } = nodeThat([missing], 'complete');
  await isolateTask(parts, taskIn('running'));
  await isolateTask(parts, taskIn('failed'));
  t.is(asked.length, 1);
});

test('isolation rules use the network of the game’s address', (t) => {
  const isolation = {
    network: 'n',
    image: 'i',
    answers: [25_565],
    databasePort: 0,
    databaseHost: '',
    nodes: undefined,
    dataPathPort: 4_789,
  };
  const script = rulesFor(isolation, '10.20.21.7', 20);
  t.true(script.includes('"-d 10.20.16.0/20 -j DROP"'));
  t.true(script.includes('[ "$to" = 0010140A ]'), 'the address in the format of /proc/net');
  t.false(script.includes('--dport 3306'));
  t.true(rulesFor({ ...isolation, databasePort: 3_306 }, '10.20.21.7', 20).includes('! --sport 3306 --dport 3306'));
});

test('isolation rules allow replies, DNS and the database before they block nodes and private networks', (t) => {
  const isolation = { network: 'n', image: 'i', answers: [25_565], dataPathPort: 4_789 };
  const open = rulesFor(
    { ...isolation, databasePort: 3_306, databaseHost: '10.9.9.9', nodes: undefined },
    '10.0.1.7',
    24,
  );
  t.false(open.includes('169.254.0.0/16'), 'GAMES_REACH=everything');
  const nodes = ['203.0.113.7'];
  const script = rulesFor({ ...isolation, databasePort: 3_306, databaseHost: '10.9.9.9', nodes }, '10.0.1.7', 24);
  const order = [
    '-o $card -j DROP',
    '--ctdir REPLY',
    '--dport 53',
    '-d 10.9.9.9 -p tcp --dport 3306',
    '-d 203.0.113.7 -j REJECT',
    '-d 10.0.0.0/8',
    '-d 169.254.0.0/16',
  ];
  const places = order.map((rule) => script.indexOf(rule));
  t.deepEqual(
    places,
    places.toSorted((a, b) => a - b),
  );
  t.true(places.every((place) => place > 0));
});
