import { type ServerDatabases, createServerDatabases } from '../databases/databases.ts';
import { type Disks, openDisks } from '../disk/disks.ts';
import { isPortFree } from '../engines/process/port-forwarder.ts';
import { TELLS_OWNERS } from '../engines/process/sockets.ts';
import { type Files, createFiles } from '../files/files.ts';
import { type ChangeLock, createChangeLock } from '../jail/change-lock.ts';
import { createOpenFiles } from '../jail/open-files.ts';
import { type WithKeyLock, createKeyedMutex } from '../kernel/mutex.ts';
import { type WorkerPool, createWorkerPool } from '../kernel/workers/pool.ts';
import { type Mods, createMods } from '../mods/mods.ts';
import { createPackInstaller } from '../mods/packs.ts';
import { openModRegistries } from '../mods/registries/registries.ts';
import { type ServerPorts, openServerPorts } from '../ports/ports.ts';
import type { InstallPack } from '../servers/effect-host.ts';
import type { Servers } from '../servers/servers.ts';
import { openHostKey } from '../sftp/host-key.ts';
import { warnWithoutNativeCrypto } from '../sftp/native-crypto.ts';
import { type Sftp, createSftp } from '../sftp/sftp.ts';
import type { Secret } from '../store/secret.ts';
import type { Store } from '../store/store.ts';
import type { GameHost } from './game-host.ts';
import type { Startup } from './startup.ts';

/** What belongs to servers beside their games. */
export interface Hosting {
  disks: Disks;
  files: Files;
  /** What reads bytes that owners and games have made. */
  workers: WorkerPool;
  /** Listens nowhere yet. */
  sftp: Sftp;
  /** Undefined where no database server is set. */
  databases: ServerDatabases | undefined;
  serverPorts: ServerPorts;
  /** The mutex, by server, of whatever replaces or archives a server's files whole, or changes its mods. */
  withFilesLock: WithKeyLock;
  /** What keeps changes of a server's files and restores apart. */
  lock: ChangeLock;
}

export interface HostingOptions extends Pick<GameHost, 'engine' | 'owner'> {
  store: Store;
  secret: Secret;
  /** The servers, once they are there. */
  servers: () => Pick<Servers, 'get' | 'jobOf'>;
  /** Whether a server's files are out of reach for now. Not asked before somebody can connect. */
  closed: (serverId: string) => boolean;
}

/** Opens the servers' files, the ways to them, databases and ports. */
export async function openHosting(startup: Startup, options: HostingOptions): Promise<Hosting> {
  const { config, log, clock } = startup;
  const { store, engine, owner, servers, closed } = options;
  const { dataDir } = config;
  const openFiles = createOpenFiles();
  const disks = await openDisks({
    store,
    clock,
    log,
    dataDir,
    openFiles,
    tiers: config.diskQuotaMb,
    accountDiskMb: config.accountDiskMb,
    servers,
  });
  const disk = disks.quota;
  const lock = createChangeLock((id) => servers().jobOf(id));
  const workers = createWorkerPool();
  startup.onClose(() => workers.close());
  const files = createFiles({ dataDir, owner, disk, lock, openFiles, workers, log });
  const hostKey = await openHostKey(dataDir);
  const trusted = config.trustedProxies;
  const ofSftp = log.child({ room: 'sftp' });
  const sftp = createSftp({ store, clock, log: ofSftp, dataDir, hostKey, files, disk, closed, trusted });
  const databases = await openDatabases(startup, options);
  // Games that are no containers listen beside everything else that this machine keeps to itself.
  const reserved = new Set([config.httpPort, config.proxyPort, config.sftpPort]);
  const onLoopback = engine.kind === 'process' ? { reserved, offered: TELLS_OWNERS } : {};
  const serverPorts = await openServerPorts({ store, range: config.extraPorts, isFree: isPortFree, ...onLoopback });
  return { disks, files, sftp, databases, serverPorts, withFilesLock: createKeyedMutex(), lock, workers };
}

async function openDatabases(
  { config, log, clock, onClose }: Startup,
  { store, secret }: Pick<HostingOptions, 'store' | 'secret'>,
): Promise<ServerDatabases | undefined> {
  if (config.mysqlAdminUrl === null) return undefined;
  // Only here, so that nobody else pays for it.
  const { createMysqlDatabases } = await import('../databases/mysql.ts');
  const port = createMysqlDatabases(config.mysqlAdminUrl, { hosts: config.mysqlGameHosts, tls: config.mysqlTls });
  const opened = createServerDatabases({ store, clock, databases: port, secret, log });
  onClose(() => opened.close());
  return opened;
}

/** What comes into servers' folders from the mod registries. */
export interface Content {
  mods: Mods;
  installPack: InstallPack;
}

/** The mod registries that are set up, as servers' mods and packs. */
export function openContent(
  { config, clock }: Startup,
  {
    store,
    disks,
    owner,
    withFilesLock,
    lock,
    workers,
  }: Pick<HostingOptions, 'store' | 'owner'> & Pick<Hosting, 'disks' | 'withFilesLock' | 'lock' | 'workers'>,
): Content {
  const registries = openModRegistries(config, clock);
  const content = { registries, disk: disks.quota, dataDir: config.dataDir, owner };
  return {
    mods: createMods({ ...content, store, withFilesLock, lock }),
    installPack: createPackInstaller({ ...content, workers }),
  };
}

/** Lets SFTP clients in. Rejects where the port cannot be had. */
export async function listenSftp({ config, log, onClose }: Startup, sftp: Sftp): Promise<void> {
  warnWithoutNativeCrypto(log);
  onClose(() => sftp.close());
  await sftp.listen(config.sftpHost, config.sftpPort);
}
