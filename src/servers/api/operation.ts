import { z } from 'zod';
import { type Upload, declare } from '../../http/declared.ts';
import type { Download } from '../../http/download.ts';
import type { Empty } from '../../http/fields.ts';
import type {
  Call,
  DownloadOperation,
  MessageOperation,
  OperationSpec,
  RawCall,
  StreamOperation,
} from '../../http/operation.ts';
import { type WrittenReply, replyOf } from '../../http/reply.ts';
import type { Role } from '../../http/roles.ts';
import type { Services } from '../../http/services.ts';
import type { EventSource } from '../../http/sse.ts';
import type { ServerNow } from '../server-now.ts';
import type { ServerParams } from './messages.ts';
import { reachServer } from './reach.ts';

/** A call on one server: `server` as it is now, and what the caller is on it. */
export type ServerCall<Params extends z.ZodType, Query extends z.ZodType, Body extends z.ZodType> = Call<
  Params,
  Query,
  Body
> & { server: ServerNow; role: Role };

/** What an operation on one server is: its path begins with `/v1/servers/{id}`, and callers must be at least `role` there. */
type ServerSpec<
  Params extends z.ZodType<{ id: string }>,
  Query extends z.ZodType,
  Body extends z.ZodType,
  Reply extends z.ZodType,
> = OperationSpec<Params, Query, Body, Reply> & { params: Params; role: Role };

/**
 * Declares an operation on one server, in two steps as `operation` does. Its handler is called only for those who are at
 * least `role` on the server: NOT_FOUND SERVER_NOT_FOUND for who is nothing there, PERMISSION_DENIED ROLE_TOO_LOW.
 */
export function serverOperation<
  Reply extends z.ZodType,
  Params extends z.ZodType<{ id: string }> = typeof ServerParams,
  Query extends z.ZodType = typeof Empty,
  Body extends z.ZodType = typeof Empty,
>(spec: ServerSpec<Params, Query, Body, Reply>) {
  type Handler = (call: ServerCall<Params, Query, Body>, services: Services) => Promise<z.input<Reply> | WrittenReply>;
  return {
    handle(handler: Handler): MessageOperation {
      const { declared, reach } = onServer<Params, Query, Body, typeof spec>(spec);
      return {
        ...declared,
        answers: 'message',
        run: async (sent, services) => replyOf(spec.reply, await handler(await reach(sent, services), services)),
      };
    },
  };
}

/** The same for an operation to which a file's content is sent; its handler gets it as `upload`. */
export function serverUpload<
  Reply extends z.ZodType,
  Params extends z.ZodType<{ id: string }> = typeof ServerParams,
  Query extends z.ZodType = typeof Empty,
>(spec: ServerSpec<Params, Query, typeof Empty, Reply>) {
  type Handler = (
    call: ServerCall<Params, Query, typeof Empty> & { upload: Upload },
    services: Services,
  ) => Promise<z.input<Reply>>;
  return {
    handle(handler: Handler): MessageOperation {
      const { declared, reach } = onServer<Params, Query, typeof Empty, typeof spec>({ ...spec, takes: 'bytes' });
      return {
        ...declared,
        answers: 'message',
        async run(sent, services) {
          const call = { ...(await reach(sent, services)), upload: sent.upload() };
          return await replyOf(spec.reply, await handler(call, services));
        },
      };
    },
  };
}

/** The same for an operation that answers with a file's content. */
export function serverDownload<
  Params extends z.ZodType<{ id: string }> = typeof ServerParams,
  Query extends z.ZodType = typeof Empty,
>(spec: Omit<ServerSpec<Params, Query, typeof Empty, z.ZodType>, 'reply'> & { params: Params; role: Role }) {
  type Handler = (call: ServerCall<Params, Query, typeof Empty>, services: Services) => Promise<Download>;
  const whole = { ...spec, reply: Bytes };
  return {
    handle(handler: Handler): DownloadOperation {
      const { declared, reach } = onServer<Params, Query, typeof Empty, typeof whole>(whole);
      return {
        ...declared,
        answers: 'bytes',
        open: async (sent, services) => handler(await reach(sent, services), services),
      };
    },
  };
}

/** The same for an operation that answers with a stream of events, which ends for who is less than `role` meanwhile. */
export function serverStream<
  Params extends z.ZodType<{ id: string }> = typeof ServerParams,
  Query extends z.ZodType = typeof Empty,
>(spec: ServerSpec<Params, Query, typeof Empty, z.ZodString>) {
  type Handler = (
    call: ServerCall<Params, Query, typeof Empty> & Pick<RawCall, 'lastEventId'>,
    services: Services,
  ) => Promise<EventSource>;
  return {
    handle(handler: Handler): StreamOperation {
      const { declared, reach } = onServer<Params, Query, typeof Empty, typeof spec>(spec);
      return {
        ...declared,
        answers: 'events',
        async open(sent, services) {
          const call = { ...(await reach(sent, services)), lastEventId: sent.lastEventId };
          const source = await handler(call, services);
          return { ...source, check: (known) => reachServer(services, known, call.params.id, spec.role) };
        },
      };
    },
  };
}

/** A file's content, as the documentation shows it. */
const Bytes = z.string().meta({ format: 'binary' });

/** What all of them do first: the call is checked, and then whether its caller may. */
function onServer<
  Params extends z.ZodType<{ id: string }>,
  Query extends z.ZodType,
  Body extends z.ZodType,
  Spec extends ServerSpec<Params, Query, Body, z.ZodType>,
>(spec: Spec) {
  const { declared, check } = declare<Params, Query, Body, Spec>(spec);
  async function reach(sent: RawCall, services: Services): Promise<ServerCall<Params, Query, Body>> {
    const { principal, signal } = sent;
    const checked = await check(sent);
    const reached = await reachServer(services, principal, checked.params.id, spec.role);
    return { ...checked, ...reached, principal, signal };
  }
  return { declared, reach };
}
