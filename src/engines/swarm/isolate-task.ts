import { setTimeout as sleep } from 'node:timers/promises';
import { EngineError } from '../engine.ts';
import { type Agents, NotIsolatedError } from './agents.ts';
import type { Manager } from './manager.ts';
import { type Task, containerOf, isOver } from './task.ts';

/** How long the agent of a node may take to begin, and to take the place of an older one. */
const AGENT_MS = 30_000;
const PAUSE_MS = 250;

export interface IsolateTaskParts {
  agents: Pick<Agents, 'isolate'>;
  manager: Pick<Manager, 'task'>;
  /** The name of its node. */
  node: string;
  /** How long its agent is waited for. */
  agentMs?: number;
}

/**
 * Resolves once a game that runs can reach nothing on the games' network but what has connected to it, or once it has ended. Rejects
 * with EngineError where its node cannot see to that.
 */
export async function isolateTask(
  { agents, manager, node, agentMs = AGENT_MS }: IsolateTaskParts,
  task: Task,
): Promise<void> {
  const container = containerOf(task);
  if (container === undefined || task.NodeID === undefined || isOver(task)) return;
  const deadline = performance.now() + agentMs;
  for (;;) {
    try {
      return await agents.isolate(task.NodeID, container);
    } catch (error) {
      const now = await manager.task(task.ID);
      if (now === undefined || isOver(now)) return;
      if (error instanceof NotIsolatedError) throw notApart(node, error.message, error);
      if (performance.now() > deadline) throw notApart(node, 'what the service runs there does not answer', error);
      await sleep(PAUSE_MS);
    }
  }
}

function notApart(node: string, why: string, cause: unknown): EngineError {
  return new EngineError('unknown', `${node} could not keep the game apart from other games: ${why}.`, {
    suggestion: 'Ask the operator to look at that node: it needs iptables, which Docker uses as well.',
    cause,
  });
}
