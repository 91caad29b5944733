import type { ExecutionContext } from 'ava';

/** What a test gives to those who leave something behind, for things that several tests of a file share. */
export interface Belongings extends Pick<ExecutionContext, 'teardown' | 'log' | 'pass' | 'fail' | 'passed'> {
  /** Undoes everything, the newest first. */
  end(): Promise<void>;
}

export function belongings(): Belongings {
  const undone: (() => unknown)[] = [];
  const nothing = Object.assign(() => {}, { skip: () => {} });
  return {
    teardown: (undo) => void undone.push(undo),
    log: Object.assign((...lines: unknown[]) => console.log(...lines), { skip: () => {} }),
    pass: Object.assign(() => true as const, { skip: () => {} }),
    fail: Object.assign(
      (message?: string): never => {
        throw new Error(message);
      },
      { skip: nothing },
    ),
    passed: true,
    async end() {
      for (const undo of undone.splice(0).toReversed()) await undo();
    },
  };
}
