import { rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { crc32 } from 'node:zlib';
import type { Failure } from '../../machines/server-types.ts';
import { restoredProperties } from '../game/worlds.ts';
import type { ChangeLock } from '../jail/change-lock.ts';
import { openJail } from '../jail/jail.ts';
import { removeTree } from '../jail/remove-tree.ts';
import { syncDirectory } from '../kernel/atomic-file.ts';
import type { EffectHost, Maintain } from '../servers/effect-host.ts';
import { getMaintenance, hasRunSince, noteStep } from '../servers/machine-rows.ts';
import type { ServerRow } from '../servers/rows.ts';
import { treeBytesOf } from './archives.ts';
import { filesMissing, jobFailure } from './errors.ts';
import { discard, exists, siblingsOf, softwareOf } from './files.ts';
import { type DoJob, type Tools, type Work, attempt, keepFiles } from './job.ts';
import { isRedundant } from './previous-folders.ts';
import {
  type BackupRow,
  PREVIOUS,
  type ServerSoftware,
  deleteBackup,
  emptyBackup,
  getBackup,
  insertBackup,
  keepMods,
  patchBackup,
  restoreMods,
} from './rows.ts';

/**
 * The jobs on the files of a server at rest. A job consists of steps: a finished step is recorded in the job's row, and
 * an interrupted step is repeated from what is on disk. Whenever the process is killed, the next one therefore finishes
 * the job. Afterwards, the server is either unchanged or exactly as requested, and it cannot start in between.
 */
export function createMaintenance(
  tools: Tools,
  lock: ChangeLock,
  {
    withPrevious,
    release,
    jobs,
  }: {
    /** Servers with a folder that a restore has replaced. */
    withPrevious: Set<string>;
    /** Closes the server's folder for all clients that have it open, because their later writes would be lost. */
    release: (serverId: string) => Promise<void>;
    /** The jobs of other rooms by kind. */
    jobs: Readonly<Record<string, DoJob>>;
  },
): (host: EffectHost) => Maintain {
  const { store, archives, engine } = tools;
  const restores = new RestoreJobs(tools, withPrevious, async (serverId) => {
    lock.replaced(serverId);
    await release(serverId);
  });

  return (host) => async (serverId, jobId, signal) => {
    const [job, now] = [await getMaintenance(store, serverId), host.now(serverId)];
    if (job?.jobId !== jobId || now === undefined) throw new Error(`job ${jobId} of ${serverId} does not exist`);
    // No program may run on files being replaced, even one started by another process.
    await engine.kill(serverId);
    // The machine is in the job, so no new changes begin. Waits for those in progress.
    await lock.settled(serverId);
    const work: Work = { job, row: now.row, host, signal };
    const other = jobs[job.kind];
    if (other !== undefined) return await other(work);
    if (job.kind !== 'backup.restore') throw new Error(`no handler for jobs of kind ${job.kind}`);
    const notKept = await restores.keepChanged(work);
    if (notKept !== null) return notKept;
    return await archives.withFilesLock(serverId, async () => {
      signal.throwIfAborted();
      return job.target === PREVIOUS ? await restores.undo(work) : await restores.restore(work);
    });
  };
}

/** The jobs that replace a server's files. */
class RestoreJobs {
  readonly #tools: Tools;
  readonly #withPrevious: Set<string>;
  readonly #release: (serverId: string) => Promise<void>;

  constructor(tools: Tools, withPrevious: Set<string>, release: (serverId: string) => Promise<void>) {
    this.#tools = tools;
    this.#withPrevious = withPrevious;
    this.#release = release;
  }

  /**
   * Runs before a restore while the folder replaced by an earlier one is still needed. The new restore would discard
   * the files of the earlier one. If the owner, a failed start or players have changed them, this backs them up. The
   * replaced folder stays. An undo is meant to discard changes, but even then, played progress is backed up.
   */
  async keepChanged(work: Work): Promise<Failure | null> {
    const { store, log, dataDir, at } = this.#tools;
    const { job, signal } = work;
    const { serverId, step, target } = job;
    const { root } = siblingsOf(dataDir, serverId);
    const earlier = step === '' ? await getBackup(store, serverId, PREVIOUS) : undefined;
    if (!earlier || (await isRedundant(store, earlier))) return null;
    if (target === PREVIOUS && !(await hasRunSince(store, serverId, earlier.createdAt))) return null;
    if (!(await exists(root)) || (await treeFingerprintOf(root)) === earlier.replacedBy) return null;
    const failure = await attempt(log, signal, () => keepFiles(this.#tools, work, 'restore'));
    if (failure === null) await at('kept');
    return failure;
  }

  /** Stages the archive beside the files, verifies it, and swaps the folders by renames. Keeps the replaced folder. */
  async restore(work: Work): Promise<Failure | null> {
    const { store, dataDir, progress, at } = this.#tools;
    const { serverId, step, target } = work.job;
    const { staged, trash } = siblingsOf(dataDir, serverId);
    const backup = await getBackup(store, serverId, target);
    const isNew = step === '' || step === 'kept';
    let failure = isNew ? await this.#stage(work, backup) : null;
    if (failure === null && (isNew || step === 'staged')) failure = await this.#swap(work, backup);
    if (failure !== null) {
      // The server's own files are in place.
      await removeTree(staged);
      await removeTree(trash);
      return failure;
    }
    await removeTree(trash);
    await at('cleaned');
    progress.publish(serverId, { id: target, state: 'restored', percent: 100 });
    return null;
  }

  async #stage({ job, signal }: Work, backup: BackupRow | undefined): Promise<Failure | null> {
    const { store, archives, files, log, progress, at } = this.#tools;
    const { serverId, jobId, target } = job;
    await at('asked');
    await this.#dropRedundant(serverId);
    const failure = await attempt(log, signal, async () => {
      if (backup?.state !== 'ready') throw filesMissing(target);
      await files.require(backup);
      let reported = false;
      const report = (percent: number) => {
        progress.publish(serverId, { id: backup.id, state: 'restoring', percent });
        if (percent > 50 && !reported) void ((reported = true), at('extracting'));
      };
      await archives.stage(backup, { signal, progress: report });
    });
    if (failure !== null) return failure;
    await at('extracted');
    await store.write((tx) => noteStep(tx, jobId, 'staged'));
    await at('staged');
    return null;
  }

  /** Swaps the folders. On failure, the server's own files are back in place. */
  async #swap({ job, row, host, signal }: Work, backup: BackupRow | undefined): Promise<Failure | null> {
    const { store, clock, dataDir, disk, log, at } = this.#tools;
    const { serverId, jobId } = job;
    const { root, staged, previous } = siblingsOf(dataDir, serverId);
    await this.#release(serverId);
    const replacedBy = (await exists(staged)) ? await treeFingerprintOf(staged) : null;
    while (await exists(staged)) {
      signal.throwIfAborted();
      const failure = await attempt(log, signal, () => this.#clearRoot(serverId));
      if (failure !== null && (await exists(root))) return failure;
      await at('cleared');
      await move(staged, root);
      await at('swapped');
    }
    // Clients that have connected in the meantime still hold the old folder open.
    await this.#release(serverId);
    const previousBytes = (await exists(previous)) ? await treeBytesOf(previous, signal) : undefined;
    const before = await softwareOf(row, previous);
    const kept = await getBackup(store, serverId, PREVIOUS);
    await patchSoftware(host, row, backup, async (tx) => {
      if (kept) await patchBackup(tx, kept, { replacedBy }, ['ready']);
      else if (previousBytes !== undefined) {
        const now = clock.now();
        const ref = { serverId, id: PREVIOUS };
        const size = { sizeBytes: previousBytes, treeBytes: previousBytes };
        const fields = { kind: 'previous', state: 'ready', finishedAt: now, replacedBy } as const;
        await insertBackup(tx, { ...emptyBackup(ref, now), ...before, ...size, ...fields });
        await keepMods(tx, ref);
      }
      if (backup) await restoreMods(tx, backup);
      await noteStep(tx, jobId, 'swapped');
    });
    if (previousBytes !== undefined) this.#withPrevious.add(serverId);
    disk.freed(serverId);
    await at('noted');
    return null;
  }

  async #clearRoot(serverId: string): Promise<void> {
    const { root, previous, trash } = siblingsOf(this.#tools.dataDir, serverId);
    // The folder replaced by an earlier restore must not be lost before a start has succeeded. The current files may be
    // lost, because they are backed up.
    if (await exists(previous)) await discard(root, trash);
    else if (await exists(root)) await move(root, previous);
  }

  /** Removes the folder replaced by an earlier restore, if it is redundant and not yet removed. */
  async #dropRedundant(serverId: string): Promise<void> {
    const { store, dataDir } = this.#tools;
    const kept = await getBackup(store, serverId, PREVIOUS);
    if (!kept || !(await isRedundant(store, kept))) return;
    const { previous, trash } = siblingsOf(dataDir, serverId);
    await discard(previous, trash);
    await store.write((tx) => deleteBackup(tx, kept));
  }

  /** Restores the folder that a restore replaced, and removes the restored files. */
  async undo({ job, row, host, signal }: Work): Promise<Failure | null> {
    const { store, dataDir, disk, at } = this.#tools;
    const { serverId, jobId } = job;
    const { root, previous, trash } = siblingsOf(dataDir, serverId);
    const backup = await getBackup(store, serverId, PREVIOUS);
    const isNew = job.step === '' || job.step === 'kept';
    if (isNew) {
      if (!backup || !(await exists(previous))) return jobFailure(filesMissing(job.target));
      await store.write((tx) => noteStep(tx, jobId, 'staged'));
      await at('staged');
    }
    if (isNew || job.step === 'staged') {
      await this.#release(serverId);
      while (await exists(previous)) {
        signal.throwIfAborted();
        await discard(root, trash);
        await at('cleared');
        await move(previous, root);
        await at('swapped');
      }
      await this.#release(serverId);
      await patchSoftware(host, row, backup, async (tx) => {
        if (backup) await restoreMods(tx, backup);
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
}

/** Updates the server's row to match the files now in its folder. */
function patchSoftware(
  host: EffectHost,
  row: ServerRow,
  software: ServerSoftware | undefined,
  also: Parameters<EffectHost['patch']>[2],
) {
  if (software === undefined) return host.patch(row.id, {}, also);
  const { type, version, modpackPlatform, modpackRef, modpackVersion, levelName } = software;
  // Computed from the current row, because the owner may have changed properties in the meantime.
  const restored = ({ properties, refusedBuild, ...now }: ServerRow) => ({
    type,
    version,
    modpackPlatform,
    modpackRef,
    modpackVersion,
    properties: restoredProperties(properties, levelName),
    pendingUpdate: null,
    refusedBuild: now.type === type && now.version === version ? refusedBuild : '',
  });
  return host.patch(row.id, restored, also);
}

/** Renames, and resolves once the change is on disk. */
async function move(from: string, to: string): Promise<void> {
  await rename(from, to);
  await syncDirectory(dirname(to));
}

/** Returns a fingerprint of the files in a folder. It is constant as long as nothing in the folder changes. */
async function treeFingerprintOf(root: string): Promise<string> {
  await using jail = await openJail(root);
  let entries = 0;
  // A sum, because directories may list their names in a different order each time.
  let sum = 0;
  for await (const { path, version } of jail.tree('')) {
    entries += 1;
    sum += crc32(`${path} ${version}`);
  }
  return `${entries}-${sum}`;
}
