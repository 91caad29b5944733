import type { Failure, ServerEvent } from '../../machines/server-types.ts';
import type { Tx } from '../store/store.ts';
import type { ServerRow } from './rows.ts';
import type { RowChange, ServerNow } from './server-now.ts';

/** What the effects may know of the actors they belong to. */
export interface EffectHost {
  /** Resolves once the snapshot that started the calling effect is stored. */
  committed(id: string, signal?: AbortSignal): Promise<void>;
  /** Says something to a live actor; ignored where it has gone. */
  tell(id: string, fact: ServerEvent): void;
  now(id: string): ServerNow | undefined;
  /** `also` runs in the same write. */
  patch(id: string, change: RowChange, also?: (tx: Tx) => Promise<void>): Promise<void>;
}

/**
 * Does a job on a dormant server's files; null once it is done, or why everything is as it was. Rejects where it is neither:
 * then it is called again.
 */
export type Maintain = (serverId: string, jobId: string, signal: AbortSignal) => Promise<Failure | null>;

/** What effects ask of the mods of a server. */
export interface ServerMods {
  /** Before a start: finishes what was cut short, and brings back what is missing. */
  settle(serverId: string, signal: AbortSignal): Promise<void>;
  /** What a pack makes of a server's row: also which version of it, where none was asked for. */
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

/** Installs the pack that a server's row names, in its folder, and gives what that makes of the row. */
export type InstallPack = (row: ServerRow, install: PackInstall) => Promise<Partial<ServerRow>>;
