import type * as z from 'zod';
import type { Empty } from '../../http/fields.ts';
import { type Answering, type Operation, type OperationSpec, operationOn } from '../../http/operation.ts';
import type { Role } from '../../http/roles.ts';
import type { CoreRules } from '../../game/core-rules.ts';
import type { Store } from '../../store/store.ts';
import type { ServerNow } from '../server-now.ts';
import type { Servers } from '../servers.ts';
import type { ServerParams } from './messages.ts';
import { reachServer } from './reach.ts';

/** The context of a handler besides the call: the server's current state and the caller's role on it. */
export interface Reached {
  server: ServerNow;
  role: Role;
}

interface ServerSpec<Params extends z.ZodType> {
  params: Params;
  role: Role;
  /** Whether the operation writes code into the server's files. Default: true if it needs the scope `files:write`. */
  writesCode?: boolean;
}

/**
 * Declares an operation on one server. Its path begins with `/v1/servers/{id}`; `role` is the least role of callers.
 */
export type ServerOperation = ReturnType<typeof createServerOperation>;

/**
 * Returns the function that declares operations on servers. A call fails with NOT_FOUND SERVER_NOT_FOUND if the caller
 * has no role on the server, with PERMISSION_DENIED ROLE_TOO_LOW if it is below `role`, or with
 * UPLOADED_CODE_NOT_ALLOWED. A stream ends when the caller loses the role.
 */
export function createServerOperation({
  cores,
  ...servers
}: {
  servers: Servers;
  store: Store;
  cores: Pick<CoreRules, 'requireWriter'>;
}) {
  return function serverOperation<
    Reply extends z.ZodType,
    Answer extends Answering = 'message',
    Params extends z.ZodType<{ id: string }> = typeof ServerParams,
    Query extends z.ZodType = typeof Empty,
    Body extends z.ZodType = typeof Empty,
  >(spec: OperationSpec<Answer, Params, Query, Body, Reply, Reached> & ServerSpec<Params>): Operation {
    const { writesCode = spec.scope === 'files:write' } = spec;
    return operationOn<Answer, Params, Query, Body, Reply, Reached>(spec, async (principal, { params }) => {
      const reached = await reachServer(servers, principal, params.id, spec.role);
      if (writesCode) await cores.requireWriter(principal, reached.server.row);
      return reached;
    });
  };
}
