import { join } from 'node:path';
import { readIfThere, writeAtomic } from '../../kernel/atomic-file.ts';
import { type ProcessIdentity, isAlive, thisProcess } from '../../kernel/process-identity.ts';

/** Returns the folder in which the next service finds the proxy this one started. */
export function childFolder(dataDir: string): string {
  return join(dataDir, 'proxy');
}

/** Returns the recorded proxy process if it still runs and belongs to this user. */
export async function livingChild(dataDir: string): Promise<ProcessIdentity | undefined> {
  const bytes = await readIfThere(fileIn(dataDir));
  if (bytes === undefined) return undefined;
  const noted = parse(bytes.toString());
  if (!noted || !isOurs(noted.pid)) return undefined;
  // A process that is not visible from here, as in another container, belongs to another machine.
  return (await isAlive(noted, await thisProcess())) === true ? noted : undefined;
}

/** Records the proxy for the next service. The folder must exist. */
export async function noteChild(dataDir: string, child: ProcessIdentity): Promise<void> {
  await writeAtomic(fileIn(dataDir), `${JSON.stringify(child)}\n`);
}

/** Makes the recorded proxy accept no new players and end with its last one. Returns false if none runs. */
export async function drainChild(dataDir: string): Promise<boolean> {
  const child = await livingChild(dataDir);
  if (child) process.kill(child.pid, 'SIGTERM');
  return child !== undefined;
}

function fileIn(dataDir: string): string {
  return join(childFolder(dataDir), 'proxy.json');
}

/** Whether the process belongs to this user. Others cannot be signalled, and share no port with ours. */
function isOurs(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

function parse(json: string): ProcessIdentity | undefined {
  try {
    const { hostname, scope, pid, startedAt } = JSON.parse(json) as Partial<ProcessIdentity>;
    if (typeof pid !== 'number' || pid < 2 || !Number.isSafeInteger(pid)) return undefined;
    return { hostname: String(hostname), scope: String(scope), pid, startedAt: String(startedAt) };
  } catch {
    return undefined;
  }
}
