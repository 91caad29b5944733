import type * as z from 'zod';
import type { Answering, KeyOperation } from '../../http/operation.ts';
import type { Role } from '../../http/roles.ts';
import { type Answer, type Call, type Served, serveOn } from '../../http/serve.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { CoreRules } from '../../game/core-rules.ts';
import type { Store } from '../../store/store.ts';
import type { ServerNow } from '../server-now.ts';
import type { Servers } from '../servers.ts';
import { reachServer } from './reach.ts';
import type { ServerView } from './view.ts';

/** The context of a handler besides the call: the server's current state and the caller's role on it. */
export interface Reached {
  server: ServerNow;
  role: Role;
}

/** An operation on one server, whose path begins with `/v1/servers/{id}`. */
type ServerOperation = KeyOperation<Answering, Role, z.ZodType<{ id: string }>>;

/** Dependencies of operations that change servers and return them. */
export interface ServerNeeds {
  serverView: ServerView;
  clock: Clock;
  serveServer: ServeServer;
  servers: Servers;
}

/** Serves an operation on one server. */
export type ServeServer = ReturnType<typeof createServeServer>;

/**
 * Returns the function that serves operations on servers. A call fails with NOT_FOUND SERVER_NOT_FOUND if the caller
 * has no role on the server, with PERMISSION_DENIED ROLE_TOO_LOW if it is below the operation's, or with
 * UPLOADED_CODE_NOT_ALLOWED. A stream ends when the caller loses the role.
 */
export function createServeServer({
  cores,
  ...servers
}: {
  servers: Servers;
  store: Store;
  cores: Pick<CoreRules, 'requireWriter'>;
}) {
  return function serveServer<Of extends ServerOperation>(
    operation: Of,
    handle: (call: Call<Of> & Reached) => Promise<Answer<Of>>,
  ): Served {
    const { role, writesCode = operation.scope === 'files:write' } = operation;
    return serveOn<Of, Reached>(
      operation,
      async (principal, { params }) => {
        const reached = await reachServer(servers, principal, params.id, role);
        if (writesCode) await cores.requireWriter(principal, reached.server.row);
        return reached;
      },
      handle,
    );
  };
}
