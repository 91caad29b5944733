import type { Response } from 'koa';
import type * as z from 'zod';
import { unlessGone } from '../kernel/caller-gone.ts';
import { createSemaphore } from '../kernel/limits/semaphore.ts';
import type { Download } from './download.ts';
import { invalidFields, routeNotFound } from './errors.ts';
import { Nothing } from './nothing.ts';
import type { Answering, KeyOperation, OpenOperation, Operation, SessionOperation } from './operation.ts';
import type { Principal, SessionPrincipal } from './principal.ts';
import { type WrittenReply, replyOf } from './reply.ts';
import type { Visitor } from './session/visitor.ts';
import type { EventSource } from './sse.ts';

/** A body that is a file's content. It can be read only once. */
export interface Upload {
  chunks: AsyncIterable<Buffer>;
  /** The size if the caller declares it. */
  sizeBytes: number | undefined;
}

/** The input of a call. `query` holds one text per parameter. `body` is empty without a message. */
export interface Sent {
  params: unknown;
  query: unknown;
  body: () => Promise<unknown>;
  upload: () => Upload;
}

/** The caller with an API key, app token or session, and the call's surroundings. */
export interface KeyCaller {
  principal: Principal;
  /** The last event received by a resuming stream; '' if none. */
  lastEventId: string;
  /** Fires when the caller disconnects. */
  signal: AbortSignal;
}

/** The calling browser, or a program that behaves like one. */
export interface Browser extends Visitor {
  /** Stores the session's token in the browser; null removes it. */
  keepSession(token: string | null): void;
  /** Stores the device's identity in the browser, for longer than any session. */
  keepDevice(device: string): void;
  /** Stores the proof of an entered password in the browser; null removes it. */
  keepPending(pending: string | null): void;
}

/** The caller of a panel operation. `principal` is undefined if the operation requires no signed-in user. */
export interface BrowserCaller {
  browser: Browser;
  principal: SessionPrincipal | undefined;
}

/** The caller of an operation without authentication. */
export interface OpenCaller {
  caller: Visitor;
  /** The request's headers, by lower-case name. */
  headers: unknown;
  /** The parts of the answer that are not its message. */
  response: Response;
  /**
   * Resolves when the answer has ended: true if it was written completely to an open connection. Losses further along
   * the network cannot be seen here.
   */
  received: () => Promise<boolean>;
}

/** A caller admitted to an operation. */
export type Caller = KeyCaller | BrowserCaller | OpenCaller;

/** The validated parts of a call. */
interface Checked<Of extends Operation> {
  params: z.output<Of['params']>;
  query: z.output<Of['query']>;
  body: z.output<Of['body']>;
}

type CallerOf<Of extends Operation> =
  Of extends SessionOperation<infer SignedIn>
    ? { browser: Browser; principal: SignedIn extends true ? SessionPrincipal : undefined }
    : Of extends OpenOperation<infer Headers>
      ? Omit<OpenCaller, 'headers'> & { headers: z.output<Headers> }
      : KeyCaller;

/** A validated call by an admitted caller, as its handler gets it. */
export type Call<Of extends Operation> = Checked<Of> & Pick<Sent, 'upload'> & CallerOf<Of>;

/** The handler's result by kind of answer. With the reply `Nothing`, it is ignored. */
interface Answers<Reply extends z.ZodType> {
  message: z.input<Reply> | WrittenReply | (typeof Nothing extends Reply ? unknown : never);
  /** An event stream (`sse.ts`), which must be played. */
  events: EventSource;
  /** A file's content (`download.ts`), which must be sent. */
  bytes: Download;
  /** `type` is the media type with all parameters. */
  text: { type: string; text: string };
}

/** The result of an operation's handler. */
export type Answer<Of extends Operation> = Answers<Of['reply']>[Of extends KeyOperation<infer Kind> ? Kind : 'message'];

/** The event source. `check` throws StatusError once its caller has lost access. */
interface OpenedStream extends EventSource {
  check: (principal: Principal) => Promise<unknown>;
}

/** The results of `Served.run`. */
interface Results {
  message: unknown;
  events: OpenedStream;
  bytes: Download;
  text: Answers<z.ZodType>['text'];
}

/** An operation with its handler. `run` validates the call, executes it, and returns the answer. Throws StatusError. */
export interface Served<Of extends Operation = Operation> {
  operation: Of;
  run: <Kind extends Answering>(sent: Sent, caller: Caller) => Promise<Results[Kind]>;
}

/** Limits expensive operations over all accounts. Each account has a share of the places, and accounts take turns. */
const expensive = createSemaphore({ atOnce: 4, atOncePerKey: 2, mostWaiting: 1_024, mostWaitingPerKey: 256 });

/**
 * Serves an operation that requires no role on a server (see `servers/api/operation.ts` for those that do). `handle` may
 * throw StatusError. `before`, for operations without authentication, is called before the body is read, and throws
 * StatusError to refuse the caller.
 */
export function serve<Of extends Operation & { role?: undefined }>(
  operation: Of,
  handle: (call: Call<Of>) => Promise<Answer<Of>>,
  before?: Of extends OpenOperation ? (caller: Visitor) => Promise<unknown> : never,
): Served {
  return served(operation, handle, async () => ({}), before);
}

/**
 * Serves an operation on a subject, which `reach` finds for the caller and passes to the handler. `reach` throws
 * StatusError if the caller has no such subject. During a stream it is called again, and a rejection ends the stream.
 */
export function serveOn<Of extends KeyOperation, Subject extends object>(
  operation: Of,
  reach: (principal: Principal, checked: Checked<Of>) => Promise<Subject>,
  handle: (call: Call<Of> & Subject) => Promise<Answer<Of>>,
): Served {
  return served<Of, Subject>(operation, handle, reach);
}

function served<Of extends Operation, Subject extends object>(
  operation: Of,
  handle: (call: Call<Of> & Subject) => Promise<Answer<Of>>,
  reach: (principal: Principal, checked: Checked<Of>) => Promise<Subject>,
  before?: (caller: Visitor) => Promise<unknown>,
): Served {
  const answers = operation.auth === 'key' ? operation.answers : 'message';
  async function run(sent: Sent, caller: Caller): Promise<unknown> {
    if (operation.auth !== 'key' || operation.expensive !== true) return await answer(sent, caller);
    const { principal, signal } = caller as KeyCaller;
    const leave = await unlessGone(signal, () => expensive.enter({ key: principal.accountId }, signal));
    return await answer(sent, caller).finally(leave);
  }
  async function answer(sent: Sent, caller: Caller): Promise<unknown> {
    if (operation.auth === 'none') await before?.((caller as OpenCaller).caller);
    const checked = await check(operation, sent);
    const headers = operation.auth === 'none' && {
      headers: checkFields(operation.headers, (caller as OpenCaller).headers),
    };
    const subject = await reach((caller as KeyCaller).principal, checked);
    const call = { ...checked, upload: sent.upload, ...caller, ...headers, ...subject };
    const result = await handle(call as Call<Of> & Subject);
    if (answers === 'message') return await replyOf(operation.reply, operation.reply === Nothing ? {} : result);
    if (answers === 'bytes' || answers === 'text') return result;
    return { ...(result as EventSource), check: (known: Principal) => reach(known, checked) };
  }
  return { operation, run: run as Served['run'] };
}

async function check<Of extends Operation>(operation: Of, sent: Sent): Promise<Checked<Of>> {
  const params = operation.params.safeParse(sent.params);
  if (!params.success) throw routeNotFound();
  return {
    params: params.data,
    query: checkFields(operation.query, sent.query),
    body: checkFields(operation.body, await sent.body()),
  } as Checked<Of>;
}

/** Returns the input as parsed by its schema. Throws INVALID_ARGUMENT INVALID_FIELD with the problem of each field. */
function checkFields<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const parsed = schema.safeParse(value, { error: describe });
  if (parsed.success) return parsed.data;
  throw invalidFields(
    parsed.error.issues.map(({ path, message }) => ({ field: path.join('.'), description: message })),
  );
}

function describe({ code, input, expected }: z.core.$ZodRawIssue): string | undefined {
  if (code !== 'invalid_type') return undefined;
  if (input === undefined) return 'is required';
  return expected === 'int' || expected === 'number' ? 'must be an integer' : `must be a single ${expected}`;
}
