import { text as textOf } from 'node:stream/consumers';
import { StatusError } from '../kernel/status.ts';
import type { operations } from './api-types.ts';
import { requireNeeds } from './auth.ts';
import type { Upload } from './declared.ts';
import type { Operation } from './operation.ts';
import type { SessionPrincipal } from './principal.ts';
import type { TakeToken } from './rate-limit.ts';
import { WrittenReply } from './reply.ts';

/** The operations of the API by name, as in its OpenAPI document. */
type Described = operations;

/** The operations that answer with one message. */
type Name = { [Id in keyof Described]: ReplyOf<Id> extends never ? never : Id }[keyof Described];

/** The path parameters of an operation. */
type ParamsOf<Id extends keyof Described> = Described[Id] extends { parameters: { path: infer Params } }
  ? Params
  : object;

/** The input of an operation: the body, or for a GET or an upload the query. */
type SentTo<Id extends keyof Described> = Described[Id] extends {
  requestBody?: { content: { 'application/json': infer Body } };
}
  ? Body
  : Described[Id] extends { parameters: { query?: infer Query } }
    ? Query
    : object;

/** The reply message of an operation. */
export type ReplyOf<Id extends keyof Described> = Described[Id] extends {
  responses: { 200: { content: { 'application/json': infer Reply } } };
}
  ? Reply
  : never;

/**
 * Calls an API operation for a signed-in user without a request. Access and fields are checked, and the reply is the
 * same. Throws StatusError like the API.
 */
export type Call = <Id extends Name>(
  id: Id,
  params: ParamsOf<Id>,
  sent?: SentTo<Id>,
  /** The file's content if the operation expects one. All other fields then belong to the query. */
  upload?: Upload,
) => Promise<ReplyOf<Id>>;

/** Calls operations in this process for a signed-in browser. */
export type Calls = (principal: SessionPrincipal, signal: AbortSignal) => Call;

/** `take` enforces the rate of a session and its account. */
export function createCalls(all: readonly Operation[], take: TakeToken): Calls {
  const byId = new Map(all.map((operation) => [operation.id, operation]));
  return (principal, signal) =>
    async function call(id, params, sent = {} as never, upload?: Upload) {
      const operation = byId.get(id);
      if (operation?.answers !== 'message') throw new Error(`${id} is not an operation that answers with a message`);
      requireNeeds(principal, operation);
      take(principal, operation);
      const isQuery = operation.method !== 'post' || upload !== undefined;
      const reply = await operation.run({
        params,
        query: isQuery ? asQuery(sent) : {},
        body: async () => (isQuery ? {} : sent),
        upload: () => upload ?? noUpload(),
        principal,
        lastEventId: '',
        signal,
      });
      if (!(reply instanceof WrittenReply)) return reply as never;
      try {
        const { json } = reply;
        return JSON.parse(Buffer.isBuffer(json) ? json.toString() : await textOf(json)) as never;
      } finally {
        reply.sent();
      }
    };
}

/** Converts all values to text, as in a URL. */
function asQuery(sent: unknown): object {
  const given = Object.entries(sent as object).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given.map(([name, value]) => [name, String(value)]));
}

function noUpload(): never {
  throw new StatusError('INVALID_ARGUMENT', 'NO_UPLOAD', 'The file is missing. Choose a file.');
}
