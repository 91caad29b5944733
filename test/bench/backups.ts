import { spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { writeArchive } from '../../src/backups/archive.ts';
import { extractArchive } from '../../src/backups/extract.ts';
import { openJail } from '../../src/jail/jail.ts';
import { inFolder } from './control.ts';
import { type Report, median } from './figures.ts';

const ROUNDS = 5;
const MIB = 2 ** 20;
/** As a world is: region files of some MB that hardly compress, and many small files beside them. */
const REGIONS = 60;
const SMALL = 3_000;
const signal = new AbortController().signal;

/** A backup and a restore, against `tar | zstd` of the same tree in the same run. Both sync what they write. */
export async function run(report: Report): Promise<void> {
  const peer = ['tar', 'zstd', 'sync'].every((program) => spawnSync(program, ['--version']).status === 0);
  if (!peer) report.progress('tar and zstd are not installed here: no ratios');
  await inFolder(async (folder) => {
    const tree = join(folder, 'tree');
    const bytes = await plant(tree);
    const times = { backup: [] as number[], tar: [] as number[], restore: [] as number[], untar: [] as number[] };
    for (let round = 0; round < ROUNDS; round++) {
      const archive = join(folder, 'a.tar.zst');
      await using jail = await openJail(tree);
      const quiet = { signal, progress() {} };
      const begun = performance.now();
      const facts = await writeArchive(jail.tree(''), archive, {
        ...quiet,
        grow: async () => {},
      });
      times.backup.push(performance.now() - begun);
      const into = await emptied(folder, 'into');
      const before = performance.now();
      await extractArchive(
        createReadStream(archive, { highWaterMark: 512 * 1024 }),
        facts,
        { path: into, owner: undefined },
        quiet,
      );
      times.restore.push(performance.now() - before);
      if (!peer) continue;
      const other = join(folder, 'b.tar.zst');
      times.tar.push(await shell(`tar -C ${tree} -cf - . | zstd -q -f -1 -T1 -o ${other} && sync -f ${other}`));
      const out = await emptied(folder, 'out');
      times.untar.push(await shell(`zstd -q -d -c ${other} | tar -C ${out} -xf - && sync -f ${out}`));
    }
    const note = `${Math.round(bytes / MIB)} MiB in ${REGIONS + SMALL} files, SHA-256 and sync included`;
    const rate = (ms: number[]) => bytes / MIB / (median(ms) / 1_000);
    report.row({ figure: 'backup', value: rate(times.backup), unit: 'MiB/s', note });
    report.row({ figure: 'restore, verified and staged', value: rate(times.restore), unit: 'MiB/s', note });
    if (!peer) return;
    const ratio = (ours: number[], theirs: number[]) => median(theirs) / median(ours);
    report.row({ figure: 'backup ÷ tar | zstd -1', value: ratio(times.backup, times.tar), unit: '1' });
    report.row({ figure: 'restore ÷ zstd -d | tar', value: ratio(times.restore, times.untar), unit: '1' });
  });
}

async function plant(tree: string): Promise<number> {
  await mkdir(join(tree, 'world/region'), { recursive: true });
  await mkdir(join(tree, 'config'));
  let bytes = 0;
  const write = async (name: string, content: Buffer) => {
    await writeFile(join(tree, name), content);
    bytes += content.length;
  };
  for (let n = 0; n < REGIONS; n++) {
    await write(`world/region/r.${n}.0.mca`, Buffer.concat([randomBytes(4 * MIB), Buffer.alloc(2 * MIB)]));
  }
  for (let n = 0; n < SMALL; n++) await write(`config/${n}.json`, Buffer.from(`{"n":${n}}`.repeat(100)));
  return bytes;
}

async function emptied(folder: string, name: string): Promise<string> {
  const path = join(folder, name);
  await rm(path, { recursive: true, force: true });
  await mkdir(path);
  return path;
}

async function shell(command: string): Promise<number> {
  const begun = performance.now();
  const child = spawn('sh', ['-c', command], { stdio: ['ignore', 'ignore', 'inherit'] });
  const [code] = (await once(child, 'exit')) as [number | null];
  if (code !== 0) throw new Error(`${command} ended with ${code}`);
  return performance.now() - begun;
}
