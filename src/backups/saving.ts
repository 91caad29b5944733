import { type Console, ConsoleError } from '../engines/console/console.ts';
import type { Engine } from '../engines/engine.ts';
import type { Address } from '../kernel/address.ts';
import type { Clock } from '../kernel/clock.ts';
import { StatusError } from '../kernel/status.ts';
import type { Store } from '../store/store.ts';
import { forgetSavingOff, isSavingOff, noteSavingOff } from './rows.ts';

/** How long a game may take to write a large world. */
const SAVE_MS = 180_000;
/** What games print or answer once everything is on disk: vanilla since 1.13, and before. */
const SAVED = /Saved the (?:game|world)/;
const NOT_SAVED = /Unable to save|Saving failed|Unknown (?:or incomplete )?command/i;
const ALREADY_OFF = /already turned off/i;

export interface SavingOptions {
  store: Pick<Store, 'query' | 'write'>;
  console: Pick<Console, 'run'>;
  engine: Pick<Engine, 'logs'>;
  clock: Clock;
  rconPassword: (serverId: string) => string;
}

/** Keeps running games from writing to their worlds for a while. */
export interface Saving {
  /**
   * Tells a game to write down everything and then nothing more; resolves when it has. Rejects with FAILED_PRECONDITION
   * WORLD_NOT_SAVED, or with RCON_UNAVAILABLE where the game cannot be told so, now or at all. Whatever happened,
   * `on` must follow.
   */
  off(serverId: string, rcon: Address | null, signal: AbortSignal): Promise<void>;
  /** Tells it to go on, where it was told to stop. Rejects with ConsoleError; then it has to be told again. */
  on(serverId: string, rcon: Address): Promise<void>;
  /** Nothing is left to be told: the game has ended, and the next one saves. */
  forget(serverId: string): Promise<void>;
}

/**
 * A note is on disk before a game is told to stop saving, so that the next process can tell it to go on. If an owner
 * has turned saving off by hand, it stays off.
 */
export function createSaving({ store, console, engine, clock, rconPassword }: SavingOptions): Saving {
  const run = (id: string, rcon: Address, command: string) => console.run(rcon, rconPassword(id), command);
  const forget = (id: string) => store.write((tx) => forgetSavingOff(tx, id));

  async function flush(id: string, rcon: Address, signal: AbortSignal): Promise<void> {
    const over = new AbortController();
    const ended = AbortSignal.any([signal, over.signal]);
    const after = await lastLine(id);
    const cancel = clock.at(clock.now() + SAVE_MS, () => over.abort());
    // Sought in the log too: the console gives up long before a large world is written.
    const printed = lineSaying(SAVED, id, after, ended).then((found) => found || notSaved('it did not say so in time'));
    printed.catch(() => {});
    try {
      const reply = await run(id, rcon, 'save-all flush').catch((error: unknown) => {
        if (error instanceof ConsoleError && error.reason === 'timeout') return '';
        throw unreachable(error);
      });
      if (NOT_SAVED.test(reply)) notSaved(reply.slice(0, 200));
      if (!SAVED.test(reply)) await printed;
      signal.throwIfAborted();
    } finally {
      cancel();
      over.abort();
    }
  }

  async function lastLine(id: string): Promise<string | undefined> {
    let position: string | undefined;
    for await (const line of engine.logs(id, { tail: 1 })) position = line.position;
    return position;
  }

  async function lineSaying(
    what: RegExp,
    id: string,
    after: string | undefined,
    signal: AbortSignal,
  ): Promise<boolean> {
    for await (const { text } of engine.logs(id, { after, follow: true, signal })) if (what.test(text)) return true;
    return false;
  }

  return {
    async off(id, rcon, signal) {
      if (rcon === null) throw unreachable();
      const first = await store.write((tx) => noteSavingOff(tx, id, clock.now()));
      const reply = await run(id, rcon, 'save-off').catch(async (error: unknown) => {
        if (!isAbsent(error)) throw unreachable(error);
        // The game was not told, so nothing has to be taken back.
        if (first) await forget(id);
        throw noConsole(error);
      });
      // Saving was off before we turned it off, so the owner wants it off.
      if (first && ALREADY_OFF.test(reply)) await forget(id);
      await flush(id, rcon, signal);
    },
    async on(id, rcon) {
      if (!(await isSavingOff(store, id))) return;
      await run(id, rcon, 'save-on');
      await forget(id);
    },
    forget,
  };
}

function isAbsent(error: unknown): boolean {
  return error instanceof ConsoleError && error.reason === 'absent';
}

function noConsole(cause: unknown): StatusError {
  const sentence = 'The game takes no commands, so its world cannot be kept still. Stop it, then make the backup.';
  return new StatusError('FAILED_PRECONDITION', 'RCON_UNAVAILABLE', sentence, { cause });
}

function notSaved(why: string): never {
  throw new StatusError('FAILED_PRECONDITION', 'WORLD_NOT_SAVED', `The game did not save its world: ${why}.`);
}

function unreachable(cause?: unknown): StatusError {
  const sentence =
    'The console of the game cannot be reached, so its world cannot be kept still. Try again, or stop it first.';
  return new StatusError('UNAVAILABLE', 'RCON_UNAVAILABLE', sentence, { cause, retryAfterSeconds: 5 });
}
