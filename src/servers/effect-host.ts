import type { Failure, ServerEvent } from '../../machines/server-types.ts';
import type { Console } from '../engines/console/console.ts';
import type { Management } from '../engines/console/management-port.ts';
import type { ConsolePasswords } from '../engines/console/passwords.ts';
import type { Engine, PublishedPort } from '../engines/engine.ts';
import type { Pinger } from '../engines/pinger.ts';
import type { PackRef } from '../game/settings.ts';
import type { FileOwner } from '../kernel/atomic-file.ts';
import type { Log } from '../kernel/log.ts';
import type { SteadyClock } from '../kernel/steady-clock.ts';
import type { WorkerPool } from '../kernel/workers/pool.ts';
import type { Tx } from '../store/store.ts';
import type { NetworkOf } from './networks.ts';
import type { Presence } from './presence.ts';
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

export interface PackInstall {
  signal: AbortSignal;
  /** 0 to 100. */
  progress: (percent: number) => void;
}

/** Installs the pack named by a server's row in its folder. Returns the resulting changes of the row. */
export type InstallPack = (row: ServerRow, install: PackInstall) => Promise<Partial<ServerRow>>;

/** The engine, the connections to games, and servers' files, for effects. */
export interface GameAccess {
  engine: Engine;
  pinger: Pinger;
  console: Console;
  management: Management;
  passwords: ConsolePasswords;
  presence: Presence;
  /** The machines' clock. Effects report its instants. */
  clock: SteadyClock;
  log: Log;
  /** The user games run as; undefined if files need no change of owner. */
  owner: FileOwner | undefined;
  /** Reads logs for diagnoses. Absent: the caller's thread does, bounded by the log's size alone. */
  workers?: WorkerPool | undefined;
  settings: {
    dataDir: string;
    gameImage: string;
    sandboxImage: string;
    /** Extra environment of sandbox servers, for simulating faults. */
    sandboxFaults: Record<string, string>;
    /** Default for servers without an idle time of their own. */
    idleTimeoutMinutes: number;
    /** How long a game that used to answer may be silent before it is restarted; 0: unlimited. */
    hungAfterSeconds: number;
  };
}

/** The effects' view of other rooms. */
export interface EffectRooms {
  /** Absent: servers have no mods. */
  mods?:
    | {
        /** Called before a start. Completes interrupted changes and restores missing files. */
        settle(serverId: string, signal: AbortSignal): Promise<void>;
        /** Applies a pack to a server's row, including the version if none was requested. */
        pack(platform: string, pack: PackRef, signal: AbortSignal): Promise<Partial<ServerRow>>;
      }
    | undefined;
  /** Installs mod packs; absent: the engine's image installs them. */
  installPack?: InstallPack | undefined;
  ports: { of(serverId: string): readonly PublishedPort[] };
  /** Returns the CPU limit, in cores, of a server with this much RAM. With several machines, a region's CPUs count. */
  capacity: { cpusFor(ramMb: number, region?: string): number };
  /**
   * Whether the server's software needs Mojang's EULA and its acceptance is recorded. Only then is the game started
   * with it.
   */
  eula: { isAccepted(row: ServerRow): Promise<boolean> };
  /** Rejects if the server must not run its core. Checked last, so that automatic wakes are checked too. */
  mayRun?: (row: ServerRow) => Promise<void>;
  /** Absent: servers are in no network. */
  networkOf?: NetworkOf;
  /** Does jobs on the files of dormant servers. Absent: no jobs. */
  maintain?: (host: EffectHost) => Maintain;
  /** Called in this order when a server is deleted. Each may run again, and rejects if it did not finish. */
  erasers: readonly ((id: string) => Promise<void>)[];
}
