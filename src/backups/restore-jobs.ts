import { rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Failure } from '../../machines/server-types.ts';
import { removeTree } from '../jail/remove-tree.ts';
import type { ServerRow } from '../servers/rows.ts';
import type { EffectHost } from '../servers/effect-host.ts';
import { hasRunSince } from '../servers/transition-rows.ts';
import type { Tx } from '../store/store.ts';
import { syncDirectory } from '../kernel/atomic-file.ts';
import { restoredProperties } from '../game/worlds.ts';
import { treeBytesOf } from './archives.ts';
import { filesMissing } from './errors.ts';
import { archivePath, discard, exists, siblingsOf } from './files.ts';
import { jobFailure } from './job-failure.ts';
import { createKeep } from './keep-job.ts';
import { noteStep } from '../servers/maintenance-rows.ts';
import type { DoJob, Tools, Work } from './maintenance.ts';
import { makeOf } from './make.ts';
import { keepMods, restoreMods } from './mod-rows.ts';
import {
  type BackupRow,
  PREVIOUS,
  type ServerMake,
  deleteBackup,
  emptyBackup,
  getBackup,
  insertBackup,
  patchBackup,
} from './rows.ts';
import { markOf } from './tree-mark.ts';

/** The jobs that put other files in place of a server's own. */
export function createRestoreJobs(tools: Tools): { keepChanged: DoJob; restore: DoJob; undo: DoJob } {
  const { store, archives, clock, dataDir, disk, publish, onAside, at, attempt, release } = tools;
  const keep = createKeep(tools);

  /**
   * Before a restore that no start has come after takes away what an earlier one has put in place: where that was changed
   * since, by its owner or by a start that failed, a backup of it is made. What the earlier one has put aside stays.
   */
  async function keepChanged(work: Work): Promise<Failure | null> {
    const { job, signal } = work;
    const { serverId, step } = job;
    const { root } = siblingsOf(dataDir, serverId);
    const aside = step === '' ? await getBackup(store, serverId, PREVIOUS) : undefined;
    if (!aside || (await hasRunSince(store, serverId, aside.createdAt))) return null;
    if (!(await exists(root)) || (await markOf(root)) === aside.replacedBy) return null;
    const failure = await attempt(signal, () => keep(work, 'restore'));
    if (failure === null) await at('kept');
    return failure;
  }

  /** Staged beside the files, verified, then put in their place by renames; what was there is kept. */
  async function restore({ job, row, host, signal }: Work): Promise<Failure | null> {
    const { serverId, jobId } = job;
    const { root, staged, previous, trash } = siblingsOf(dataDir, serverId);
    const backup = await getBackup(store, serverId, job.target);
    const isNew = job.step === '' || job.step === 'kept';
    if (isNew) {
      await at('asked');
      await dropNeedless(serverId);
      const failure = await attempt(signal, async () => {
        if (backup?.state !== 'ready') throw filesMissing(job.target);
        if (!(await exists(archivePath(dataDir, serverId, backup.id)))) throw filesMissing(job.target);
        let told = false;
        const progress = (percent: number) => {
          publish(serverId, { id: backup.id, state: 'restoring', percent });
          if (percent > 50 && !told) void ((told = true), at('extracting'));
        };
        await archives.stage(backup, { signal, progress });
      });
      if (failure !== null) {
        await giveUp(serverId);
        return failure;
      }
      await at('extracted');
      await store.write((tx) => noteStep(tx, jobId, 'staged'));
      await at('staged');
    }
    if (isNew || job.step === 'staged') {
      await release(serverId);
      const replacedBy = (await exists(staged)) ? await markOf(staged) : null;
      while (await exists(staged)) {
        signal.throwIfAborted();
        const failure = await attempt(signal, () => putAside(serverId));
        if (failure !== null && (await exists(root))) {
          await giveUp(serverId);
          return failure;
        }
        await at('aside');
        await move(staged, root);
        await at('swapped');
      }
      // Who has come since still has the old folder open.
      await release(serverId);
      const aside = (await exists(previous)) ? await treeBytesOf(previous, signal) : undefined;
      const before = await makeOf(row, previous);
      const kept = await getBackup(store, serverId, PREVIOUS);
      await patchMake(host, row, backup, async (tx) => {
        if (kept) await patchBackup(tx, kept, { replacedBy }, ['ready']);
        else if (aside !== undefined) await insertAside(tx, { ...asideRow(serverId, before, aside), replacedBy });
        if (backup) await restoreMods(tx, backup);
        await noteStep(tx, jobId, 'swapped');
      });
      if (aside !== undefined) onAside(serverId);
      disk.freed(serverId);
      await at('noted');
    }
    await removeTree(trash);
    await at('cleaned');
    publish(serverId, { id: job.target, state: 'restored', percent: 100 });
    return null;
  }

  async function putAside(serverId: string): Promise<void> {
    const { root, previous, trash } = siblingsOf(dataDir, serverId);
    // What was put aside before, and no start has made needless since, is what nobody may lose: of the other, there is a
    // backup, or one has been made.
    if (await exists(previous)) await discard(root, trash);
    else if (await exists(root)) await move(root, previous);
  }

  /** While the server's own files are in their place. */
  async function giveUp(serverId: string): Promise<void> {
    const { staged, trash } = siblingsOf(dataDir, serverId);
    await removeTree(staged);
    await removeTree(trash);
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
  async function undo({ job, row, host, signal }: Work): Promise<Failure | null> {
    const { serverId, jobId } = job;
    const { root, previous, trash } = siblingsOf(dataDir, serverId);
    const backup = await getBackup(store, serverId, PREVIOUS);
    if (job.step === '') {
      if (!backup || !(await exists(previous))) return jobFailure(filesMissing(job.target));
      await store.write((tx) => noteStep(tx, jobId, 'staged'));
      await at('staged');
    }
    if (job.step === '' || job.step === 'staged') {
      await release(serverId);
      while (await exists(previous)) {
        signal.throwIfAborted();
        await discard(root, trash);
        await at('aside');
        await move(previous, root);
        await at('swapped');
      }
      await release(serverId);
      await patchMake(host, row, backup, async (tx) => {
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

  return { keepChanged, restore, undo };
}

/** What a restore has put aside, with the mods that belong to it. */
async function insertAside(tx: Tx, row: BackupRow): Promise<void> {
  await insertBackup(tx, row);
  await keepMods(tx, row);
}

/** The server's row tells of what lies in its folder now. */
function patchMake(
  host: EffectHost,
  row: ServerRow,
  make: ServerMake | undefined,
  also: Parameters<EffectHost['patch']>[2],
) {
  if (make === undefined) return host.patch(row.id, {}, also);
  const { type, version, modpackPlatform, modpackRef, modpackVersion, levelName } = make;
  const fields = { type, version, modpackPlatform, modpackRef, modpackVersion };
  // Of the row as it is by now: its owner may have set properties meanwhile.
  const restored = ({ properties }: ServerRow) => ({
    ...fields,
    properties: restoredProperties(properties, levelName),
  });
  return host.patch(row.id, restored, also);
}

/** On disk before anything follows from it. */
async function move(from: string, to: string): Promise<void> {
  await rename(from, to);
  await syncDirectory(dirname(to));
}
