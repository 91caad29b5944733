import { EngineError } from '../engine.ts';

/** Sends a signal to a process, or to a group if the number is negative. Does nothing if it has ended. */
export function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** Returns whether a process leads a process group. Only the first process of each game does. */
export function leadsGroup(pid: number): boolean {
  try {
    return process.kill(-pid, 0);
  } catch {
    return false;
  }
}

/** Returns the error for a process that does not end after SIGKILL. */
export function unkillable(): EngineError {
  return new EngineError('unknown', 'The system cannot end the process of the server.', {
    suggestion: 'Ask the operator to check the machine; its disk may not respond.',
  });
}
