import { setTimeout as sleep } from 'node:timers/promises';
import { EngineError } from '../engine.ts';
import { type Agents, NotIsolatedError } from './agents.ts';
import type { Manager } from './manager.ts';
import { type Task, containerOf, isOver } from './task.ts';

/** Time limit for the agent of a node to start, and to replace an older one. */
const AGENT_MS = 30_000;
const PAUSE_MS = 250;

export interface IsolateTaskParts {
  agents: Pick<Agents, 'isolate'>;
  manager: Pick<Manager, 'task'>;
  /** The name of the task's node. */
  node: string;
  /** How long to wait for the node's agent. */
  agentMs?: number;
}

/**
 * Resolves once a running game is isolated, so that on the games' network it can reach only clients that have connected
 * to it and the database server, or once it has ended. Rejects with EngineError if its node cannot isolate it.
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
      if (performance.now() > deadline) throw notApart(node, 'its agent does not respond', error);
      await sleep(PAUSE_MS);
    }
  }
}

function notApart(node: string, why: string, cause: unknown): EngineError {
  return new EngineError('unknown', `${node} could not isolate the game from other games: ${why}.`, {
    suggestion: 'Ask the operator to check that node. It needs iptables, which Docker also uses.',
    cause,
  });
}
