/**
 * The description of an operation: a value without dependencies. The router, the OpenAPI document, pages and tests use
 * the same one. `serve.ts` adds the handler.
 */
import * as z from 'zod';
import { KIB } from '../kernel/units.ts';
import type { Described, ErrorDialect } from './errors.ts';
import { Empty } from './fields.ts';
import type { Role } from './roles.ts';
import type { Scope } from './scopes.ts';

/** Default limit of a body. */
const BODY_BYTES = 64 * KIB;

/** The media type of HTML forms. */
export const FORM = 'application/x-www-form-urlencoded';

/** A file's content in the documentation. */
export const Bytes = z.string().meta({ format: 'binary' });

export type Method = 'get' | 'post' | 'delete';

/**
 * The type of a request's body. `object`: one required JSON object. `form`: HTML form fields, none repeated; an empty
 * field counts as absent (RFC 6749 §3.2). `raw`: the message as sent (`Raw`). `bytes`: a file's content of any length
 * (`Sent.upload`).
 */
export type Taking = 'object' | 'form' | 'raw' | 'bytes';

/**
 * The kind of an operation's answer. `message`: JSON. `events`: an event stream, whose text `reply` describes. `bytes`:
 * a file's content; `reply` is `Bytes`. `text`: text in another format, which `reply` describes.
 */
export type Answering = 'message' | 'events' | 'bytes' | 'text';

/** The headings of the API reference. */
export type Section =
  | 'Account and wallet'
  | 'Platform'
  | 'Templates'
  | 'Imports'
  | 'Mods'
  | 'Console, logs and insight'
  | 'Database'
  | 'SFTP'
  | 'Backups'
  | 'Files'
  | 'Schedules'
  | 'Worlds'
  | 'Players'
  | 'Members'
  | 'Servers';

/** The parts of a description that have defaults. */
interface Defaulted<Params extends z.ZodType, Query extends z.ZodType, Body extends z.ZodType> {
  /** The path's parameters. Invalid ones are answered with 404. */
  params: Params;
  query: Query;
  body: Body;
  bodyLimitBytes: number;
}

/** The part of a description common to all operations, whatever credentials they require. */
interface Common<
  Params extends z.ZodType,
  Query extends z.ZodType,
  Body extends z.ZodType,
  Reply extends z.ZodType,
> extends Defaulted<Params, Query, Body> {
  /** Name in the reference, e.g. `StartServer`. */
  id: string;
  method: Method;
  /** As in the reference: `/v1/servers/{id}:start`. */
  path: string;
  summary: string;
  description: string;
  /** The fields that callers see. All others are stripped. */
  reply: Reply;
  /** Default: one JSON object; an empty body counts as an empty object. */
  takes?: Taking;
  /** Whether programs call it every few moments. Such calls are logged at `debug`. */
  routine?: boolean;
  /** When the operation fails with FAILED_PRECONDITION, as half a sentence for the documentation. */
  precondition?: string;
  /** The objects of a stream's events by kind. For the documentation only; not checked. */
  events?: Readonly<Record<string, z.ZodType>>;
  /** An example of the body, for the documentation. */
  example?: z.input<Body>;
}

/** An operation for API keys. `Least` is undefined if callers need no role on a server. */
export interface KeyOperation<
  Answer extends Answering = Answering,
  Least extends Role | undefined = Role | undefined,
  Params extends z.ZodType = z.ZodType,
  Query extends z.ZodType = z.ZodType,
  Body extends z.ZodType = z.ZodType,
  Reply extends z.ZodType = z.ZodType,
> extends Common<Params, Query, Body, Reply> {
  auth: 'key';
  /** The scope an API key needs; `any`: any valid key. */
  scope: Scope | 'any';
  /**
   * Additional scopes that some calls need, each with a description of those calls. The handler checks them
   * (`requireScope`).
   */
  alsoScopes?: Readonly<Partial<Record<Scope, string>>>;
  /** The scope an app token needs; absent if apps must not call it. */
  appScope?: Scope | 'any';
  /** Accepts only API keys and ignores `Authorization`. */
  keyOnly?: boolean;
  /** Also accepts an API key as a Bearer token, for programs that cannot send it in another way. */
  bearerKey?: boolean;
  /** Takes much longer than other operations. An account may call it less often, and accounts take turns. */
  expensive?: boolean;
  /** The minimum role of callers on the server. */
  role: Least;
  /** Whether it writes code into the server's files. Default: true if it needs the scope `files:write`. */
  writesCode?: boolean;
  /** The heading in the reference; absent with operations of accounts, of operators, and of pages alone. */
  section?: Section;
  answers: Answer;
}

/**
 * An operation for the panel. Authenticated by cookie and never by API key, so that a leaked key cannot create others.
 */
export interface SessionOperation<
  SignedIn extends boolean = boolean,
  Params extends z.ZodType = z.ZodType,
  Query extends z.ZodType = z.ZodType,
  Body extends z.ZodType = z.ZodType,
  Reply extends z.ZodType = z.ZodType,
> extends Common<Params, Query, Body, Reply> {
  auth: 'session';
  /** Whether a signed-in user is required. Default: true. */
  signedIn: SignedIn;
}

/** An operation without authentication. Its calls are logged at `debug`. */
export interface OpenOperation<
  Headers extends z.ZodType = z.ZodType,
  Params extends z.ZodType = z.ZodType,
  Query extends z.ZodType = z.ZodType,
  Body extends z.ZodType = z.ZodType,
  Reply extends z.ZodType = z.ZodType,
> extends Common<Params, Query, Body, Reply> {
  auth: 'none';
  headers: Headers;
  /** Headers of every answer, including errors. */
  answerHeaders?: Readonly<Record<string, string>>;
  /** Successful answers with a status other than 200. */
  also?: Readonly<Record<string, Described>>;
  /** The error format if it is not google.rpc.Status. */
  errors?: ErrorDialect;
}

/** An operation of the API. */
export type Operation = KeyOperation | SessionOperation | OpenOperation;

/** The reply message of an operation. */
export type ReplyOf<Of extends Operation> = z.output<Of['reply']>;

type WithDefaults<Of, Names extends keyof Of> = Omit<Of, Names> & Partial<Pick<Of, Names>>;
type Optional = keyof Defaulted<z.ZodType, z.ZodType, z.ZodType>;

/** Describes an operation. */
export function operation<
  Reply extends z.ZodType,
  const Answer extends Answering = 'message',
  const Least extends Role | undefined = undefined,
  Params extends z.ZodType = typeof Empty,
  Query extends z.ZodType = typeof Empty,
  Body extends z.ZodType = typeof Empty,
>(
  spec: WithDefaults<KeyOperation<Answer, Least, Params, Query, Body, Reply>, Optional | 'answers' | 'role'>,
): KeyOperation<Answer, Least, Params, Query, Body, Reply>;
export function operation<
  Reply extends z.ZodType,
  const SignedIn extends boolean = true,
  Params extends z.ZodType = typeof Empty,
  Query extends z.ZodType = typeof Empty,
  Body extends z.ZodType = typeof Empty,
>(
  spec: WithDefaults<SessionOperation<SignedIn, Params, Query, Body, Reply>, Optional | 'signedIn'>,
): SessionOperation<SignedIn, Params, Query, Body, Reply>;
export function operation<
  Reply extends z.ZodType,
  Headers extends z.ZodType = typeof Empty,
  Params extends z.ZodType = typeof Empty,
  Query extends z.ZodType = typeof Empty,
  Body extends z.ZodType = typeof Empty,
>(
  spec: WithDefaults<OpenOperation<Headers, Params, Query, Body, Reply>, Optional | 'headers'>,
): OpenOperation<Headers, Params, Query, Body, Reply>;
export function operation(spec: { auth: Operation['auth'] }): object {
  const common = { params: Empty, query: Empty, body: Empty, bodyLimitBytes: BODY_BYTES };
  switch (spec.auth) {
    case 'key':
      return { ...common, answers: 'message', role: undefined, ...spec };
    case 'session':
      return { ...common, signedIn: true, ...spec };
    case 'none':
      return { ...common, headers: Empty, routine: true, ...spec };
    default:
      return spec.auth satisfies never;
  }
}
