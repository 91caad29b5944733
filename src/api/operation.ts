import type { z } from 'zod';
import type { Role } from '../access/members.ts';
import type { Principal } from '../access/principal.ts';
import type { Scope } from '../access/scopes.ts';
import type { ServerNow } from '../actors/servers.ts';
import { declare } from './declared.ts';
import type { Checked, Declaration, Declared, Sent } from './declared.ts';
import type { Empty } from './fields.ts';
import type { ServerParams } from './schemas.ts';
import { reachServer } from './services.ts';
import type { Services } from './services.ts';

/** What callers need for an operation. */
interface Access {
  /** What the caller's API key must hold; `any`: a valid one will do. */
  scope: Scope | 'any';
  /** What an app token must hold; absent: apps may not call it. */
  appScope?: Scope | 'any';
  tag: 'control' | 'operator';
}

/** What an operation is, but for what it does. */
export type OperationSpec<
  Params extends z.ZodType,
  Query extends z.ZodType,
  Body extends z.ZodType,
  Reply extends z.ZodType,
> = Declaration<Params, Query, Body, Reply> & Access;

/** A call as its handler gets it: checked, and by a caller who may. */
export type Call<Params extends z.ZodType, Query extends z.ZodType, Body extends z.ZodType> = Checked<
  Params,
  Query,
  Body
> & {
  principal: Principal;
  /** Fires when the caller goes away. */
  signal: AbortSignal;
};

/** A call on one server: `server` as it is now, and what the caller is on it. */
export type ServerCall<Params extends z.ZodType, Query extends z.ZodType, Body extends z.ZodType> = Call<
  Params,
  Query,
  Body
> & { server: ServerNow; role: Role };

/** A call as it comes in. */
export interface RawCall extends Sent {
  principal: Principal;
  signal: AbortSignal;
}

/** One operation of the API. */
export interface Operation extends Declared, Access {
  /** On a server: the least the caller must be on it. */
  role?: Role;
  /** Checks the call, does it, and renders the reply. Throws StatusError. */
  run(call: RawCall, services: Services): Promise<unknown>;
}

/**
 * Declares an operation, in two steps so that the handler's types follow from the schemas:
 * `operation({ … }).handle(async ({ params, body }, { servers }) => …)`.
 */
export function operation<
  Reply extends z.ZodType,
  Params extends z.ZodType = typeof Empty,
  Query extends z.ZodType = typeof Empty,
  Body extends z.ZodType = typeof Empty,
>(spec: OperationSpec<Params, Query, Body, Reply>) {
  type Handler = (call: Call<Params, Query, Body>, services: Services) => Promise<z.input<Reply>>;
  return {
    handle(handler: Handler): Operation {
      const { declared, check } = declare<Params, Query, Body, typeof spec>(spec);
      return {
        ...declared,
        async run({ principal, signal, ...sent }, services) {
          const call = { ...(await check(sent)), principal, signal };
          return spec.reply.parse(await handler(call, services));
        },
      };
    },
  };
}

/**
 * Declares an operation on one server, whose path begins with `/v1/servers/{id}`. Its handler is called only for those who
 * are at least `role` on the server: NOT_FOUND SERVER_NOT_FOUND for who is nothing there, PERMISSION_DENIED ROLE_TOO_LOW.
 */
export function serverOperation<
  Reply extends z.ZodType,
  Params extends z.ZodType<{ id: string }> = typeof ServerParams,
  Query extends z.ZodType = typeof Empty,
  Body extends z.ZodType = typeof Empty,
>(spec: OperationSpec<Params, Query, Body, Reply> & { params: Params; role: Role }) {
  type Handler = (call: ServerCall<Params, Query, Body>, services: Services) => Promise<z.input<Reply>>;
  return {
    handle(handler: Handler): Operation {
      const { declared, check } = declare<Params, Query, Body, typeof spec>(spec);
      return {
        ...declared,
        async run({ principal, signal, ...sent }, services) {
          const checked = await check(sent);
          const reached = await reachServer(services, principal, checked.params.id, spec.role);
          return spec.reply.parse(await handler({ ...checked, ...reached, principal, signal }, services));
        },
      };
    },
  };
}
