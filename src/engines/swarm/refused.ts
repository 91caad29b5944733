import { EngineError } from '../engine.ts';
import type { Task } from './task.ts';

const PORT = /port already in use|port is already allocated|address already in use/i;

/** Why a node would not run a task; undefined where it has not said so. */
export function refusedTask(task: Task, node: string): EngineError | undefined {
  const { State: state, Err: reason = '', ContainerStatus: container } = task.Status;
  if (PORT.test(reason)) return new EngineError('port_in_use', 'A port of the server is taken.', { cause: reason });
  // `failed` without a container's exit: it could be made, and not be started.
  if (state !== 'rejected' && !(state === 'failed' && !container?.ContainerID)) return undefined;
  if (/no such image|pull access denied|manifest unknown|not found: manifest/i.test(reason)) {
    return new EngineError('image_pull_failed', `The image is not on ${node}, which could not fetch it.`, {
      suggestion: 'Ask the operator to put it in a registry that all nodes reach, or to load it on each of them.',
      cause: reason,
    });
  }
  if (/bind source path does not exist/i.test(reason)) {
    return new EngineError('unknown', `The servers' folder is not there on ${node}.`, {
      suggestion: 'Ask the operator to mount DATA_DIR/servers on every node, at the same path.',
      cause: reason,
    });
  }
  return new EngineError('unknown', `${node} could not start the server: ${reason}`, { cause: reason });
}

/** Why Swarm finds no node for a task; undefined where it has one. */
export function unplaced({ Status: { State: state, Err: reason = '' } }: Task): EngineError | undefined {
  if (state !== 'pending') return undefined;
  return new EngineError('no_room', `No node of the swarm has room for this server now: ${reason || 'none answers'}.`, {
    suggestion: 'Try again when another server sleeps, or ask the operator for another node.',
    cause: reason,
  });
}
