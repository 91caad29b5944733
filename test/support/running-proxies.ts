import { readFile, readdir } from 'node:fs/promises';
import { endProcess } from './end-process.ts';

/** Returns the process ids of the proxies that a service has started as separate processes. */
export async function runningProxies({ dataDir }: { dataDir: string }): Promise<number[]> {
  const found: number[] = [];
  for (const entry of await readdir('/proc')) {
    if (!/^\d+$/.test(entry)) continue;
    const environment = await readFile(`/proc/${entry}/environ`, 'utf8').catch(() => '');
    if (environment.includes(`PROXY_LINK=${dataDir}/`)) found.push(Number(entry));
  }
  return found;
}

/** Kills these proxies, even with joined players. Resolves when they have ended. */
export async function endProxies(of: { dataDir: string }): Promise<void> {
  for (let pids = await runningProxies(of); pids.length > 0; pids = await runningProxies(of)) {
    for (const pid of pids) endProcess(pid);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
