import type { ExecutionContext } from 'ava';

/** What a test gives to those who leave something behind, for things that several tests of a file share. */
export interface Belongings extends Pick<ExecutionContext, 'teardown' | 'log' | 'passed'> {
  /** Undoes everything, the newest first. */
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
