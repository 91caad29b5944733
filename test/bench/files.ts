import { type ChildProcess, spawnSync } from 'node:child_process';
import { linkSync, mkdirSync, truncateSync, writeFileSync } from 'node:fs';
import { Agent, get } from 'node:http';
import { join } from 'node:path';
import { cpuMs, pinningNote, startChild } from './children.ts';
import { inFolder } from './control.ts';
import { type Report, median } from './figures.ts';
import { freePort, opens } from './ports.ts';
import { longestTurn, prepareService, startService, watchedTurns } from './service.ts';

const ROUNDS = 5;
const ENTRIES = 10_000;
const MANY_ENTRIES = 200_000;
const FILE_BYTES = 256 * 2 ** 20;
const GIB = 2 ** 30;

/** A server of the same files: its paths, and the measurements. */
interface Target {
  child: ChildProcess;
  port: number;
  list: string;
  download: string;
  headers: Record<string, string>;
  listMs: number[];
  listCpuMs: number[];
  secondsPerGib: number[];
  gibPerSecond: number[];
}

/** Measures listing a directory and downloading a large file, beside nginx on the same files if it is installed. */
export async function run({ row, progress }: Report): Promise<void> {
  await inFolder(async (folder) => {
    const [key = ''] = await prepareService(folder, { servers: 1, keys: 1 });
    const root = join(folder, 'servers/server-0');
    mkdirSync(join(root, 'many'), { recursive: true });
    for (let entry = 0; entry < ENTRIES; entry++) writeFileSync(join(root, 'many', `r.${entry}.0.mca`), 'x');
    writeFileSync(join(root, 'large'), '');
    truncateSync(join(root, 'large'), FILE_BYTES);
    const service = await startService(0, folder, watchedTurns(folder));
    const hasPeer = spawnSync('nginx', ['-v']).status === 0;
    const path = '/v1/servers/server-0';
    const own = target(service.child, service.httpPort, {
      list: `${path}/files?path=many`,
      download: `${path}/file:download?path=large`,
      headers: { 'x-api-key': key },
    });
    const peer = hasPeer ? await startNginx(folder, root) : undefined;
    try {
      for (let round = 0; round <= ROUNDS; round++) {
        progress(`round ${round} of ${ROUNDS}`);
        for (const each of peer ? [own, peer] : [own]) await measure(each);
      }
      progress(`${MANY_ENTRIES} files`);
      fill(join(root, 'more'));
      await longestTurn(service, folder);
      await fetched(own, `${path}/files?path=more`);
      const value = await longestTurn(service, folder);
      row({ figure: `longest turn while ${MANY_ENTRIES} files are listed`, value, unit: 'ms' });
    } finally {
      peer?.child.kill();
      await service.stop();
    }
    const note = [`median of ${ROUNDS} rounds`, pinningNote, hasPeer ? '' : 'nginx is not installed: no ratios'];
    rows('', own, note.filter(Boolean).join('; '));
    if (!peer) return;
    rows('nginx: ', peer);
    row({ figure: 'listing ÷ nginx, CPU', value: of(own, 'listCpuMs') / of(peer, 'listCpuMs'), unit: '1' });
    row({ figure: 'download ÷ nginx, CPU', value: of(own, 'secondsPerGib') / of(peer, 'secondsPerGib'), unit: '1' });
  });

  function rows(who: string, measured: Target, note?: string): void {
    row({ figure: `${who}list ${ENTRIES} files`, value: of(measured, 'listMs'), unit: 'ms', note });
    row({ figure: `${who}list ${ENTRIES} files, CPU`, value: of(measured, 'listCpuMs'), unit: 'ms' });
    row({ figure: `${who}download, CPU per GiB`, value: of(measured, 'secondsPerGib'), unit: 's' });
    row({ figure: `${who}download, one stream`, value: of(measured, 'gibPerSecond'), unit: 'GiB/s' });
  }
}

/**
 * Fills a new directory with hard links to few files, which is quick. Most file systems allow 65 000 links to a file.
 */
function fill(directory: string): void {
  mkdirSync(directory);
  for (let nth = 0; nth < MANY_ENTRIES; nth++) {
    const file = join(directory, `r.${nth}.0.mca`);
    if (nth % 25_000 === 0) writeFileSync(file, 'x');
    else linkSync(join(directory, `r.${nth - (nth % 25_000)}.0.mca`), file);
  }
}

/** Returns the median without the first round, which only warms up. */
function of(target: Target, figure: 'listMs' | 'listCpuMs' | 'secondsPerGib' | 'gibPerSecond'): number {
  return median(target[figure].slice(1));
}

function target(child: ChildProcess, port: number, where: Pick<Target, 'list' | 'download' | 'headers'>): Target {
  return { child, port, ...where, listMs: [], listCpuMs: [], secondsPerGib: [], gibPerSecond: [] };
}

async function measure(target: Target): Promise<void> {
  const timed = async (path: string) => {
    const [cpu, begun] = [cpuMs(target.child), performance.now()];
    const bytes = await fetched(target, path);
    return { bytes, ms: performance.now() - begun, cpu: cpuMs(target.child) - cpu };
  };
  // CPU time is counted in hundredths of a second, so one listing says little.
  const times = 5;
  const listed = { ms: 0, cpu: 0 };
  for (let time = 0; time < times; time++) {
    const { ms, cpu } = await timed(target.list);
    listed.ms += ms / times;
    listed.cpu += cpu / times;
  }
  target.listMs.push(listed.ms);
  target.listCpuMs.push(listed.cpu);
  const { bytes, ms, cpu } = await timed(target.download);
  if (bytes !== FILE_BYTES) throw new Error(`${bytes} bytes came, of ${FILE_BYTES}`);
  target.secondsPerGib.push((cpu / 1_000 / bytes) * GIB);
  target.gibPerSecond.push(bytes / GIB / (ms / 1_000));
}

const agent = new Agent({ keepAlive: true });

/** Resolves with the number of bytes in an answer. Discards the bytes. */
function fetched({ port, headers }: Target, path: string): Promise<number> {
  return new Promise((resolve, reject) => {
    get({ host: '127.0.0.1', port, path, headers, agent }, (answer) => {
      let bytes = 0;
      if (answer.statusCode !== 200) reject(new Error(`${path} was answered with ${answer.statusCode}`));
      answer.on('data', (chunk: Buffer) => (bytes += chunk.length)).on('error', reject);
      answer.on('end', () => resolve(bytes));
    }).on('error', reject);
  });
}

async function startNginx(folder: string, root: string): Promise<Target> {
  const port = await freePort();
  const config = join(folder, 'nginx.conf');
  const temps = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (kind) => `${kind}_temp_path ${folder}/${kind};`,
  );
  const server = `server { listen 127.0.0.1:${port}; root ${root}; autoindex on; autoindex_format json; }`;
  const http = `http { access_log off; sendfile on; ${temps.join(' ')} ${server} }`;
  writeFileSync(
    config,
    `daemon off; master_process off; pid ${folder}/nginx.pid; error_log stderr crit; events {} ${http}`,
  );
  const child = startChild(0, 'nginx', ['-c', config, '-e', 'stderr']);
  if (!(await opens(port))) throw new Error('nginx does not start');
  return target(child, port, { list: '/many/', download: '/large', headers: {} });
}
