import { ConsoleError, type GameConsoles } from '../engines/console/console.ts';
import type { Engine } from '../engines/engine.ts';
import type { Address } from '../kernel/address.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Log } from '../kernel/log.ts';
import { sleep } from '../kernel/sleep.ts';
import { StatusError } from '../kernel/status.ts';
import type { Servers } from '../servers/servers.ts';
import type { Store } from '../store/store.ts';
import { forgetSavingOff, isSavingOff, noteSavingOff } from './rows.ts';

/** How long a game may take to write a large world. */
const SAVE_MS = 180_000;
/** How long to wait for a game that did not answer `save-off` either: it probably knows neither command. */
const SILENT_MS = 30_000;
const RETRY_MS = 5_000;
/** Pauses between attempts to reach a game grow up to this. */
const MAX_RETRY_MS = 600_000;
/** A game's message once everything is on disk: vanilla since 1.13, and before. */
const SAVED = /Saved the (?:game|world)/;
const NOT_SAVED = /Unable to save|Saving failed/i;
const UNKNOWN = /Unknown (?:or incomplete )?command/i;
const ALREADY_OFF = /already turned off/i;
/** The answers of vanilla and its forks to `save-off`, since 1.13 and before. */
const TURNED_OFF = /Automatic saving is now disabled|already turned off|Turned off world auto-saving/i;
const UNCONFIRMED =
  'The game did not confirm that it had saved its world. Files it wrote during this backup may be incomplete. ' +
  'A backup of a sleeping server is complete.';

export type Saving = ReturnType<typeof createSaving>;

/**
 * Pauses the saving of running games. Records on disk that saving is paused before pausing it, so that the next process
 * can resume it. If an owner has turned saving off manually, it stays off.
 */
export function createSaving(store: Store, consoles: GameConsoles, engine: Engine, clock: Clock) {
  const forget = (id: string) => store.write((tx) => forgetSavingOff(tx, id));

  /** Returns whether the game has reported that it saved, within `patienceMs`. */
  async function flush(id: string, rcon: Address, patienceMs: number, signal: AbortSignal): Promise<boolean> {
    const over = new AbortController();
    const ended = AbortSignal.any([signal, over.signal]);
    const after = await lastLine(id);
    const cancel = clock.at(clock.now() + patienceMs, () => over.abort());
    // Also searches the log, because the console times out long before a large world is written.
    const printed = printsSaved(id, after, ended);
    printed.catch(() => {});
    try {
      const reply = await consoles.run(id, rcon, 'save-all flush').catch((error: unknown) => {
        if (error instanceof ConsoleError && error.reason === 'timeout') return '';
        throw unreachable(error);
      });
      if (UNKNOWN.test(reply)) return false;
      if (NOT_SAVED.test(reply)) notSaved(reply.slice(0, 200));
      const saved = SAVED.test(reply) || (await printed);
      signal.throwIfAborted();
      return saved;
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

  async function printsSaved(id: string, after: string | undefined, signal: AbortSignal): Promise<boolean> {
    for await (const { text } of engine.logs(id, { after, follow: true, signal })) if (SAVED.test(text)) return true;
    return false;
  }

  return {
    /**
     * Makes a game save everything and then pause saving. Resolves with '' when it has. A game that accepts no
     * commands, or does not answer these, keeps writing: resolves with a note for the backup's owner, after half a
     * minute at most. Rejects with FAILED_PRECONDITION WORLD_NOT_SAVED if the game could not save, and with RCON_UNAVAILABLE if its
     * console is unreachable. `on` must follow in every case.
     */
    async off(id: string, rcon: Address | null, signal: AbortSignal): Promise<string> {
      if (rcon === null && engine.withoutConsoles) return UNCONFIRMED;
      if (rcon === null) throw unreachable();
      const first = await store.write((tx) => noteSavingOff(tx, id, clock.now()));
      const reply = await consoles.run(id, rcon, 'save-off').catch(async (error: unknown) => {
        if (!(error instanceof ConsoleError && error.reason === 'absent')) throw unreachable(error);
        // The game did not get the command, so there is nothing to undo.
        if (first) await forget(id);
        return undefined;
      });
      if (reply === undefined) return UNCONFIRMED;
      // Saving was off before, so the owner wants it off.
      if (first && ALREADY_OFF.test(reply)) await forget(id);
      const isObeyed = TURNED_OFF.test(reply);
      if (await flush(id, rcon, isObeyed ? SAVE_MS : SILENT_MS, signal)) return '';
      return isObeyed ? notSaved('it did not confirm in time') : UNCONFIRMED;
    },

    /** Resumes saving if it was paused. Must be repeated if it rejects with ConsoleError. */
    async on(id: string, rcon: Address): Promise<void> {
      if (!(await isSavingOff(store, id))) return;
      await consoles.run(id, rcon, 'save-on');
      await forget(id);
    },

    /** Removes the record of paused saving: the game has ended, and the next one saves. */
    forget,
  };
}

/** Makes a game save again. Retries until it has confirmed or ended, or the signal fires. Never rejects. */
export async function saveAgain(
  { store, clock, log }: { store: Store; clock: Clock; log: Log },
  servers: Servers,
  saving: Saving,
  id: string,
  signal: AbortSignal,
): Promise<void> {
  for (let wait = RETRY_MS; ; wait = Math.min(2 * wait, MAX_RETRY_MS)) {
    try {
      const now = await servers.get(id);
      if (now?.state === 'running' && now.context.rcon) await saving.on(id, now.context.rcon);
      // The stop in progress saves, and the next game starts with saving on.
      else if (now?.state !== 'running') await saving.forget(id);
      if (!(await isSavingOff(store, id))) return;
    } catch (error) {
      // Logged once, because further attempts fail for the same reason.
      const level = wait === RETRY_MS ? 'warn' : 'debug';
      const reason = error instanceof Error ? error.message : String(error);
      log[level]({ server: id, reason }, 'saving could not be resumed in a game; trying again');
    }
    if (signal.aborted) return;
    await sleep(clock, wait, signal).catch(() => {});
  }
}

function notSaved(why: string): never {
  throw new StatusError('FAILED_PRECONDITION', 'WORLD_NOT_SAVED', `The game did not save its world: ${why}.`);
}

function unreachable(cause?: unknown): StatusError {
  const sentence =
    'The console of the game is unreachable, so saving cannot be paused. Try again, or stop the server first.';
  return new StatusError('UNAVAILABLE', 'RCON_UNAVAILABLE', sentence, { cause, retryAfterSeconds: 5 });
}
