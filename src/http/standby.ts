import type { AddressInfo } from 'node:net';
import Koa from 'koa';
import type { Log } from '../kernel/log.ts';
import { StatusError } from '../kernel/status.ts';
import { renderErrors } from './errors.ts';
import type { Link } from './http-server.ts';
import { type ListenOptions, listenHttp } from './listen.ts';
import type { Operation } from './operation.ts';

export interface StandbyOptions extends Omit<ListenOptions, 'link'> {
  log: Log;
  /** All operations of the API. Some clients only understand the error format of their operation. */
  operations: readonly Operation[];
}

/** The HTTP port of a service waiting for another one to end. */
export interface Standby {
  /** Sets the reason why the service is not ready yet, as a part of a sentence. */
  because(reason: string): void;
  /** Hands the port over to the service. The port closes with the service, before its dependencies. */
  serve(
    app: Pick<Koa, 'callback'>,
    options: { link: Link | undefined; onClose: ListenOptions['onClose'] },
  ): AddressInfo;
}

interface Waiting extends Pick<StandbyOptions, 'log' | 'operations'> {
  reason: () => string;
}

const RETRY_SECONDS = 5;
const METRICS = `# HELP dormouse_standby Whether this service is a standby that waits to take over.
# TYPE dormouse_standby gauge
dormouse_standby 1
`;
const SAFE = new Set(['GET', 'HEAD']);

/**
 * Listens and reports that the process is alive, not ready and why, and (to Prometheus) a standby. These need no
 * credential, because no database is open to look one up. All other requests are answered UNAVAILABLE STANDBY, in the
 * error format that the clients expect. Links are not accepted.
 */
export async function listenStandby({ log, operations, ...listen }: StandbyOptions): Promise<Standby> {
  let reason = 'starting';
  let link: Link | undefined;
  let handle = waitingApp({ log, operations, reason: () => reason }).callback();
  const app: Pick<Koa, 'callback'> = { callback: () => (request, response) => handle(request, response) };
  const links: Link = {
    isLink: (request) => link?.isLink(request) ?? false,
    upgrade: (request, socket, head) => link?.upgrade(request, socket, head),
  };
  let close = async (): Promise<void> => {};
  const address = await listenHttp(app, {
    ...listen,
    link: links,
    onClose(closing) {
      close = async () => void (await closing());
      listen.onClose(closing);
    },
  });
  return {
    because: (given) => void (reason = given),
    serve(served, { link: taken, onClose }) {
      handle = served.callback();
      link = taken;
      onClose(() => close());
      return address;
    },
  };
}

function waitingApp({ log, operations, reason }: Waiting): Koa {
  const app = new Koa();
  app.use(async (ctx, next) => {
    ctx.set('Cache-Control', 'no-store');
    await next();
  });
  app.use(renderErrors(log));
  app.use((ctx) => {
    const path = SAFE.has(ctx.method) ? ctx.path : '';
    switch (path) {
      case '/healthz':
        ctx.body = { status: 'ok' };
        return;
      case '/readyz':
        ctx.status = 503;
        ctx.body = { ready: false, parts: { lease: 'unavailable' }, reason: reason() };
        return;
      case '/metrics':
        ctx.type = 'text/plain; version=0.0.4; charset=utf-8';
        ctx.body = METRICS;
        return;
      default: {
        const asked = ({ method, path: its }: (typeof operations)[number]) =>
          its === ctx.path && method.toUpperCase() === ctx.method;
        ctx.state.operation = operations.find(asked);
        const sentence = `This Dormouse is a standby: ${reason()}.`;
        throw new StatusError('UNAVAILABLE', 'STANDBY', sentence, { retryAfterSeconds: RETRY_SECONDS });
      }
    }
  });
  return app;
}
