import type { ChildProcess } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import type { FromWorker, ToWorker } from './job.ts';
import { usageOf } from './process.ts';

/** The messages of a worker about one job, in order. */
export interface Conversation {
  send(message: ToWorker): void;
  /** Resolves with the next message. Rejects with the reason given to `fail`, or if the worker has ended. */
  next(): Promise<FromWorker>;
  /** Ends the conversation for this reason. */
  fail(reason: Error): void;
  close(): void;
}

/** A worker has ended in the middle of its work. */
export class WorkerEnded extends Error {
  override name = 'WorkerEnded';
}

/** Listens to a worker while it does one job. */
export function converse(child: ChildProcess): Conversation {
  const received: FromWorker[] = [];
  let failed: Error | undefined;
  let wake = () => {};
  const hear = (message: unknown) => {
    received.push(message as FromWorker);
    wake();
  };
  const fail = (reason: Error) => {
    failed ??= reason;
    wake();
  };
  const ended = () => fail(new WorkerEnded('The worker exited before its job was done.'));
  child.on('message', hear).on('exit', ended).on('error', fail);
  if (child.exitCode !== null || child.signalCode !== null) ended();
  return {
    send: (message) => void child.send(message, (error) => error && fail(error)),
    async next() {
      // At most one call waits at a time. `wake` continues it.
      if (received.length === 0 && failed === undefined) await new Promise<void>((resolve) => (wake = resolve));
      if (failed) throw failed;
      return received.shift()!;
    },
    fail,
    close: () => void child.off('message', hear).off('exit', ended).off('error', fail),
  };
}

/** The limits of one job. `usedCpuMs`: the worker's CPU time before the job. */
export interface Budget {
  usedCpuMs: number;
  cpuMs: number;
  memoryMb: number;
}

const LOOK_MS = 100;

/** Checks a worker's usage until `signal` fires. Calls `exceeded` once if the worker exceeds its budget. */
export async function watchWorker(
  child: ChildProcess,
  { usedCpuMs, cpuMs, memoryMb }: Budget,
  exceeded: () => void,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    await delay(LOOK_MS, undefined, { signal, ref: false }).catch(() => undefined);
    const usage = signal.aborted ? undefined : await usageOf(child);
    if (usage && (usage.cpuMs - usedCpuMs > cpuMs || usage.residentMb > memoryMb)) return exceeded();
  }
}
