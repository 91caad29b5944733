import { openOffSite } from './backups/offsite/offsite.ts';
import { createMachineProbe } from './billing/capacity.ts';
import { openCheckout } from './billing/open.ts';
import type { Config } from './config.ts';
import { openMysql } from './databases/open.ts';
import { openGameHost, preloadEngine } from './engines/game-host.ts';
import type { Pinger } from './engines/pinger.ts';
import { EMBEDDED_VERSIONS } from './game/catalogue/embedded.ts';
import { createCatalogue } from './game/catalogue/published.ts';
import type { ResolveTxt } from './joining/own-names.ts';
import type { Clock } from './kernel/clock.ts';
import type { OnClose } from './kernel/closers.ts';
import type { Log } from './kernel/log.ts';
import { portsToTake } from './listening.ts';
import { openModRegistries } from './mods/open.ts';
import { openMailer } from './mail/mail.ts';
import { createMojangProfiles } from './players/mojang.ts';
import { pingStatus } from '../proxy/ping.ts';
import { countAwake } from './servers/rows.ts';
import { openInstallation } from './store/installation.ts';
import type { Waiting } from './store/lease.ts';
import { TABLES } from './tables.ts';

export interface OutsideOptions {
  /** Undefined: another holder of the lease makes the start fail. */
  waiting: Waiting | undefined;
  /** Called when the lease is lost, after which nothing may be written. */
  onLost: () => void;
  clock: Clock;
  log: Log;
  onClose: OnClose;
}

export type Outside = Awaited<ReturnType<typeof openOutside>> & {
  /** Bytes in use on the servers' file system. Default: queries the file system. */
  usedBytes?: () => Promise<number>;
  /** Returns the TXT records of a name. Default: queries the machine's DNS servers. */
  resolveTxt?: ResolveTxt | undefined;
};

/**
 * Opens the adapters of all outside systems according to the settings: the database with its lease, the engine, and
 * external services. Changes no server.
 */
export async function openOutside(config: Config, { waiting, onLost, clock, log, onClose }: OutsideOptions) {
  const { dataDir, databaseUrl, standby } = config;
  if (standby === 'wait') await preloadEngine(config.engine);
  const ports = () => portsToTake(config);
  const { store, secret, lease } = await openInstallation({
    dataDir,
    databaseUrl,
    tables: TABLES,
    ports,
    waiting,
    clock,
    log,
    onClose,
    onLost,
  });
  const mayAct = () => lease.require();
  const awake = () => countAwake(store);
  const gameHost = await openGameHost({ store, secret, settings: config, mayAct, awake, clock, log, onClose });
  const pinger: Pinger = { status: (address, timeoutMs) => pingStatus(address, { timeoutMs }) };
  return {
    ...gameHost,
    pinger,
    store,
    secret,
    /** Resolves when this process may change games. */
    mayAct,
    catalogue: createCatalogue({ manifestUrl: config.versionManifestUrl, embedded: EMBEDDED_VERSIONS, clock }),
    mailer: await openMailer({ config, log, onClose }),
    /** Undefined if servers have no databases. */
    databaseServer: await openMysql(config),
    registries: openModRegistries(config, clock),
    profiles: createMojangProfiles(config.mojangApiUrl, clock),
    // Child processes live within this process's limits, containers do not.
    probe: createMachineProbe(dataDir, gameHost.engine.kind === 'process'),
    offSite: openOffSite(config, secret, store, clock, log),
    checkout: await openCheckout(config, log),
  };
}
