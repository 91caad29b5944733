import { text as textOf } from 'node:stream/consumers';
import { StatusError } from '../kernel/status.ts';
import type { operations } from './api-types.ts';
import { requireNeeds } from './auth.ts';
import type { Upload } from './declared.ts';
import type { Operation } from './operation.ts';
import type { SessionPrincipal } from './principal.ts';
import type { TakeToken } from './rate-limit.ts';
import { WrittenReply } from './reply.ts';

/** The operations of the API by their names, as its description has them. */
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

/** The message that an operation answers with. */
export type ReplyOf<Id extends keyof Described> = Described[Id] extends {
  responses: { 200: { content: { 'application/json': infer Reply } } };
}
  ? Reply
  : never;

/**
 * Does an operation of the API for who is signed in, without a request: the same checks of access and fields, the same
 * message. Throws StatusError as the API would answer.
 */
export type Call = <Id extends Name>(
  id: Id,
  params: ParamsOf<Id>,
  sent?: SentTo<Id>,
  /** The content of a file, where the operation takes one; the rest is then its query. */
  upload?: Upload,
) => Promise<ReplyOf<Id>>;

/** Calls operations in this process for a signed-in browser. */
export type Calls = (principal: SessionPrincipal, signal: AbortSignal) => Call;

/** `take` holds the rate of a session and its account. */
export function createCalls(all: readonly Operation[], take: TakeToken): Calls {
  const byId = new Map(all.map((operation) => [operation.id, operation]));
  return (principal, signal) =>
    async function call(id, params, sent = {} as never, upload?: Upload) {
      const operation = byId.get(id);
      if (operation?.answers !== 'message') throw new Error(`${id} is no operation that answers with a message`);
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

/** As an address holds it: all of it text. */
function asQuery(sent: unknown): object {
  const given = Object.entries(sent as object).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given.map(([name, value]) => [name, String(value)]));
}

function noUpload(): never {
  throw new StatusError('INVALID_ARGUMENT', 'NO_UPLOAD', 'A file is sent by itself.');
}
