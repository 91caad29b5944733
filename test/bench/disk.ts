import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { measureTree } from '../../src/disk/walk.ts';
import { type Bench, median } from './figures.ts';

const FOLDERS = 200;
const FILES_EACH = 100;
const ROUNDS = 5;

/**
 * Measures the walk that sizes the files of a large server, beside `du` on the same folder, both from the kernel's
 * cache.
 */
export const run: Bench = async ({ row, progress }) => {
  const dir = await mkdtemp(join(tmpdir(), 'dormouse-disk-'));
  try {
    const files = FOLDERS * FILES_EACH;
    progress(`making ${files} files`);
    for (let folder = 0; folder < FOLDERS; folder++) {
      await mkdir(join(dir, `${folder}`));
      const names = Array.from({ length: FILES_EACH }, (_, nth) => join(dir, `${folder}`, `${nth}`));
      await Promise.all(names.map((name) => writeFile(name, 'x')));
    }
    const [wallMs, cpuMs, duMs]: [number[], number[], number[]] = [[], [], []];
    for (let round = 0; round < ROUNDS; round++) {
      const [began, cpu] = [performance.now(), process.cpuUsage()];
      await measureTree(dir, AbortSignal.timeout(60_000));
      const { user, system } = process.cpuUsage(cpu);
      wallMs.push(performance.now() - began);
      cpuMs.push((user + system) / 1_000);
      const duBegan = performance.now();
      execFileSync('du', ['-s', dir]);
      duMs.push(performance.now() - duBegan);
    }
    const note = 'pausing half of the time, so that others have the disk';
    row({ figure: `Measuring a server of ${files} files`, value: median(wallMs), unit: 'ms', note });
    row({ figure: 'CPU of it', value: median(cpuMs), unit: 'ms' });
    row({ figure: 'The same by du, without pauses', value: median(duMs), unit: 'ms' });
    row({ figure: 'CPU per file', value: (median(cpuMs) / files) * 1_000, unit: 'µs' });
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
};
