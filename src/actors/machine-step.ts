import type { StateValue } from 'xstate';
import type { Cause } from '../../machines/server-types.ts';

/** One transition of one machine, published once it is stored. */
export interface MachineStep {
  /** The id of the server or the grant. */
  id: string;
  kind: 'server' | 'grant';
  at: number;
  /** The event's name; `CREATE` for the first step of all. */
  event: string;
  /** The API's states; '' before the first step. */
  from: string;
  to: string;
  /** The full state path, from `pathOf`. */
  fromPath: string;
  toPath: string;
  cause: Cause;
  /** The code of the failure that caused the step. */
  failure?: string | undefined;
}

export type StepListener = (step: MachineStep) => void;

/** Distributes steps to their followers. Without followers, `publish` costs one comparison. */
export interface StepFeed {
  publish(step: () => MachineStep): void;
  /** Calls `listener` with each step. Returns a function that removes it. */
  follow(listener: StepListener): () => void;
}

export function createStepFeed(): StepFeed {
  const listeners = new Set<StepListener>();
  return {
    publish(step) {
      if (listeners.size === 0) return;
      const taken = step();
      for (const listener of listeners) listener(taken);
    },
    follow(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

/** Returns a machine's state path: `running`, `stopping.halting`. */
export function pathOf(value: StateValue): string {
  if (typeof value === 'string') return value;
  // No machine has parallel states.
  for (const [key, below] of Object.entries(value)) return below === undefined ? key : `${key}.${pathOf(below)}`;
  return '';
}
