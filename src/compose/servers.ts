import type { ServerLimits } from '../../machines/server-types.ts';
import { pingStatus } from '../../proxy/ping.ts';
import { type BackupRoom, createBackupRoom } from '../backups/backups-room.ts';
import type { Config } from '../config.ts';
import type { ConsolePasswords } from '../engines/console/passwords.ts';
import type { CoreRules } from '../game/core-rules.ts';
import type { WebhookOutbox } from '../insight/alerts/outbox.ts';
import { type ServerEvents, createServerEvents } from '../insight/events.ts';
import type { Telemetry } from '../insight/telemetry.ts';
import { MIB, MINUTE_MS } from '../kernel/units.ts';
import { createEffects } from '../servers/effects.ts';
import { type Presence, createPresence } from '../servers/presence.ts';
import type { ServerNow } from '../servers/server-now.ts';
import { type Servers, createServers } from '../servers/servers.ts';
import { alertStep, followAlerts } from '../insight/alerts/step-alerts.ts';
import type { Store } from '../store/store.ts';
import { createWorldJobs } from '../worlds/jobs.ts';
import type { GameHost } from './game-host.ts';
import type { Content, Hosting } from './hosting.ts';
import type { Money } from './money.ts';
import type { Startup } from './startup.ts';

/** All servers, none of them live yet: `backupRoom.recover`, then `servers.restore`. */
export interface OpenServers {
  servers: Servers;
  serverEvents: ServerEvents;
  presence: Presence;
  backupRoom: BackupRoom;
  /** To be called each time the engine has come back after it was out of reach. */
  engineReturned: () => void;
}

export interface OpenServersOptions
  extends
    GameHost,
    Content,
    Pick<Hosting, 'disks' | 'sftp' | 'databases' | 'serverPorts' | 'withFilesLock' | 'lock' | 'workers'>,
    Pick<Money, 'sessions' | 'capacity' | 'steady'> {
  store: Store;
  consolePasswords: ConsolePasswords;
  rconPassword: (serverId: string) => string;
  telemetry: Pick<Telemetry, 'stepped' | 'refusedWake'>;
  outbox: Pick<WebhookOutbox, 'add'>;
  cores: CoreRules;
}

/** From the wish until a stop that does not end is a kill: longer than the game's image waits before it kills. */
const STOP_MS = 120_000;
const INSTALL_MS = 30 * MINUTE_MS;

/** Makes the servers' machines happen: their effects, what is stored with their steps, what goes when they are deleted. */
export function openServers({ config, log, clock, onClose }: Startup, options: OpenServersOptions): OpenServers {
  const { store, engine, console, typed, management, owner, rconPassword, steady } = options;
  const { sessions, telemetry, outbox } = options;
  const { disks, sftp, databases, serverPorts, capacity, mods, installPack, withFilesLock, lock, cores } = options;
  const { dataDir } = config;
  let outages = 0;
  const backupRoom = createBackupRoom({
    store,
    engine,
    console: typed,
    clock,
    log,
    dataDir,
    owner,
    rconPassword,
    quotaBytes: config.backupQuotaMb * MIB,
    disk: disks.quota,
    free: disks.free,
    accounts: disks.accounts,
    withFilesLock,
    lock,
    release: (id) => sftp.cut(id),
    jobs: createWorldJobs,
  });
  const presence = createPresence(steady);
  const effects = createEffects({
    engine,
    console,
    management,
    presence,
    clock: steady,
    log,
    rconPassword,
    newRconPassword: (id) => options.consolePasswords.renew(id),
    mayRun: (row) => cores.require(row),
    portsOf: (id) => serverPorts.of(id),
    cpusFor: (ramMb) => capacity.cpusFor(ramMb),
    pinger: { status: (address, timeoutMs) => pingStatus(address, { timeoutMs }) },
    dataDir,
    workers: options.workers,
    gameImage: config.gameImage,
    sandboxImage: config.sandboxImage,
    sandboxFaults: config.sandboxFaults,
    owner,
    idleAfterMs: config.idleTimeoutMinutes * MINUTE_MS,
    hungAfterMs: config.hungAfterSeconds * 1_000,
    outages: () => outages,
    maintain: backupRoom.maintain,
    mods,
    // Containers bring an installer of their own.
    ...(engine.kind === 'process' && { installPack }),
    erasers: [
      (id) => mods.end(id),
      (id) => sftp.cut(id),
      backupRoom.erase,
      async (id) => databases?.erase(id),
      (id) => serverPorts.forget(id),
      (id) => options.consolePasswords.forget(id),
    ],
  });
  const servers = createServers({
    store,
    clock,
    steady,
    log,
    onStep: async (tx, now, step) => {
      await sessions.onStep(tx, now, step);
      await alertStep(outbox, tx, now, step);
      telemetry.stepped(step, startMs(now));
    },
    onRefusal: telemetry.refusedWake,
    limits: limitsOf(config),
    effects,
  });
  onClose(() => servers.close());
  // At once, as the erasing of a deleted server may wait for its engine.
  onClose(servers.observe((id, now) => void (now?.state === 'deleting' && sftp.cut(id))));
  const serverEvents = createServerEvents(servers, clock);
  onClose(() => serverEvents.close());
  onClose(followAlerts(servers, serverEvents));
  return { servers, serverEvents, presence, backupRoom, engineReturned: () => void outages++ };
}

/** From the wish for a server to its readiness; null where it has not come to that. */
function startMs({ context: { wokenAt, readyAt } }: ServerNow): number | null {
  return wokenAt === null || readyAt === null ? null : readyAt - wokenAt;
}

function limitsOf(config: Config): ServerLimits {
  return { startMs: config.startTimeoutSeconds * 1_000, stopMs: STOP_MS, installMs: INSTALL_MS };
}
