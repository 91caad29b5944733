import type { AddressInfo } from 'node:net';
import type Koa from 'koa';
import type { Config } from './config.ts';
import type { Link } from './http/http-server.ts';
import { listenHttp } from './http/listen.ts';
import { listenStandby } from './http/standby.ts';
import { livingChild } from './joining/link/child-process.ts';
import type { OnClose } from './kernel/closers.ts';
import type { Log } from './kernel/log.ts';
import { type ProcessIdentity, thisProcess } from './kernel/process-identity.ts';
import { StatusError } from './kernel/status.ts';
import { deviceGrantOperations } from './grants/device-api.ts';
import { oauthOperations } from './grants/oauth-api.ts';
import type { Waiting } from './store/lease.ts';

export interface ListeningOptions {
  config: Config;
  /** Ends a standby's wait. */
  signal: AbortSignal;
  log: Log;
  onClose: OnClose;
}

/** The HTTP port. While this service waits for another one to end, the port answers as a standby. */
export interface Listening {
  /** Undefined if this service must not wait. */
  waiting: Waiting | undefined;
  /** Called when the wait, if any, is over. Returns whether the service has waited. */
  taken(): boolean;
  /** Starts serving. Rejects if the port is unavailable. */
  serve(app: Pick<Koa, 'callback'>, link: Link | undefined): Promise<AddressInfo>;
}

/** Operations access their dependencies only when called. */
const NOTHING = {} as never;

/** Listens at once if this service may have to wait (`STANDBY=wait`), otherwise in `serve`. */
export async function openListening({ config, signal, log, onClose }: ListeningOptions): Promise<Listening> {
  const { httpHost: host, httpPort: port, trustedProxies: trusted } = config;
  if (config.standby === 'refuse') {
    const serve: Listening['serve'] = (app, link) => listenHttp(app, { host, port, trusted, link, onClose });
    return { waiting: undefined, taken: () => false, serve };
  }
  const operations = [deviceGrantOperations, oauthOperations].flatMap((list) => list(NOTHING));
  const standby = await listenStandby({ host, port, trusted, onClose, log, operations });
  const self = await thisProcess();
  let reason = '';
  let since = 0;
  const onHeld = (holder: ProcessIdentity | undefined): void => {
    if (holder) requireReach(config, holder, self);
    const now = holder
      ? `waiting for the lease held by process ${holder.pid} on ${holder.hostname}`
      : 'waiting for the database, which is unavailable';
    if (now === reason) return;
    since ||= performance.now();
    reason = now;
    standby.because(reason);
    log.info({ holder: holder?.hostname, pid: holder?.pid }, `standby: ${reason}`);
  };
  return {
    waiting: { onHeld, signal },
    taken() {
      standby.because('taking over');
      if (since > 0) log.info({ waitedMs: Math.round(performance.now() - since) }, 'standby: taking over');
      return since > 0;
    },
    serve: async (app, link) => standby.serve(app, { link, onClose }),
  };
}

/** Throws if games are processes of another machine: they cannot be observed from here and may still be running. */
function requireReach({ engine }: Config, holder: ProcessIdentity, self: ProcessIdentity): void {
  const [boot] = self.scope.split(' ');
  if (engine !== 'process' || holder.hostname === self.hostname || holder.scope.split(' ')[0] === boot) return;
  const sentence = `With ENGINE=process, games run only on the machine of their service, so ${self.hostname} cannot be a standby for ${holder.hostname}. Run both services on one machine, or run games in containers that both can reach.`;
  throw new StatusError('FAILED_PRECONDITION', 'STANDBY_OUT_OF_REACH', sentence);
}

/**
 * Returns the ports that must be free when the service takes over. Omits the players' port if a proxy in another
 * process holds it, and the HTTP port if this service is a standby, which has opened it already.
 */
export async function portsToTake(config: Config) {
  const { proxy, proxyHost, proxyPort, httpHost, httpPort, standby, dataDir } = config;
  const isHeld = proxy === 'external' || (proxy === 'child' && (await livingChild(dataDir)) !== undefined);
  const held = [
    ...(isHeld ? [{ host: proxyHost, port: proxyPort }] : []),
    ...(standby === 'wait' ? [{ host: httpHost, port: httpPort }] : []),
  ];
  return portsOf(config).filter((each) => !held.some(({ host, port }) => host === each.host && port === each.port));
}

/** Returns all ports of the service and its proxy. */
export function portsOf(config: Pick<Config, `${'http' | 'proxy' | 'sftp'}${'Host' | 'Port'}`>) {
  const { httpHost, httpPort, proxyHost, proxyPort, sftpHost, sftpPort } = config;
  return [
    { host: httpHost, port: httpPort },
    { host: proxyHost, port: proxyPort },
    { host: sftpHost, port: sftpPort },
  ];
}

/** Logs once that `::` was opened as all IPv4 addresses. `opened`: hosts in the order of `portsOf`. */
export function logFallback(config: Config, opened: readonly string[], log: Log): void {
  if (portsOf(config).some(({ host }, nth) => host === '::' && opened[nth] === '0.0.0.0'))
    log.info('This machine has no IPv6: Dormouse listens on all IPv4 addresses instead.');
}
