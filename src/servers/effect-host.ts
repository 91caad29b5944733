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

/** The mods of a server, as effects need them. */
export interface ServerMods {
  /** Before a start: finishes what was cut short, and brings back what is missing. */
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

/** Installs the pack that a server's row names, in its folder, and gives what that makes of the row. */
export type InstallPack = (row: ServerRow, install: PackInstall) => Promise<Partial<ServerRow>>;

/** Everything the effects act on. */
export interface EffectsOptions {
  engine: Engine;
  pinger: Pinger;
  console: Console;
  management: Management;
  /** The players joined to the games. */
  presence: Pick<Presence, 'of' | 'forget' | 'isKnown' | 'follow'>;
  /** The clock of the machines: effects report its instants. */
  clock: SteadyClock;
  log: Log;
  dataDir: string;
  gameImage: string;
  sandboxImage: string;
  /** Further environment of sandbox servers, to rehearse trouble. */
  sandboxFaults: Record<string, string>;
  /** The user games run as, where files must be handed over to it. */
  owner: FileOwner | undefined;
  workers?: DiagnoserOptions['workers'];
  /** The node's idle time, for servers that set none. */
  idleAfterMs: number;
  /** How long a game that used to answer may be silent before it is ended and started again; 0: for ever. */
  hungAfterMs: number;
  rconPassword: (serverId: string) => string;
  /** Another one, for a game that is about to start. Absent: it stays. */
  newRconPassword?: (serverId: string) => Promise<string>;
  /** Brings a server's mods in order before it starts, and knows packs; absent: servers have none. */
  mods?: ServerMods | undefined;
  /** Installs mod packs; absent: the engine's image does. */
  installPack?: InstallPack | undefined;
  /** The server's ports that are given to the outside. */
  portsOf: (serverId: string) => readonly PublishedPort[];
  /** CPU time of a server with so much RAM, in cores; of several machines, as those of its region have them. */
  cpusFor: (ramMb: number, region?: string) => number;
  /** Rejects for a server that may not run what it is made of. Asked last, so that also what wakes by itself is. */
  mayRun?: ((row: ServerRow) => Promise<void>) | undefined;
  /** Whether this server's software needs Mojang's EULA and somebody has agreed to it: only then is that said to its game. */
  eulaAccepted: (row: ServerRow) => Promise<boolean>;
  /** How often the engine has come back after it was out of reach. */
  outages: () => number;
  /** Jobs on the files of a dormant server. Absent: none is ever asked for. */
  maintain?: (host: EffectHost) => Maintain;
  /** Called in this order when a server is deleted. Each may run again, and rejects if it did not finish. */
  erasers: readonly ((id: string) => Promise<void>)[];
}
