import type { Failure } from '../../machines/server-types.ts';
import type { Engine } from '../engines/engine.ts';
import type { ChangeLock } from '../jail/change-lock.ts';
import type { Disk } from '../jail/space.ts';
import type { FileOwner } from '../kernel/atomic-file.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Log } from '../kernel/log.ts';
import type { EffectHost } from '../servers/effect-host.ts';
import type { MaintenanceRow } from '../servers/machine-rows.ts';
import type { ServerRow } from '../servers/rows.ts';
import type { Store } from '../store/store.ts';
import type { ArchiveFiles } from './archive-files.ts';
import type { Archives } from './archives.ts';
import type { Uploads } from './offsite/uploads.ts';
import type { BackupEvent } from './progress.ts';

export interface MaintenanceOptions {
  store: Store;
  archives: Archives;
  uploads: Uploads;
  files: ArchiveFiles;
  engine: Engine;
  clock: Clock;
  log: Log;
  dataDir: string;
  owner: FileOwner | undefined;
  disk: Disk;
  /** Keeps changes and restores apart. */
  lock: ChangeLock;
  /** Publishes the progress of a restore or a backup to the server's viewers. */
  publish: (serverId: string, event: BackupEvent) => void;
  /** Closes the server's folder for all clients that have it open, because their later writes would be lost. */
  release?: (serverId: string) => Promise<void>;
  /** Called when a restore has kept the server's previous folder. */
  onPrevious: (serverId: string) => void;
  /** Called with a step's name between any two steps, so that tests can crash the process there. */
  at?: (step: string) => Promise<void> | void;
  /** The jobs of other rooms by kind. They use the tools of this one. */
  jobs?: (tools: Tools) => Readonly<Record<string, DoJob>>;
}

/** The context of one job. */
export interface Work {
  job: MaintenanceRow;
  row: ServerRow;
  host: EffectHost;
  signal: AbortSignal;
}

/** Executes a job of the machine; see `createMaintenance`. */
export type DoJob = (work: Work) => Promise<Failure | null>;

/** Dependencies shared by all jobs. */
export interface Tools extends MaintenanceOptions {
  at: (step: string) => Promise<void> | void;
  release: (serverId: string) => Promise<void>;
  /** Runs work that does not change the server yet. If it fails, the job ends and is not retried. */
  attempt: (signal: AbortSignal, work: () => Promise<void>) => Promise<Failure | null>;
}
