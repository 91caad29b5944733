/**
 * Each server is an actor that follows its statechart. No effect runs before the step that invokes it is stored.
 */
import type { ConsolePasswords } from '../engines/console/passwords.ts';
import type { Clock } from '../kernel/clock.ts';
import type { OnClose } from '../kernel/closers.ts';
import type { Log } from '../kernel/log.ts';
import type { SteadyClock } from '../kernel/steady-clock.ts';
import { MINUTE_MS } from '../kernel/units.ts';
import type { Store } from '../store/store.ts';
import type { EffectsOptions } from './effect-host.ts';
import { createEffects } from './effects.ts';
import { createServers } from './all-servers.ts';
import type { OnStep, Servers } from './servers.ts';

export interface OpenServersOptions {
  store: Store;
  clock: Clock;
  steady: SteadyClock;
  log: Log;
  startTimeoutSeconds: number;
  /** Called with the stable reason whenever a wake is refused. */
  onRefusal: (reason: string) => void;
}

/** Time from the request of a stop until the game is killed; longer than the game's image waits before it kills. */
const STOP_MS = 120_000;
const INSTALL_MS = 30 * MINUTE_MS;

/**
 * Opens all servers. No actor runs before `openEffects` and `restore`, but other rooms may read and follow servers at
 * once.
 */
export function openServers({ startTimeoutSeconds, ...options }: OpenServersOptions): Servers {
  const limits = { startMs: startTimeoutSeconds * 1_000, stopMs: STOP_MS, installMs: INSTALL_MS };
  return createServers({ ...options, limits });
}

/** Settings for running servers. */
export interface EffectsSettings {
  dataDir: string;
  gameImage: string;
  sandboxImage: string;
  sandboxFaults: Record<string, string>;
  /** Default for servers without an idle time of their own. */
  idleTimeoutMinutes: number;
  hungAfterSeconds: number;
}

export interface OpenEffectsOptions extends Pick<
  EffectsOptions,
  | 'engine'
  | 'pinger'
  | 'console'
  | 'management'
  | 'presence'
  | 'log'
  | 'owner'
  | 'workers'
  | 'mods'
  | 'installPack'
  | 'portsOf'
  | 'cpusFor'
  | 'mayRun'
  | 'eulaAccepted'
  | 'maintain'
  | 'erasers'
> {
  servers: Servers;
  steady: SteadyClock;
  passwords: ConsolePasswords;
  settings: EffectsSettings;
  /** Hooks in the write of a server's step, in order. */
  onStep: readonly OnStep[];
  onClose: OnClose;
}

/**
 * Provides the effects of the servers' machines; servers accept commands from now on. Call the returned function each
 * time the engine has come back after an outage.
 */
export function openEffects({ servers, steady, passwords, settings, onStep, onClose, ...parts }: OpenEffectsOptions) {
  const { dataDir, gameImage, sandboxImage, sandboxFaults } = settings;
  let outages = 0;
  const effects = createEffects({
    ...parts,
    clock: steady,
    dataDir,
    gameImage,
    sandboxImage,
    sandboxFaults,
    idleAfterMs: settings.idleTimeoutMinutes * MINUTE_MS,
    hungAfterMs: settings.hungAfterSeconds * 1_000,
    rconPassword: (id) => passwords.of(id),
    newRconPassword: (id) => passwords.renew(id),
    outages: () => outages,
  });
  servers.provide({
    effects,
    async onStep(tx, now, step) {
      for (const each of onStep) await each(tx, now, step);
    },
  });
  onClose(() => servers.close());
  return { engineReturned: () => void outages++ };
}
