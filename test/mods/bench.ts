import { readdir } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type ExecutionContext } from 'ava';
import { type Disk, unlimitedDisk } from '../../src/jail/space.ts';
import { Mods } from '../../src/mods/mods.ts';
import { createPackInstaller } from '../../src/mods/packs.ts';
import { createKeyedMutex } from '../../src/kernel/mutex.ts';
import { createWorkerPool } from '../../src/kernel/workers/pool.ts';
import { openModRegistries } from '../../src/mods/open.ts';
import type { ServerNow } from '../../src/servers/server-now.ts';
import { type ApiTestOptions, type ApiUnderTest, api } from '../support/api-harness.ts';
import { type Modrinth, modrinth } from '../support/modrinth.ts';
import type { World, WorldOptions } from '../support/world.ts';

export interface Bench extends ApiUnderTest {
  registry: Modrinth;
  mods: () => Mods;
  /** Lists the names in a folder of the server. */
  dir: (folder: string) => Promise<string[]>;
  file: (path: string) => string;
  refused: (path: string, body: object) => Promise<string>;
}

/** Options of a service with a local Modrinth as its registry. `byImage`: the game image installs packs. */
export async function modService(
  t: ExecutionContext,
  disk: Disk = unlimitedDisk,
  byImage = false,
): Promise<{ registry: Modrinth; mods: () => Mods; options: ApiTestOptions }> {
  const registry = await modrinth(t);
  let opened: Mods | undefined;
  const mods = () => opened!;
  const content: WorldOptions['content'] = ({ store, clock, dataDir, lock }) => {
    const settings = { modrinthUrl: registry.url, curseforgeUrl: registry.url, curseforgeApiKey: '' };
    const registries = openModRegistries(settings, clock);
    const folders = { dataDir, owner: undefined, disk, lock };
    opened = new Mods(store, folders, registries, createKeyedMutex());
    const installPack = createPackInstaller(folders, registries, createWorkerPool());
    return byImage ? { mods: opened } : { mods: opened, installPack };
  };
  return { registry, mods, options: { world: { content }, mods } };
}

/** Like `reach`, but leaves real time for downloads, which the fake clock does not speed up. */
export async function reachSlowly(it: World, id: string, state: string): Promise<ServerNow | undefined> {
  for (const end = Date.now() + 120_000; Date.now() < end; await delay(5)) {
    const now = await it.servers.get(id);
    if ((now?.state ?? 'gone') === state) return now;
    await it.clock.advance(50);
  }
  throw new Error(`${id} is not ${state}, but ${JSON.stringify(await it.servers.get(id))}`);
}

/** A server `abc` on a service with a local Modrinth as its registry. `byImage`: the game image installs packs. */
export async function bench(
  t: ExecutionContext,
  fields: object = { type: 'fabric', version: '1.21.1' },
  disk: Disk = unlimitedDisk,
  byImage = false,
): Promise<Bench> {
  const { registry, mods, options } = await modService(t, disk, byImage);
  const it = await api(t, options);
  await it.create('abc', fields);
  const file = (path: string) => join(it.dataDir, 'servers', 'abc', path);
  return {
    ...it,
    // A request to the registry that is repeated, such as after a lost connection, waits by the clock.
    ok: (...given) => it.during(it.ok(...given)),
    reach: (id, state) => reachSlowly(it, id, state),
    registry,
    file,
    mods,
    dir: async (folder) => (await readdir(file(folder)).catch(() => [])).toSorted((a, b) => (a < b ? -1 : 1)),
    refused: async (path, body) => {
      const { json, reason } = await it.during(it.call('POST', `/v1/servers/abc${path}`, { body }));
      return `${reason}: ${String(json['message'])}`;
    },
  };
}

export const status =
  (code: number, headers: Record<string, string> = {}) =>
  (reply: ServerResponse) =>
    void reply.writeHead(code, headers).end();

export async function listed({ ok }: ApiUnderTest): Promise<string[]> {
  const { mods } = (await ok('GET', '/v1/servers/abc/mods')) as { mods: Record<string, unknown>[] };
  return mods.map(
    (mod) => `${String(mod['projectId'])} ${String(mod['version'])}${mod['dependency'] ? ' dependency' : ''}`,
  );
}
