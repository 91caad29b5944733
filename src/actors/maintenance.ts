import { rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Failure } from '../../machines/server.ts';
import type { Archives } from '../hosting/archives.ts';
import { treeBytesOf } from '../hosting/archives.ts';
import { syncDirectory } from '../hosting/backup-archive.ts';
import { ArchiveCorrupt } from '../hosting/backup-extract.ts';
import { archivePath, discard, exists, removeTree, siblingsOf } from '../hosting/backup-files.ts';
import type { Disk } from '../hosting/disk.ts';
import { openJail } from '../hosting/jail.ts';
import type { FileOwner } from '../hosting/properties.ts';
import { levelNameOf, removeWorld, restoredProperties } from '../hosting/worlds.ts';
import type { Log } from '../log.ts';
import type { Clock, Engine } from '../ports.ts';
import { StatusError } from '../status.ts';
import { deleteBackup, getBackup, insertBackup, patchBackup } from '../store/backups.ts';
import type { BackupRow, MaintenanceRow, ServerMake } from '../store/backups-table.ts';
import { getMaintenance, noteStep } from '../store/maintenance.ts';
import type { ServerRow } from '../store/rows.ts';
import { hasRunSince } from '../store/snapshots.ts';
import type { Store } from '../store/store.ts';
import type { EffectHost } from './effect-host.ts';

/** The backup that is no archive: the folder that a restore has put aside. */
export const PREVIOUS = 'previous';

export interface MaintenanceOptions {
  store: Store;
  archives: Archives;
  engine: Pick<Engine, 'kill'>;
  clock: Clock;
  log: Log;
  dataDir: string;
  owner: FileOwner | undefined;
  disk: Disk;
  /** Tells whoever watches the server how a restore or a backup comes along. */
  publish: (serverId: string, data: object) => void;
  /** Makes whoever holds the server's folder open let go of it: what they wrote later would be lost. */
  release?: (serverId: string) => Promise<void>;
  /** Tells that a folder has been put aside. */
  onAside: (serverId: string) => void;
  /** Called between any two steps, by name: for those who have to see what a crash leaves behind. */
  at?: (step: string) => Promise<void> | void;
}

/** Does a job; null once it is done, or why everything is as it was. Rejects where it is neither: then it is called again. */
export type Maintain = (serverId: string, jobId: string, signal: AbortSignal) => Promise<Failure | null>;

/** What a job works with. */
interface Work {
  job: MaintenanceRow;
  row: ServerRow;
  signal: AbortSignal;
}

/**
 * The jobs on the files of a server that rests. Each goes in steps; a step that is done for good is noted in the job's row, and
 * one that was cut short is done again from what lies on the disk. So whenever the process is killed, the next one finishes:
 * the server is exactly as it was or exactly what was asked for, and never lies between the two while it could start.
 */
export function createMaintenance(options: MaintenanceOptions): (host: EffectHost) => Maintain {
  const { store, archives, engine, clock, log, dataDir, owner, disk, publish } = options;
  const at = options.at ?? (() => {});

  return (host) => {
    return async function maintain(serverId, jobId, signal) {
      const [job, now] = [await getMaintenance(store, serverId), host.now(serverId)];
      if (job?.jobId !== jobId || now === undefined) throw new Error(`job ${jobId} of ${serverId} is not there`);
      // Nothing may run on files that are being replaced, whoever started it.
      await engine.kill(serverId);
      const work = { job, row: now.row, signal };
      if (job.kind === 'world.reset') return await reset(work);
      return await archives.alone(serverId, async () => {
        signal.throwIfAborted();
        if (job.kind === 'world.delete') return await deleteWorld(work);
        return job.target === PREVIOUS ? await undo(work) : await restore(work);
      });
    };

    /** Staged beside the files, verified, then put in their place by renames; what was there is kept. */
    async function restore({ job, row, signal }: Work): Promise<Failure | null> {
      const { serverId, jobId } = job;
      const { root, staged, previous, trash } = siblingsOf(dataDir, serverId);
      const backup = await getBackup(store, serverId, job.target);
      if (job.step === '') {
        await at('asked');
        await dropNeedless(serverId);
        const failure = await attempt(signal, async () => {
          if (backup?.state !== 'ready') throw missing();
          if (!(await exists(archivePath(dataDir, serverId, backup.id)))) throw missing();
          let told = false;
          const progress = (percent: number) => {
            publish(serverId, { id: backup.id, state: 'restoring', percent });
            if (percent > 50 && !told) void ((told = true), at('extracting'));
          };
          await archives.stage(backup, { signal, progress });
        });
        if (failure !== null) {
          await removeTree(staged);
          return failure;
        }
        await at('extracted');
        await store.write((tx) => noteStep(tx, jobId, 'staged'));
        await at('staged');
      }
      if (job.step === '' || job.step === 'staged') {
        await options.release?.(serverId);
        while (await exists(staged)) {
          signal.throwIfAborted();
          // What was put aside before, and no start has made needless since, is what nobody may lose.
          if (await exists(previous)) await discard(root, trash);
          else if (await exists(root)) await move(root, previous);
          await at('aside');
          await move(staged, root);
          await at('swapped');
        }
        const aside = (await exists(previous)) ? await treeBytesOf(previous, signal) : undefined;
        const before = await makeOf(row, previous);
        const kept = await getBackup(store, serverId, PREVIOUS);
        await patchMake(row, backup, async (tx) => {
          if (aside !== undefined && !kept) await insertBackup(tx, asideRow(serverId, before, aside));
          await noteStep(tx, jobId, 'swapped');
        });
        if (aside !== undefined) options.onAside(serverId);
        disk.freed(serverId);
        await at('noted');
      }
      await removeTree(trash);
      await at('cleaned');
      publish(serverId, { id: job.target, state: 'restored', percent: 100 });
      return null;
    }

    /** What an earlier restore has put aside goes once a start has succeeded; that may have been left undone. */
    async function dropNeedless(serverId: string): Promise<void> {
      const kept = await getBackup(store, serverId, PREVIOUS);
      if (!kept || !(await hasRunSince(store, serverId, kept.createdAt))) return;
      const { previous, trash } = siblingsOf(dataDir, serverId);
      await discard(previous, trash);
      await store.write((tx) => deleteBackup(tx, kept));
    }

    /** The folder that a restore has put aside comes back, and what was restored goes. */
    async function undo({ job, row, signal }: Work): Promise<Failure | null> {
      const { serverId, jobId } = job;
      const { root, previous, trash } = siblingsOf(dataDir, serverId);
      const backup = await getBackup(store, serverId, PREVIOUS);
      if (job.step === '') {
        if (!backup || !(await exists(previous))) return failureOf(missing());
        await store.write((tx) => noteStep(tx, jobId, 'staged'));
        await at('staged');
      }
      if (job.step === '' || job.step === 'staged') {
        await options.release?.(serverId);
        while (await exists(previous)) {
          signal.throwIfAborted();
          await discard(root, trash);
          await at('aside');
          await move(previous, root);
          await at('swapped');
        }
        await patchMake(row, backup, async (tx) => {
          await deleteBackup(tx, { serverId, id: PREVIOUS });
          await noteStep(tx, jobId, 'swapped');
        });
        disk.freed(serverId);
        await at('noted');
      }
      await removeTree(trash);
      await at('cleaned');
      return null;
    }

    /** A backup of everything, and then the world that is active is made anew by the next start. */
    async function reset({ job, row, signal }: Work): Promise<Failure | null> {
      const { serverId } = job;
      if (job.step === '') {
        await at('asked');
        const failure = await attempt(signal, () => keep(job, row, signal));
        if (failure !== null) return failure;
        await at('kept');
      }
      return await archives.alone(serverId, () => deleteWorld({ job, row, signal }));
    }

    async function keep(job: MaintenanceRow, row: ServerRow, signal: AbortSignal): Promise<void> {
      const { serverId, jobId } = job;
      // Of the job's own name, so that doing it again leaves one.
      const id = jobId.replace('job_', 'bak_');
      const ref = { serverId, id };
      const progress = (percent: number) => publish(serverId, { id, state: 'running', percent });
      await archives.make(ref, { signal, progress }, async (archive) => {
        const made = {
          ...(await makeOf(row, siblingsOf(dataDir, serverId).root)),
          kind: 'reset',
          state: 'running',
        } as const;
        await store.write(async (tx) => {
          await deleteBackup(tx, ref);
          await insertBackup(tx, { ...emptyBackup(ref, clock.now()), ...made });
        });
        try {
          const finished = await archive(signal);
          await store.write(async (tx) => {
            await patchBackup(tx, ref, { ...finished, state: 'ready', finishedAt: clock.now() }, ['running']);
            await noteStep(tx, jobId, 'kept');
          });
          publish(serverId, { id, state: 'ready', percent: 100 });
        } catch (error) {
          if (!signal.aborted) await store.write((tx) => deleteBackup(tx, ref));
          throw error;
        }
      });
    }

    async function deleteWorld({ job: { serverId, target }, signal }: Work): Promise<Failure | null> {
      const { root } = siblingsOf(dataDir, serverId);
      await at('asked');
      if (await exists(root)) {
        await using jail = await openJail(root, { owner });
        await removeWorld(jail, target, async () => {
          await at('removed');
          signal.throwIfAborted();
        });
      }
      disk.freed(serverId);
      await at('cleaned');
      return null;
    }

    /** The server's row tells of what lies in its folder now. */
    function patchMake(row: ServerRow, make: ServerMake | undefined, also: Parameters<EffectHost['patch']>[2]) {
      if (make === undefined) return host.patch(row.id, {}, also);
      const { type, version, modpackPlatform, modpackRef, modpackVersion, levelName } = make;
      const properties = restoredProperties(row.properties, levelName);
      const fields = { type, version, modpackPlatform, modpackRef, modpackVersion, properties };
      return host.patch(row.id, fields, also);
    }

    function asideRow(serverId: string, make: ServerMake, bytes: number): BackupRow {
      const now = clock.now();
      const empty = emptyBackup({ serverId, id: PREVIOUS }, now);
      return {
        ...empty,
        ...make,
        kind: 'previous',
        state: 'ready',
        finishedAt: now,
        sizeBytes: bytes,
        treeBytes: bytes,
      };
    }

    /** What goes wrong before anything was touched is the job's end, and no reason to try again. */
    async function attempt(signal: AbortSignal, work: () => Promise<void>): Promise<Failure | null> {
      try {
        await work();
        return null;
      } catch (error) {
        signal.throwIfAborted();
        log.warn({ err: error }, 'a job on a server’s files failed; everything is as it was');
        return failureOf(error);
      }
    }
  };
}

/** What a server is with the files in a folder, to be told again once a backup of it is restored. */
export async function makeOf(row: ServerRow, root: string): Promise<ServerMake> {
  const { type, version, modpackPlatform, modpackRef, modpackVersion } = row;
  if (!(await exists(root))) {
    return { type, version, modpackPlatform, modpackRef, modpackVersion, levelName: await levelNameOf(row, undefined) };
  }
  await using jail = await openJail(root);
  return { type, version, modpackPlatform, modpackRef, modpackVersion, levelName: await levelNameOf(row, jail) };
}

/** A backup that has only been asked for. */
export function emptyBackup({ serverId, id }: Pick<BackupRow, 'serverId' | 'id'>, createdAt: number): BackupRow {
  const make = { type: '', version: '', modpackPlatform: '', modpackRef: '', modpackVersion: '', levelName: '' };
  const made = { finishedAt: null, sizeBytes: 0, treeBytes: 0, sha256: '', locked: false, error: '' };
  return { serverId, id, kind: 'manual', state: 'queued', createdAt, ...made, ...make };
}

/** On disk before anything follows from it. */
async function move(from: string, to: string): Promise<void> {
  await rename(from, to);
  await syncDirectory(dirname(to));
}

function missing(): StatusError {
  return new StatusError(
    'FAILED_PRECONDITION',
    'BACKUP_FILE_MISSING',
    'The files of this backup are not there any more.',
  );
}

/** As the machine keeps it: `code` is the reason that callers are told. */
function failureOf(error: unknown): Failure {
  if (error instanceof StatusError)
    return { code: error.reason, summary: error.message, suggestion: '', raw: error.code };
  const { code } = error as NodeJS.ErrnoException;
  if (error instanceof ArchiveCorrupt) {
    return failure(
      'BACKUP_CORRUPT',
      `The backup is damaged, and nothing of it was taken: ${error.message}`,
      'FAILED_PRECONDITION',
    );
  }
  if (code === 'ENOSPC' || code === 'EDQUOT')
    return failure('DISK_FULL', "The machine's disk is full.", 'RESOURCE_EXHAUSTED');
  return failure(
    'INTERNAL',
    'It failed for a reason of the service itself; its operator finds it in the log.',
    'INTERNAL',
  );
}

function failure(code: string, summary: string, raw: string): Failure {
  return { code, summary, suggestion: '', raw };
}
