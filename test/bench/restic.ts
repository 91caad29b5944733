import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdir, open, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { writeArchive } from '../../src/backups/archive.ts';
import type { ArchiveStore } from '../../src/backups/offsite/archive-store.ts';
import type { BackupRow } from '../../src/backups/rows.ts';
import { openJail } from '../../src/jail/jail.ts';
import { createWorkerPool } from '../../src/kernel/workers/pool.ts';
import { systemClock } from '../../src/kernel/system-clock.ts';
import { createLog } from '../../src/kernel/log.ts';
import { Progress } from '../../src/backups/base.ts';
import { resticPlace } from '../support/restic.ts';
import { bytesBelow } from '../support/tree.ts';
import { familyCpuMs } from './children.ts';
import { inFolder, shell } from './control.ts';
import { type Report } from './figures.ts';

const MIB = 2 ** 20;
/** `WORLD_MIB=2048 npm run bench -- restic` measures a large world. */
const WORLD_MIB = Number(process.env['WORLD_MIB'] ?? 512);
const REGION_MIB = 8;
const SECTOR = 4_096;
const DAYS = 10;
/** Players change this share of a world's sectors per day, in this many areas of adjacent chunks per GiB. */
const [CHANGED, AREAS_PER_GIB] = [0.03, 8];
const signal = new AbortController().signal;

/**
 * Measures ten daily backups of a world in a repository, against `tar | restic backup --stdin` by hand of the same world
 * in the same run: space, and CPU time of all processes, which is the least of all days but the first, because other work
 * on the machine only adds to it. A region's header changes with each of its chunks.
 */
export async function run(report: Report): Promise<void> {
  if (spawnSync('restic', ['version']).status !== 0) return report.progress('restic is not installed here');
  await inFolder(async (folder) => {
    const [tree, byHand, dataDir] = [join(folder, 'tree'), join(folder, 'by-hand'), join(folder, 'data')];
    await mkdir(dataDir);
    const regions = await plant(tree);
    const place = resticPlace({ location: `restic:${join(folder, 'repository')}`, dataDir });
    await place.passed();
    const restic = `RESTIC_PASSWORD=bench restic --quiet --cache-dir ${join(folder, 'cache')} -r ${byHand}`;
    await shell(`${restic} init`);
    const [ours, theirs] = [[] as number[], [] as number[]];
    let bytes = 0;
    for (let day = 0; day < DAYS; day++) {
      if (day > 0) await play(regions);
      const own = async () => (bytes = await backUp(tree, dataDir, place.store(place.location), day));
      const peer = () => shell(`tar -C ${tree} -cf - . | ${restic} backup --stdin --stdin-filename world.tar`);
      // In turns, so that neither always finds the files in memory.
      for (const each of day % 2 === 0 ? ['ours', 'theirs'] : ['theirs', 'ours'])
        if (each === 'ours') ours.push(await cpuOf(own));
        else theirs.push(await cpuOf(peer));
      report.progress(`day ${day + 1} of ${DAYS}`);
    }
    const space = await bytesBelow(join(folder, 'repository'));
    // The first day sends everything.
    const least = (all: readonly number[]) => Math.min(...all.slice(1));
    const note = `a world of ${WORLD_MIB} MiB of which ${CHANGED * 100} % changes per day`;
    report.row({ figure: `space of ${DAYS} backups ÷ one archive`, value: space / bytes, unit: '1', note });
    report.row({ figure: 'space ÷ by hand', value: space / (await bytesBelow(byHand)), unit: '1' });
    report.row({ figure: 'CPU ÷ tar | restic by hand', value: least(ours) / least(theirs), unit: '1' });
    report.row({ figure: 'CPU of a later day', value: least(ours) / 1_000, unit: 's' });
  });
}

/** Creates region files, and returns their paths. Chunks in them are compressed, so their bytes look random. */
async function plant(tree: string): Promise<string[]> {
  const folder = join(tree, 'world/region');
  await mkdir(folder, { recursive: true });
  const paths = Array.from({ length: Math.ceil(WORLD_MIB / REGION_MIB) }, (_, n) => join(folder, `r.${n}.0.mca`));
  for (const path of paths) await writeFile(path, randomBytes(REGION_MIB * MIB));
  return paths;
}

/** Rewrites adjacent sectors of a few region files, and their headers. */
async function play(regions: readonly string[]): Promise<void> {
  const areas = Math.max(1, Math.round((AREAS_PER_GIB * WORLD_MIB) / 1_024));
  const length = Math.min(REGION_MIB * MIB - 2 * SECTOR, Math.round((CHANGED * WORLD_MIB * MIB) / areas));
  for (let n = 0; n < areas; n++) {
    await using file = await open(regions[Math.floor(Math.random() * regions.length)]!, 'r+');
    const sectors = Math.floor((REGION_MIB * MIB - length) / SECTOR) - 2;
    const at = (2 + Math.floor(Math.random() * sectors)) * SECTOR;
    await file.write(randomBytes(length), 0, length, at);
    await file.write(randomBytes(2 * SECTOR), 0, 2 * SECTOR, 0);
  }
}

/** Makes an archive and sends it, as a backup does. Returns the size of the archive. */
async function backUp(tree: string, dataDir: string, store: ArchiveStore, day: number): Promise<number> {
  const archive = join(dataDir, `${day}.tar`);
  const workers = createWorkerPool({ streams: 1, trusted: true });
  await using jail = await openJail(tree);
  await using root = await jail.directory('');
  const given = { signal, grow: async () => {}, progress() {}, format: 'tar' } as const;
  const { sizeBytes } = await writeArchive(workers, root, archive, given);
  await using file = await open(archive);
  const backup = { serverId: 'lobby', id: `bak_${day}`, sizeBytes, format: 'tar' } as BackupRow;
  const log = createLog({ level: 'silent' });
  const base = { clock: systemClock, log, dataDir, progress: new Progress(), at() {} };
  await store.send(base as never, { backup, accountId: 'acc_bench', at: Date.now(), file: file.fd }, signal);
  await rm(archive);
  return sizeBytes;
}

async function cpuOf(work: () => Promise<unknown>): Promise<number> {
  const before = familyCpuMs();
  await work();
  return familyCpuMs() - before;
}
