import type { Failure, ServerEvent } from '../../machines/server-types.ts';
import type { Console } from '../engines/console/console.ts';
import type { Management } from '../engines/console/management-port.ts';
import type { Engine, PublishedPort } from '../engines/engine.ts';
import type { Pinger } from '../engines/pinger.ts';
import type { FileOwner } from '../kernel/atomic-file.ts';
import type { Log } from '../kernel/log.ts';
import type { SteadyClock } from '../kernel/steady-clock.ts';
import type { DiagnoserOptions } from './failures/diagnoser.ts';
import type { Presence } from './presence.ts';
import type { Tx } from '../store/store.ts';
import type { ServerRow } from './rows.ts';
import type { RowChange, ServerNow } from './server-now.ts';

/** The effects' view of their actors. */
export interface EffectHost {
  /** Resolves once the snapshot that started the calling effect is stored. */
  committed(id: string, signal?: AbortSignal): Promise<void>;
  /** Sends an event to a live actor; ignored if it is gone. */
  notify(id: string, fact: ServerEvent): void;
  now(id: string): ServerNow | undefined;
  /** `also` runs in the same write. */
  patch(id: string, change: RowChange, also?: (tx: Tx) => Promise<void>): Promise<void>;
}

/**
 * Does a job on a dormant server's files. Resolves with null once it is done, or with the failure if everything was
 * undone. Rejects if the job could be neither done nor undone, and is then called again.
 */
export type Maintain = (serverId: string, jobId: string, signal: AbortSignal) => Promise<Failure | null>;

/** The mods of a server, as effects need them. */
export interface ServerMods {
  /** Called before a start. Completes interrupted changes and restores missing files. */
  settle(serverId: string, signal: AbortSignal): Promise<void>;
  /** Applies a pack to a server's row, including the version if none was requested. */
  pack(
    platform: string,
    pack: Pick<ServerRow, 'modpackRef' | 'modpackVersion' | 'version'>,
    signal: AbortSignal,
  ): Promise<Partial<ServerRow>>;
}

export interface PackInstall {
  signal: AbortSignal;
  /** 0 to 100. */
  progress: (percent: number) => void;
}

/** Installs the pack named by a server's row in its folder. Returns the resulting changes of the row. */
export type InstallPack = (row: ServerRow, install: PackInstall) => Promise<Partial<ServerRow>>;

/** Everything the effects act on. */
export interface EffectsOptions {
  engine: Engine;
  pinger: Pinger;
  console: Console;
  management: Management;
  /** The players on the games. */
  presence: Presence;
  /** The machines' clock. Effects report its instants. */
  clock: SteadyClock;
  log: Log;
  dataDir: string;
  gameImage: string;
  sandboxImage: string;
  /** Extra environment of sandbox servers, for simulating faults. */
  sandboxFaults: Record<string, string>;
  /** The user games run as; undefined if files need no change of owner. */
  owner: FileOwner | undefined;
  workers?: DiagnoserOptions['workers'];
  /** The node's idle time, for servers that set none. */
  idleAfterMs: number;
  /** How long a game that used to answer may be silent before it is restarted; 0: unlimited. */
  hungAfterMs: number;
  rconPassword: (serverId: string) => string;
  /** Creates a new password for a game about to start. Absent: the password stays. */
  newRconPassword?: (serverId: string) => Promise<string>;
  /** Repairs a server's mods before it starts, and reads packs; absent: servers have no mods. */
  mods?: ServerMods | undefined;
  /** Installs mod packs; absent: the engine's image installs them. */
  installPack?: InstallPack | undefined;
  /** Returns the server's published ports. */
  portsOf: (serverId: string) => readonly PublishedPort[];
  /** Returns the CPU limit, in cores, of a server with this much RAM. With several machines, a region's CPUs count. */
  cpusFor: (ramMb: number, region?: string) => number;
  /** Rejects if the server must not run its core. Checked last, so that automatic wakes are checked too. */
  mayRun?: ((row: ServerRow) => Promise<void>) | undefined;
  /**
   * Whether the server's software needs Mojang's EULA and its acceptance is recorded. Only then is the game started
   * with it.
   */
  eulaAccepted: (row: ServerRow) => Promise<boolean>;
  /** Number of times the engine has come back after an outage. */
  outages: () => number;
  /** Does jobs on the files of dormant servers. Absent: no jobs. */
  maintain?: (host: EffectHost) => Maintain;
  /** Called in this order when a server is deleted. Each may run again, and rejects if it did not finish. */
  erasers: readonly ((id: string) => Promise<void>)[];
}
