import { readFile, readdir } from 'node:fs/promises';

interface RunningGame {
  pid: number;
  serverId: string;
  /** The token of its run. */
  run: string;
}

/** Returns the sandbox games of a service that run as processes of this machine. */
export async function runningGames({ dataDir }: { dataDir: string }): Promise<RunningGame[]> {
  const found: RunningGame[] = [];
  for (const entry of await readdir('/proc')) {
    if (!/^\d+$/.test(entry)) continue;
    const [environment, command] = await Promise.all([
      readFile(`/proc/${entry}/environ`, 'utf8').catch(() => ''),
      readFile(`/proc/${entry}/cmdline`, 'utf8').catch(() => ''),
    ]);
    // A process that only confines a game is not a game.
    if (command.startsWith('bwrap\0')) continue;
    const serverId = /(?:^|\0)DORMOUSE_SERVER=([^\0]*)/.exec(environment)?.[1];
    const run = /(?:^|\0)DORMOUSE_RUN=([^\0]*)/.exec(environment)?.[1] ?? '';
    if (serverId === undefined || !command.includes('sandbox/main.ts') || !environment.includes(dataDir)) continue;
    found.push({ pid: Number(entry), serverId, run });
  }
  return found;
}
