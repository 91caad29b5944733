import { type Code, StatusError, type StatusOptions } from '../status.ts';

/**
 * A piece of work for a worker process. The worker loads the job's module, which should therefore import little and
 * have no side effects. Input and output are passed as structured clones (no functions, no classes except Node's own).
 */
export interface Job<Input, Output> {
  /** URL of the module that exports it. */
  readonly module: string;
  /** Its export name. */
  readonly name: string;
  readonly work: (input: Input) => Output;
}

/**
 * Declares a job, as `export const parseThing = job(import.meta.url, 'parseThing', (input: Thing) => …)`. `name` is the
 * name of the export. The function may be async; an async generator is for `WorkerPool.stream`.
 */
export function job<Input, Output>(module: string, name: string, work: (input: Input) => Output): Job<Input, Output> {
  return { module, name, work };
}

/** A message to a worker. `ahead`: how many items of its stream may be in flight. `taken`: one of them was consumed. */
export type ToWorker =
  | { kind: 'run'; module: string; name: string; input: unknown; ahead: number | undefined }
  | { kind: 'taken' };

/** A message from a worker. */
export type FromWorker =
  | { kind: 'item'; item: unknown }
  | { kind: 'done'; result: unknown }
  | { kind: 'failed'; error: WireError };

/** An error that can be cloned. */
export interface WireError {
  message: string;
  name: string;
  stack: string | undefined;
  status: { code: Code; reason: string; options: Omit<StatusOptions, 'cause'> } | undefined;
  /** The error's code, for example of the file system. */
  code: string | undefined;
}

/** Converts an error to a form that can be cloned. */
export function toWire(thrown: unknown): WireError {
  const error = thrown instanceof Error ? thrown : new Error(String(thrown));
  const { message, name, stack } = error;
  if (!(error instanceof StatusError))
    return { message, name, stack, status: undefined, code: (error as NodeJS.ErrnoException).code };
  const { cause: _, ...options } = error.options;
  return { message, name, stack, status: { code: error.code, reason: error.reason, options }, code: undefined };
}

/** Recreates an error. A `StatusError` stays one. */
export function fromWire({ message, name, stack, status, code }: WireError): Error {
  const error = status
    ? new StatusError(status.code, status.reason, message, status.options)
    : Object.assign(new Error(message), { name, ...(code !== undefined && { code }) });
  if (stack !== undefined) error.stack = stack;
  return error;
}
