import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type ExecutionContext } from 'ava';
import { createFreeDisk } from '../../src/disk/free.ts';
import { systemClock } from '../../src/kernel/system-clock.ts';
import { type ApiUnderTest, api } from '../support/api-harness.ts';
import { plant } from '../support/tree.ts';

export interface Shown {
  id: string;
  serverId: string;
  state: string;
  kind: string;
  error: string;
  note: string;
  sizeBytes: string;
  addedBytes: string;
  locked: boolean;
  offSite: boolean;
  awaitingOffSite: boolean;
  version: string;
}

export const WORLD = {
  'world/level.dat': 'level',
  'world/region/r.0.0.mca': Buffer.alloc(300_000, 7),
  'ops.json': '[]',
};

export const rootOf = (it: ApiUnderTest, id: string) => join(it.dataDir, 'servers', id);

export const archiveOf = (it: ApiUnderTest, id: string, backup: string) =>
  join(it.dataDir, 'backups', id, `${backup}.tar.zst`);
export const filesOf = (it: ApiUnderTest, id: string) => readdir(join(it.dataDir, 'backups', id)).catch(() => []);

export async function backupsOf({ ok }: ApiUnderTest, id: string): Promise<Shown[]> {
  return (await ok('GET', `/v1/servers/${id}/backups`))['backups'] as Shown[];
}

export async function find(it: ApiUnderTest, id: string, backup: string): Promise<Shown | undefined> {
  return (await backupsOf(it, id)).find((each) => each.id === backup);
}

/** Waits until a backup is ready or has failed. */
export async function ended(it: ApiUnderTest, id: string, backup: string): Promise<Shown> {
  await it.until(async () => ['ready', 'failed'].includes((await find(it, id, backup))?.state ?? ''));
  return (await find(it, id, backup))!;
}

export async function backUp(it: ApiUnderTest, id: string): Promise<Shown> {
  const made = await ended(it, id, (await it.ok('POST', `/v1/servers/${id}/backups`))['id'] as string);
  if (made.state !== 'ready') throw new Error(made.error);
  return made;
}

export async function sleeping(t: ExecutionContext, options: Parameters<typeof api>[1] = {}): Promise<ApiUnderTest> {
  const it = await api(t, options);
  await it.create('lobby');
  await plant(rootOf(it, 'lobby'), WORLD);
  return it;
}

export async function running(t: ExecutionContext, options: Parameters<typeof api>[1] = {}): Promise<ApiUnderTest> {
  const it = await sleeping(t, options);
  await it.command('lobby', 'START');
  await it.reach('lobby', 'running');
  it.games.commands.length = 0;
  return it;
}

/** Delays the answers of games to a command until `go` is called. `asked` returns whether the command was sent. */
export function hold(it: ApiUnderTest, command: string): { asked: () => boolean; go: () => void } {
  const answer = it.games.run.bind(it.games);
  const { promise, resolve } = Promise.withResolvers<void>();
  let asked = false;
  it.games.run = async (address, password, given) => {
    if (given === command) {
      asked = true;
      await promise;
    }
    return answer(address, password, given);
  };
  return { asked: () => asked, go: resolve };
}

export const leaving = (leastFreeBytes: number) => createFreeDisk(systemClock, leastFreeBytes);

export const restore = (it: ApiUnderTest, backup: string) =>
  it.call('POST', `/v1/servers/lobby/backups/${backup}:restore`);
