import type { ExecutionContext } from 'ava';

/** The parts of a test's context that helpers need for teardown, for things that several tests of a file share. */
export interface Belongings extends Pick<ExecutionContext, 'teardown' | 'log' | 'passed'> {
  /** Runs all teardowns, the newest first. */
  end(): Promise<void>;
}

export function belongings(): Belongings {
  const undone: (() => unknown)[] = [];
  return {
    teardown: (undo) => void undone.push(undo),
    log: Object.assign((...lines: unknown[]) => console.log(...lines), { skip: () => {} }),
    passed: true,
    async end() {
      for (const undo of undone.splice(0).toReversed()) await undo();
    },
  };
}
