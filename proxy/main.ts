import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { type Server, createServer } from 'node:net';
import { constants, setPriority } from 'node:os';
import { dirname } from 'node:path';
import process from 'node:process';
import { setTimeout as delay } from 'node:timers/promises';
import { parseEnv } from 'node:util';
import { type Environment, HELP, PORT_TAKEN, SettingError, readEnvironment, programVersion } from './environment.ts';
import { type Proxy, createProxy } from './index.ts';
import { Control } from './link/control.ts';
import { keepLinked } from './link/dial.ts';
import { socketPath } from './link/socket.ts';
import { listenAt } from './listen.ts';
import { createProxyLog } from './log.ts';
import type { Address, Log } from './ports.ts';

const STATS_MS = 1_000;
const LOOK_MS = 1_000;
/** The highest priority that LimitNICE of the systemd unit allows. */
const PRIORITY = constants.priority.PRIORITY_ABOVE_NORMAL;
/** How long to wait for a process that still listens on the port and may be ending. */
const PATIENT_MS = 5_000;
const RETRY_MS = 100;

/**
 * Runs the proxy as a process. On SIGTERM, it stops listening and ends when its last player has left. On a second
 * SIGTERM, or on SIGINT, it ends at once.
 */
async function main(flags: string[]): Promise<void> {
  if (flags.includes('--help')) {
    process.stdout.write(HELP);
    return;
  }
  goFirst();
  const environment = readEnvironment({ ...(process.env['PROXY_LINK'] ? {} : dotEnv()), ...process.env });
  const self = { id: `prx_${randomBytes(6).toString('hex')}`, pid: process.pid, since: Date.now() };
  const { isChild, logLevel } = environment;
  const log = createProxyLog(logLevel, isChild ? (...line) => control.sendLog(...line) : undefined);
  const { name, settings, sessionServerUrl, proxyProtocolFrom, forwardingFrom, floodgateKey, networkHost, services } =
    environment;
  const version = programVersion();
  const control: Control = new Control({ ...self, name, settings, version }, log, {
    onLogLevel: (level) => isChild && log.setLevel(level),
  });
  const proxy = createProxy({
    routes: control,
    wake: control,
    presence: control,
    log,
    proxyProtocolFrom,
    forwardingFrom,
    floodgateKey,
    networkHost,
    ...(sessionServerUrl === undefined ? {} : { sessionServerUrl }),
    onVerified: (account) => control.sendVerified(account),
  });
  const end = ending(proxy, control, environment);
  control.serve({
    players: (serverId) => proxy.players(serverId),
    stats: () => proxy.stats(),
    kick: (serverId, ip) => proxy.kick(serverId, ip),
    learn: (account) => proxy.learn(account),
    openPorts: (ports) => proxy.openPorts(ports),
    drain: end.drain,
  });
  const [own] = services.flatMap((service) => ('path' in service ? [service.path] : []));
  keepLinked(control, own === undefined ? services : [{ path: socketPath(own) }], log);
  setInterval(() => control.sendStats(), STATS_MS);
  if (own !== undefined) endWhenLonely(proxy, control, { lonelyMs: environment.lonelyMs, home: dirname(own) });
  // Listens only after the service has sent its state: before that, every host would be unknown.
  await control.known();
  if (end.isDraining()) return;
  const address = await listen(proxy, environment);
  outlive(log);
  log.info({ ...address, version }, 'players can connect');
  control.sendListening(address, false);
}

/**
 * Keeps the process alive after uncaught errors, because its end would disconnect all players. The affected connection
 * ends by its deadlines.
 */
function outlive(log: Log): void {
  process.on('uncaughtException', (err) => log.warn({ err }, 'uncaught exception; the proxy keeps running'));
  process.on('unhandledRejection', (err) => log.warn({ err }, 'unhandled rejection; the proxy keeps running'));
  // The log no longer has a reader. Logging this error would fail in the same way.
  process.stdout.on('error', () => {});
}

/**
 * Raises the priority if the system allows it (to root, or by RLIMIT_NICE), so that players' packets do not wait for a
 * busy service or game.
 */
function goFirst(): void {
  try {
    setPriority(PRIORITY);
    // Linux may weigh sessions against each other and use priorities only within one (sched(7), autogroup).
    if (hasOwnSession()) writeFileSync('/proc/self/autogroup', String(PRIORITY));
  } catch {
    // The default priority is sufficient.
  }
}

/** Reports whether this process leads its session, so that the session belongs to no terminal or other program. */
function hasOwnSession(): boolean {
  // Fields of /proc/self/stat (proc(5)): pid, name, state, parent, group, session.
  const [, , , session] = readFileSync('/proc/self/stat', 'latin1')
    .replace(/^.*\) /s, '')
    .split(' ');
  return session === String(process.pid);
}

/** Handles the signals that end the process. */
function ending(proxy: Proxy, control: Control, { drainMs }: Environment) {
  let isDraining = false;
  const drain = (): void => {
    if (isDraining) return;
    isDraining = true;
    const drained = Promise.race([proxy.drain(), delay(drainMs)]);
    control.sendListening(null, true);
    void drained.then(close);
  };
  const close = (): void => void proxy.close().then(() => process.exit(0));
  process.on('SIGTERM', () => (isDraining ? close() : drain()));
  process.on('SIGINT', close);
  return { drain, isDraining: () => isDraining };
}

/**
 * Ends the process when the service and all players have been away for `lonelyMs`. While they are away, also ends it as
 * soon as the folder by which the next service finds this process is gone.
 */
function endWhenLonely(proxy: Proxy, control: Control, { lonelyMs, home }: { lonelyMs: number; home: string }): void {
  let neededAt = performance.now();
  setInterval(
    () => {
      const { piped, held } = proxy.stats();
      if (control.isConnected || piped + held > 0) neededAt = performance.now();
      else if (performance.now() - neededAt >= lonelyMs || !existsSync(home)) process.exit(0);
    },
    Math.min(LOOK_MS, lonelyMs),
  );
}

/**
 * Opens the listener. Proxies of one service share the port while one replaces the other. A proxy that replaces no
 * other first checks whether the port is free, so that it does not share the port with another program.
 */
async function listen(proxy: Proxy, { host, port, takesOver }: Environment): Promise<Address> {
  for (const end = performance.now() + PATIENT_MS; ;) {
    try {
      if (!takesOver && port !== 0) await requireFree(host, port);
      return await listenShared(proxy, host, port);
    } catch (error) {
      if (codeOf(error) !== 'EADDRINUSE' || performance.now() > end) throw error;
      await delay(RETRY_MS);
    }
  }
}

/**
 * Shares the port with the old proxy if the system supports it (`reusePort` of Node's net). Otherwise rejects while the
 * old proxy listens.
 */
async function listenShared(proxy: Proxy, host: string, port: number): Promise<Address> {
  try {
    return await proxy.listen(host, port, { reusePort: true });
  } catch (error) {
    if (codeOf(error) !== 'ENOTSUP') throw error;
    return proxy.listen(host, port);
  }
}

async function requireFree(host: string, port: number): Promise<void> {
  const server: Server = createServer();
  try {
    await listenAt(server, { host, port });
  } catch (error) {
    // Other errors are left to the real listener.
    if (codeOf(error) === 'EADDRINUSE') throw error;
  } finally {
    if (server.listening) await new Promise((resolve) => server.close(resolve));
  }
}

function dotEnv(): NodeJS.Dict<string> {
  return existsSync('.env') ? parseEnv(readFileSync('.env', 'utf8')) : {};
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? '';
}

main(process.argv.slice(2)).catch((error: unknown) => {
  const message = error instanceof SettingError || codeOf(error) !== '' ? (error as Error).message : String(error);
  process.stderr.write(`${message}\n`);
  process.exit(codeOf(error) === 'EADDRINUSE' ? PORT_TAKEN : 1);
});
