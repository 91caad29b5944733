import type { ChildProcess } from 'node:child_process';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { createSemaphore } from '../limits/semaphore.ts';
import { StatusError } from '../status.ts';
import { MINUTE_MS } from '../units.ts';
import { type FromWorker, type Job, type ToWorker, fromWire } from './job.ts';
import { type WorkerProcessOptions, bundledJob, startWorkerProcess, usageOf } from './process.ts';

/** The limits of a job, and the account it runs for. */
interface JobOptions {
  /** The tenant whose work must not make others wait: the account, else the server. */
  tenant: string;
  /** Ends the job, which then rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
  /** CPU time of all its threads. Default: 5 s. */
  cpuMs?: number;
  /** Memory in addition to Node's own. Default: 128 MB. The JavaScript heap has at most 256 MB. */
  memoryMb?: number;
  /** Open descriptors, which the job sees as 4, 5 and so on. They must stay open until it has ended. */
  files?: readonly number[];
  /** The job's standard input: an open file or a stream. If the stream fails, the job fails with its error. */
  stdin?: Readable | number;
  /** For a stream whose reader waits for nothing else: queues it with the jobs that return one result. */
  brief?: boolean;
  /**
   * For a stream: how many items are produced ahead. Default: 16; with 1 the job pauses until its last item is
   * consumed.
   */
  ahead?: number;
}

/**
 * Processes untrusted bytes in separate processes, so that the main thread stays responsive and no input can crash it.
 * Processes rather than threads, because a thread that runs out of memory can end all of them. They start on demand,
 * run one job at a time, and end after a while without work.
 *
 * Rejects with the job's error (a StatusError stays one), RESOURCE_EXHAUSTED WORK_TOO_LARGE if the job exceeds its
 * limits, UNAVAILABLE BUSY if too many jobs wait, or the signal's reason; in any case only once the job has really
 * ended.
 */
export interface WorkerPool {
  run<Input, Output>(job: Job<Input, Output>, input: Input, options: JobOptions): Promise<Awaited<Output>>;
  /** Streams what a generator yields, no faster than it is read. A reader that stops early ends the job. */
  stream<Input, Item>(
    job: Job<Input, AsyncIterable<Item>>,
    input: Input,
    options: JobOptions,
  ): AsyncGenerator<Item, void>;
  /** Ends all workers and their jobs. */
  close(): Promise<void>;
}

export interface WorkerPoolOptions {
  /** Most concurrent jobs with one result; per tenant one fewer, but at least one. Default: 2. */
  runs?: number;
  /**
   * Most concurrent streams, which last as long as they are read; per tenant one fewer, but at least one. Default: 3.
   */
  streams?: number;
  /** How long a worker without work stays. Default: 20 s. */
  idleMs?: number;
  /** Folders with modules of jobs, in addition to the program's own. */
  modules?: readonly string[];
  /**
   * Whether its jobs process no untrusted input, and may therefore run with the service's own permissions. Without a
   * bundle, such a worker starts in a third of the CPU time. Default: false.
   */
  trusted?: boolean;
}

interface Worker {
  child: ChildProcess;
  bundled: boolean;
  /** CPU time used before the current job. */
  usedCpuMs: number;
  idle: NodeJS.Timeout | undefined;
  /** Resolves once the process has ended. */
  exited: Promise<void>;
}

const WAITING = { mostWaiting: 256, mostWaitingPerKey: 32 };
const ITEMS_AHEAD = 16;
const CPU_MS = 5_000;
const MEMORY_MB = 128;
/** CPU time of Node's own start. */
const NODE_CPU_MS = 1_000;
const NODE_MEMORY_MB = 96;
/** CPU time after which a worker is replaced, well before the kernel would end it. */
const WORN_CPU_MS = MINUTE_MS;
const KERNEL_FACTOR = 4;

/** Creates a pool, which starts no process until it has work. */
export function createWorkerPool(options: WorkerPoolOptions = {}): WorkerPool {
  const { runs = 2, streams = 3, idleMs = 20_000, modules = [], trusted = false } = options;
  const [forRuns, forStreams] = [slots(runs), slots(streams)];
  const workers = createWorkers(idleMs, { modules, trusted });
  return {
    async run<Input, Output>(job: Job<Input, Output>, input: Input, options: JobOptions): Promise<Awaited<Output>> {
      const leave = await forRuns.enter({ key: options.tenant }, options.signal);
      try {
        for await (const result of perform(workers, job, input, options, false)) return result as Awaited<Output>;
        throw new Error(`${job.name} returned no result`);
      } finally {
        leave();
      }
    },
    async *stream<Input, Item>(job: Job<Input, AsyncIterable<Item>>, input: Input, options: JobOptions) {
      const leave = await (options.brief ? forRuns : forStreams).enter({ key: options.tenant }, options.signal);
      try {
        yield* perform(workers, job, input, options, true) as AsyncGenerator<Item, void>;
      } finally {
        leave();
      }
    },
    close: () => workers.close(),
  };
}

function slots(atOnce: number) {
  return createSemaphore({ atOnce, atOncePerKey: Math.max(1, atOnce - 1), ...WAITING });
}

/** Runs a job in a worker. Yields its items as they arrive, or its one result. */
async function* perform<Input>(
  workers: Workers,
  { module, name }: Job<Input, unknown>,
  input: Input,
  { signal, cpuMs = CPU_MS, memoryMb = MEMORY_MB, files = [], stdin, ahead = ITEMS_AHEAD }: JobOptions,
  streamed: boolean,
): AsyncGenerator<unknown, void> {
  signal?.throwIfAborted();
  const isOwn = files.length > 0 || stdin !== undefined;
  const made = bundledJob(module);
  const worker = workers.take(cpuMs, made !== undefined, isOwn ? { files, stdin: stdinOf(stdin) } : undefined);
  const { child, usedCpuMs } = worker;
  const conversation = converse(child);
  const over = new AbortController();
  const abort = () => conversation.fail(signal?.reason as Error);
  signal?.addEventListener('abort', abort, { once: true });
  const budget = { usedCpuMs, cpuMs, memoryMb: NODE_MEMORY_MB + memoryMb };
  void watchWorker(child, budget, () => conversation.fail(tooLarge(name)), over.signal);
  let finished = false;
  try {
    if (typeof stdin === 'object' && child.stdin)
      pipeline(stdin, child.stdin, { signal: over.signal }).catch((error: Error) => conversation.fail(error));
    conversation.send({ kind: 'run', module: made ?? module, name, input, ahead: streamed ? ahead : undefined });
    let message = await conversation.next();
    for (; message.kind === 'item'; message = await conversation.next()) {
      yield message.item;
      conversation.send({ kind: 'taken' });
    }
    finished = true;
    if (message.kind === 'failed') throw fromWire(message.error);
    if (!streamed) yield message.result;
  } catch (error) {
    // A worker ends early only if it runs out of memory or the kernel kills it for its usage.
    throw error instanceof WorkerEnded ? tooLarge(name, error) : error;
  } finally {
    over.abort();
    signal?.removeEventListener('abort', abort);
    conversation.close();
    await (finished && !isOwn ? workers.giveBack(worker) : workers.end(worker));
  }
}

interface Workers {
  /** Returns an idle worker or a new one. A job with its own descriptors gets a new one. */
  take(cpuMs: number, bundled: boolean, own?: Pick<WorkerProcessOptions, 'files' | 'stdin'>): Worker;
  giveBack(worker: Worker): Promise<void>;
  end(worker: Worker): Promise<void>;
  close(): Promise<void>;
}

function createWorkers(idleMs: number, options: Pick<WorkerProcessOptions, 'modules' | 'trusted'>): Workers {
  const all = new Set<Worker>();
  const idle = new Set<Worker>();
  let closed = false;

  function start(cpuMs: number, own: Pick<WorkerProcessOptions, 'files' | 'stdin' | 'bundled'>): Worker {
    if (closed) throw new StatusError('UNAVAILABLE', 'UNAVAILABLE', 'The service is stopping.');
    const child = startWorkerProcess({ ...options, ...own, mostCpuMs: KERNEL_FACTOR * Math.max(cpuMs, WORN_CPU_MS) });
    const { promise: exited, resolve } = Promise.withResolvers<void>();
    const worker: Worker = { child, bundled: own.bundled, usedCpuMs: NODE_CPU_MS, idle: undefined, exited };
    all.add(worker);
    const gone = () => {
      clearTimeout(worker.idle);
      all.delete(worker);
      idle.delete(worker);
      resolve();
    };
    // A worker that could not be started emits no exit.
    child.once('exit', gone).on('error', () => child.pid === undefined && gone());
    return worker;
  }

  async function end({ child, exited }: Worker): Promise<void> {
    // Closing waits for the worker's end even if nothing else keeps this process alive.
    child.ref();
    child.kill('SIGKILL');
    await exited;
  }

  return {
    take(cpuMs, bundled, own) {
      const waiting = own ? undefined : [...idle].find((each) => each.bundled === bundled);
      const worker = waiting ?? start(cpuMs, { files: [], stdin: 'ignore', ...own, bundled });
      idle.delete(worker);
      clearTimeout(worker.idle);
      worker.child.ref();
      worker.child.channel?.ref();
      return worker;
    },
    async giveBack(worker) {
      const usage = await usageOf(worker.child);
      if (closed || !all.has(worker) || usage === undefined || usage.cpuMs > WORN_CPU_MS) return await end(worker);
      worker.usedCpuMs = usage.cpuMs;
      worker.child.unref();
      worker.child.channel?.unref();
      worker.idle = setTimeout(() => void end(worker), idleMs).unref();
      idle.add(worker);
    },
    end,
    async close() {
      closed = true;
      await Promise.all([...all].map(end));
    },
  };
}

function stdinOf(stdin: Readable | number | undefined): WorkerProcessOptions['stdin'] {
  return typeof stdin === 'object' ? 'pipe' : (stdin ?? 'ignore');
}

function tooLarge(name: string, cause?: Error): StatusError {
  const sentence = 'This needs more CPU time or memory than one job may use.';
  return new StatusError('RESOURCE_EXHAUSTED', 'WORK_TOO_LARGE', sentence, { metadata: { job: name }, cause });
}

/** The messages of a worker about one job, in order. */
interface Conversation {
  send(message: ToWorker): void;
  /** Resolves with the next message. Rejects with the reason given to `fail`, or if the worker has ended. */
  next(): Promise<FromWorker>;
  /** Ends the conversation for this reason. */
  fail(reason: Error): void;
  close(): void;
}

/** A worker has ended in the middle of its work. */
class WorkerEnded extends Error {
  override name = 'WorkerEnded';
}

/** Listens to a worker while it does one job. */
function converse(child: ChildProcess): Conversation {
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
interface Budget {
  usedCpuMs: number;
  cpuMs: number;
  memoryMb: number;
}

const LOOK_MS = 100;

/** Checks a worker's usage until `signal` fires. Calls `exceeded` once if the worker exceeds its budget. */
async function watchWorker(
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
