import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdir, open, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { extractArchive, writeArchive } from '../../src/backups/archive.ts';
import type { Archive } from '../../src/backups/pack.ts';
import { openJail } from '../../src/jail/jail.ts';
import { createWorkerPool } from '../../src/kernel/workers/pool.ts';
import { familyCpuMs } from './children.ts';
import { inFolder, shell } from './control.ts';
import { type Report, median } from './figures.ts';

const ROUNDS = 5;
const MIB = 2 ** 20;
/** The shape of a world: region files of some MB that hardly compress, and many small files. */
const REGIONS = 60;
const SMALL = 3_000;
/** The shape of plugins' player data: small files only. */
const PLAYERS = 10_000;
const signal = new AbortController().signal;

/** The durations of one step, per round. */
interface Times {
  wallMs: number[];
  cpuMs: number[];
}

/**
 * Measures a backup and a restore, against `tar | zstd` of the same tree in the same run. Both sync their files. The
 * CPU time includes all processes and the start of the worker that makes the archive. It is the least of all rounds,
 * because other work on the machine only adds to it.
 */
export async function run(report: Report): Promise<void> {
  const peer = ['tar', 'zstd', 'sync'].every((program) => spawnSync(program, ['--version']).status === 0);
  if (!peer) report.progress('tar and zstd are not installed here: no ratios');
  await inFolder(async (folder) => {
    // `npm start` does the same.
    process.env['NODE_COMPILE_CACHE'] ??= join(folder, 'compiled');
    const [tree, players] = [join(folder, 'tree'), join(folder, 'players')];
    const bytes = await plant(tree, REGIONS, SMALL);
    await plant(players, 0, PLAYERS);
    const [backup, tar, restore, untar, many, manyTar] = Array.from({ length: 6 }, noTimes) as [
      Times,
      Times,
      Times,
      Times,
      Times,
      Times,
    ];
    const [archive, other] = [join(folder, 'a.tar.zst'), join(folder, 'b.tar.zst')];
    for (let round = 0; round < ROUNDS; round++) {
      const facts = await timed(backup, () => made(tree, archive));
      const into = await fresh(folder, `into-${round}`);
      await timed(restore, () => restored(archive, facts, into));
      await timed(many, () => made(players, archive));
      if (!peer) continue;
      await timed(tar, () => shell(tarTo(tree, other)));
      const out = await fresh(folder, `out-${round}`);
      await timed(untar, () => shell(`zstd -q -d -c ${other} | tar -C ${out} -xf - && sync -f ${out}`));
      await timed(manyTar, () => shell(tarTo(players, other)));
    }
    const note = `${Math.round(bytes / MIB)} MiB in ${REGIONS + SMALL} files, SHA-256 and sync included`;
    const rate = ({ wallMs }: Times) => bytes / MIB / (median(wallMs) / 1_000);
    const perGib = ({ cpuMs }: Times) => (Math.min(...cpuMs) / 1_000) * (1_024 / (bytes / MIB));
    report.row({ figure: 'backup', value: rate(backup), unit: 'MiB/s', note });
    report.row({ figure: 'backup, CPU per GiB', value: perGib(backup), unit: 's' });
    report.row({ figure: 'restore, verified and staged', value: rate(restore), unit: 'MiB/s', note });
    report.row({ figure: 'restore, CPU per GiB', value: perGib(restore), unit: 's' });
    const smallNote = `${PLAYERS} files of 1 KB`;
    const each = (Math.min(...many.cpuMs) / PLAYERS) * 1_000;
    report.row({ figure: 'backup of small files, CPU each', value: each, unit: 'µs', note: smallNote });
    if (!peer) return;
    const ratios = (what: string, ours: Times, theirs: Times) => {
      report.row({ figure: what, value: median(theirs.wallMs) / median(ours.wallMs), unit: '1' });
      const value = Math.min(...theirs.cpuMs) / Math.min(...ours.cpuMs);
      report.row({ figure: `${what}, per CPU second`, value, unit: '1' });
    };
    ratios('backup ÷ tar | zstd -1', backup, tar);
    ratios('restore ÷ zstd -d | tar', restore, untar);
    ratios('small files ÷ tar | zstd -1', many, manyTar);
  });
}

async function plant(tree: string, regions: number, small: number): Promise<number> {
  await mkdir(join(tree, 'world/region'), { recursive: true });
  await mkdir(join(tree, 'config'));
  let bytes = 0;
  const write = async (name: string, content: Buffer) => {
    await writeFile(join(tree, name), content);
    bytes += content.length;
  };
  for (let n = 0; n < regions; n++) {
    await write(`world/region/r.${n}.0.mca`, Buffer.concat([randomBytes(4 * MIB), Buffer.alloc(2 * MIB)]));
  }
  for (let n = 0; n < small; n++) await write(`config/${n}.json`, Buffer.from(`{"n":${n}}`.repeat(100)));
  return bytes;
}

async function made(tree: string, archive: string): Promise<Archive> {
  const workers = createWorkerPool({ streams: 1, trusted: true });
  await using jail = await openJail(tree);
  await using root = await jail.directory('');
  return await writeArchive(workers, root, archive, { signal, grow: async () => {}, progress() {} });
}

async function restored(archive: string, facts: Archive, path: string): Promise<void> {
  await using file = await open(archive);
  const workers = createWorkerPool({ streams: 1, trusted: true });
  await extractArchive(workers, file.fd, facts, path, { owner: undefined, signal, progress() {} });
}

/** Creates a new folder for each round. Just after many files were removed, ext4 is slow to create others. */
async function fresh(folder: string, name: string): Promise<string> {
  const path = join(folder, name);
  await mkdir(path);
  return path;
}

function tarTo(tree: string, archive: string): string {
  return `tar -C ${tree} -cf - . | zstd -q -f -1 -T1 -o ${archive} && sync -f ${archive}`;
}

function noTimes(): Times {
  return { wallMs: [], cpuMs: [] };
}

async function timed<T>({ wallMs, cpuMs }: Times, work: () => Promise<T>): Promise<T> {
  const [begun, cpu] = [performance.now(), familyCpuMs()];
  const result = await work();
  wallMs.push(performance.now() - begun);
  cpuMs.push(familyCpuMs() - cpu);
  return result;
}
