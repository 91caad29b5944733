import { text as textOf } from 'node:stream/consumers';
import type * as z from 'zod';
import { StatusError } from '../kernel/status.ts';
import type { Download } from './download.ts';
import { requireNeeds } from './auth.ts';
import type { Empty } from './fields.ts';
import type { KeyOperation, Operation, ReplyOf } from './operation.ts';
import type { SessionPrincipal } from './principal.ts';
import type { TakeToken } from './rate-limit.ts';
import { WrittenReply } from './reply.ts';
import type { Served, Upload } from './serve.ts';

/** An operation that answers with one message or a file's content. */
type CalledOperation = KeyOperation<'message'> | KeyOperation<'bytes'>;

/** The input of an operation: the body, or for a GET or an upload the query. */
type SentTo<Of extends Operation> = z.input<typeof Empty extends Of['body'] ? Of['query'] : Of['body']>;

/**
 * Calls an API operation for a signed-in user without a request. Access and fields are checked, and the reply is the
 * same; the caller must send a `Download`. Throws StatusError like the API.
 */
export type Call = <Of extends CalledOperation>(
  operation: Of,
  params: z.input<Of['params']>,
  sent?: SentTo<Of>,
  /** The file's content if the operation expects one. All other fields then belong to the query. */
  upload?: Upload,
) => Promise<Of extends KeyOperation<'bytes'> ? Download : ReplyOf<Of>>;

/** Calls operations in this process for a signed-in browser. */
export type Calls = (principal: SessionPrincipal, signal: AbortSignal) => Call;

/** `take` enforces the rate of a session and its account. */
export function createCalls(all: readonly Served[], take: TakeToken): Calls {
  const byOperation = new Map(all.map(({ operation, run }) => [operation, run]));
  return (principal, signal) =>
    async function call(operation, params, sent, upload) {
      const run = byOperation.get(operation);
      if (!run) throw new Error(`${operation.id} is not served`);
      requireNeeds(principal, operation);
      take(principal, operation);
      const message = sent ?? {};
      const isQuery = operation.method !== 'post' || upload !== undefined;
      const reply = await run<'message'>(
        {
          params,
          query: isQuery ? asQuery(message) : {},
          body: async () => (isQuery ? {} : message),
          upload: () => upload ?? noUpload(),
        },
        { principal, lastEventId: '', signal },
      );
      if (!(reply instanceof WrittenReply)) return reply as never;
      try {
        const { json } = reply;
        return JSON.parse(Buffer.isBuffer(json) ? json.toString() : await textOf(json)) as never;
      } finally {
        reply.sent();
      }
    };
}

/** Converts all values to texts and lists of texts, as in a URL. */
function asQuery(sent: object): object {
  const given = Object.entries(sent).filter(([, value]) => value !== undefined);
  return Object.fromEntries(
    given.map(([name, value]) => [name, Array.isArray(value) ? value.map(String) : String(value)]),
  );
}

function noUpload(): never {
  throw new StatusError('INVALID_ARGUMENT', 'NO_UPLOAD', 'The file is missing. Choose a file.');
}
