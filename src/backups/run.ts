import { rm } from 'node:fs/promises';
import { isTagged } from '../../machines/server.ts';
import { sleep } from '../kernel/sleep.ts';
import { StatusError } from '../kernel/status.ts';
import { MINUTE_MS } from '../kernel/units.ts';
import { serverNotFound } from '../access/owned-servers.ts';
import { addNotice } from '../notices/rows.ts';
import { getServer } from '../servers/rows.ts';
import type { ServerNow } from '../servers/server-now.ts';
import type { Servers } from '../servers/servers.ts';
import { untilStored } from '../store/errors.ts';
import type { Tx } from '../store/store.ts';
import type { Made } from './archives.ts';
import { archivePath, siblingsOf, softwareOf } from './files.ts';
import type { Tools } from './job.ts';
import { type BackupRow, keepMods, patchBackup } from './rows.ts';
import type { Saving } from './saving.ts';

/** Attempts of an archive. A start or stop interrupts it, because players come first. */
const TRIES = 5;
/** How long to wait for a server that is starting or stopping. */
const PATIENCE_MS = 30 * MINUTE_MS;
const LOOK_AGAIN_MS = 5_000;
/** The server was started or stopped, so the files read may be inconsistent. */
const MOVED = new Error('the server was started or stopped while it was archived');

/**
 * Creates a queued backup when its turn comes, and stores the result. A running game saves its world and pauses
 * writing; the backup gets a note if the game did not confirm that. The files of a sleeping server are archived as they
 * are. Never rejects: when `signal` fires, the row stays unchanged.
 */
export function createBackupRun(
  { store, archives, uploads, engine, clock, log, dataDir, progress, at }: Tools,
  servers: Servers,
  saving: Saving,
  {
    switchOn,
    prune,
  }: {
    /** Makes a game save again, and retries until it has confirmed. */
    switchOn: (serverId: string) => Promise<void>;
    /** Removes backups that the new one makes redundant. */
    prune: (serverId: string) => Promise<void>;
  },
): (row: BackupRow, signal: AbortSignal) => Promise<void> {
  return async function run(row, signal) {
    const { serverId, id } = row;
    try {
      const made = await make(row, signal);
      const fields = { ...made, state: 'ready', finishedAt: clock.now() } as const;
      const ready = () =>
        store.write(async (tx) => {
          if (!(await patchBackup(tx, row, fields, ['running']))) return;
          await uploads.owe(tx, row);
          await noticeOutcome(tx, row, { event: 'backup.finish', at: fields.finishedAt });
        });
      await untilStored(ready, clock, signal);
    } catch (error) {
      if (signal.aborted) return;
      return await fail(row, error, signal).catch((cause: unknown) => {
        if (!signal.aborted) log.error({ server: serverId, backup: id, err: cause }, 'a failure could not be stored');
      });
    }
    // The backup is stored as ready, so an error from here on does not make it fail.
    try {
      progress.publish(serverId, { id, state: 'ready', percent: 100 });
      uploads.kick();
      await prune(serverId);
    } catch (error) {
      log.warn({ server: serverId, err: error }, 'expired backups could not be removed; the next backup tries again');
    }
  };

  async function make(row: BackupRow, signal: AbortSignal): Promise<Made> {
    for (let tries = 1; tries <= TRIES; tries++) {
      await untilStill(row.serverId, signal);
      const made = await attempt(row, signal);
      if (made !== undefined) return made;
    }
    throw unsettled();
  }

  /** Makes one attempt. Returns undefined if the server was started or stopped in the meantime. */
  async function attempt(row: BackupRow, signal: AbortSignal): Promise<Made | undefined> {
    const { serverId, id } = row;
    const report = (percent: number) => {
      progress.publish(serverId, { id, state: 'running', percent });
      void at('archiving');
    };
    try {
      const accountId = (await servers.get(serverId))?.row.accountId ?? '';
      return await archives.make(row, { accountId, signal, progress: report }, async ({ archive, prepare }) => {
        const now = await servers.get(serverId);
        if (!now || !(await isStill(now))) return undefined;
        const moved = new AbortController();
        const unobserve = servers.observe((changed, then) => {
          if (changed === serverId && !isSame(now, then)) moved.abort(MOVED);
        });
        try {
          const software = await softwareOf(now.row, siblingsOf(dataDir, serverId).root);
          await store.write(async (tx) => {
            if (
              await patchBackup(tx, row, { ...software, format: archives.format, state: 'running' }, [
                'queued',
                'running',
              ])
            )
              await keepMods(tx, row);
          });
          progress.publish(serverId, { id, state: 'running', percent: 0 });
          await at('begun');
          const until = AbortSignal.any([signal, moved.signal]);
          const save = () => saving.off(serverId, now.context.rcon, until);
          const note = now.state === 'running' ? await prepare(save, until) : '';
          await at('saved');
          const finished = await archive(moved.signal, now.context.bakedAt !== null);
          await at('archived');
          moved.signal.throwIfAborted();
          return { ...finished, note: `${note} ${finished.note}`.trim() };
        } finally {
          unobserve();
          if (now.state === 'running') await again(serverId);
        }
      });
    } catch (error) {
      if (signal.aborted || !isMoved(error)) throw error;
      return undefined;
    }
  }

  /** Makes the game save again. Retries in the background if that fails. */
  async function again(serverId: string): Promise<void> {
    try {
      const now = await servers.get(serverId);
      const rcon = now?.state === 'running' ? now.context.rcon : null;
      if (rcon) return await saving.on(serverId, rcon);
    } catch (error) {
      log.warn({ server: serverId, err: error }, 'saving could not be resumed after a backup; trying again');
    }
    void switchOn(serverId);
  }

  async function untilStill(serverId: string, signal: AbortSignal): Promise<void> {
    for (const end = clock.now() + PATIENCE_MS; ; await sleep(clock, LOOK_AGAIN_MS, signal)) {
      const now = await servers.get(serverId);
      if (!now) throw serverNotFound(serverId);
      if (await isStill(now)) return;
      if (clock.now() >= end) throw unsettled();
    }
  }

  /** Reports whether the server's files are unused, or used only by a game that can pause saving. */
  async function isStill({ row, state, context }: ServerNow): Promise<boolean> {
    if (context.job !== null) return false;
    return state === 'running' || (isTagged(state, 'at-rest') && !(await engine.inspect(row.id))?.up);
  }

  /** Stores the failure before removing the archive, so that a `ready` row always has one. */
  async function fail(row: BackupRow, error: unknown, signal: AbortSignal): Promise<void> {
    const { serverId, id } = row;
    log.warn({ server: serverId, backup: id, err: error }, 'a backup failed');
    const fields = { state: 'failed', error: sentenceOf(error), finishedAt: clock.now() } as const;
    const failed = () =>
      store.write(async (tx) => {
        if (!(await patchBackup(tx, row, fields, ['queued', 'running', 'failed']))) return false;
        await noticeOutcome(tx, row, { event: 'backup.fail', at: fields.finishedAt, detail: fields.error });
        return true;
      });
    if (!(await untilStored(failed, clock, signal))) return;
    await rm(archivePath(dataDir, { serverId, id, format: archives.format }), { force: true });
    progress.publish(serverId, { id, state: 'failed', percent: 0, error: fields.error });
  }
}

/** Notifies webhooks of a backup's outcome, in the write that stores it. */
async function noticeOutcome(
  tx: Tx,
  { serverId }: BackupRow,
  { event, at, detail = '' }: { event: string; at: number; detail?: string },
): Promise<void> {
  const accountId = (await getServer(tx, serverId))?.accountId;
  if (accountId !== undefined) await addNotice(tx, { event, accountId, serverId, detail, at });
}

/** Reports whether the server is still at rest or in the same run. */
function isSame(before: ServerNow, then: ServerNow | null): boolean {
  return then?.state === before.state && then.context.readyAt === before.context.readyAt && then.context.job === null;
}

function isMoved(error: unknown): boolean {
  return error === MOVED || (error instanceof Error && error.cause === MOVED);
}

function unsettled(): StatusError {
  const sentence = 'The server was started or stopped repeatedly during the backup. Try again.';
  return new StatusError('UNAVAILABLE', 'SERVER_UNSETTLED', sentence, { retryAfterSeconds: 60 });
}

/** Returns the failure for the owner. Details about this machine's files stay in the log. */
function sentenceOf(error: unknown): string {
  if (error instanceof StatusError) return error.message;
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'ENOSPC' || code === 'EDQUOT') return "The machine's disk is full.";
  return 'The backup failed because of an internal error. The operator can find the cause in the log.';
}
