import { type Caller, type Placed, readPackList, removeUnchanged, stageDownload, writePlaced } from './files.ts';
import { MOD_LOADERS } from '../game/cores.ts';
import { createHash } from 'node:crypto';
import { unpack } from '../files/archives/read.ts';
import type { Folders } from '../files/files.ts';
import { SLUG } from '../game/modpack-env.ts';
import type { PackRef, PackSoftware } from '../game/settings.ts';
import { dataRoot } from '../jail/data-root.ts';
import { eachOf } from '../jail/descriptors.ts';
import { removeIfThere } from '../jail/if-there.ts';
import { type Jail, type Staging, openJail } from '../jail/jail.ts';
import { LOADER_FILE, guardOfName } from '../jail/secrets.ts';
import { withReserved } from '../jail/space.ts';
import { createKeyedMutex } from '../kernel/mutex.ts';
import { type RegistryFile, bytesWithin } from '../kernel/registry/http.ts';
import { StatusError } from '../kernel/status.ts';
import { GIB } from '../kernel/units.ts';
import type { WorkerPool } from '../kernel/workers/pool.ts';
import type { InstallPack, PackInstall } from '../servers/effect-host.ts';
import type { ServerRow } from '../servers/rows.ts';
import { worldsIn } from '../game/worlds.ts';
import { pick, versionsFor } from './choice.ts';
import { MAX_INDEX_BYTES, type PackIndex, invalid, packIndex, packPath } from './pack-index.ts';
import type { ModProject, ModRegistry, ModVersion } from './registries/registry.ts';

const LIST = '.dormouse-pack.json';
/** The downloaded pack in the server's folder: hidden from the owner, and removed after extraction. */
const ARCHIVE = '.dormouse-pack.mrpack';
const INDEX = 'modrinth.index.json';
const MAX_PACK_BYTES = 16 * GIB;
const OVERRIDES = ['overrides', 'server-overrides'];
const AT_ONCE = 4;

/**
 * Installs a server's pack if no image does. Files are downloaded and verified in a staging directory, and then replace
 * those of the earlier version. It can be interrupted anywhere and repeated. Rejects with StatusError:
 * MODPACK_NOT_FOUND, MODPACK_INVALID, MODPACK_UNSUPPORTED, or the errors of `ModRegistry` and of a disk reservation.
 */
export function createPackInstaller(
  { disk, dataDir, owner }: Folders,
  registries: readonly ModRegistry[],
  workers: WorkerPool,
): InstallPack {
  // The effects of a server wait for each other, but only for a while after an abort (`EffectPatience`). Two
  // installations must not overlap even then, because both store their archive at the same path.
  const withLock = createKeyedMutex();
  return (row, tracking) => withLock(row.id, () => install(row, tracking), tracking.signal);

  async function install(row: ServerRow, { signal, progress }: PackInstall): Promise<Partial<ServerRow>> {
    const registry = registryOf(registries, row.modpackPlatform);
    const { version } = await findPack(registry, row, signal);
    await using jail = await openJail(dataRoot(dataDir, row.id), { owner, secrets: 'open' });
    try {
      return await withReserved(disk, row.id, version.file.sizeBytes, async ({ grow, landed }) => {
        await fetchArchive(jail, registry, version.file, { signal, onBytes: landed });
        const caller = { tenant: row.accountId, signal };
        const index = await indexIn(jail, workers, caller);
        await using content = await jail.stage();
        const below = (folder: string, growing: (bytes: number) => Promise<void>) =>
          unpackBelow(jail, workers, { ...caller, below: `${folder}/` }, content, growing);
        const { bytes, sums } = await fill(content, registry, index, below, { signal, progress, grow, landed });
        const removedBytes = await put(jail, content, sums, await readPackList(jail, workers, caller));
        await writeLoader(jail, index);
        progress(100);
        const software = { type: index.type, version: index.minecraftVersion, modpackVersion: version.versionId };
        return { result: software, addedBytes: bytes - removedBytes };
      });
    } finally {
      await removeIfThere(jail, ARCHIVE);
    }
  }
}

async function fetchArchive(
  jail: Jail,
  registry: ModRegistry,
  file: RegistryFile,
  tracking: Parameters<typeof stageDownload>[4],
): Promise<void> {
  await using staging = await jail.stage();
  await stageDownload(registry, staging, ARCHIVE, file, tracking);
  await staging.mergeInto('');
}

/**
 * Stages all files of the pack, overrides last: `below` stages a folder of the archive. Returns their total size, and
 * the checksum of each file by path.
 */
async function fill(
  content: Staging,
  registry: ModRegistry,
  index: PackIndex,
  below: (folder: string, grow: (bytes: number) => Promise<void>) => Promise<Placed>,
  {
    signal,
    progress,
    grow,
    landed,
  }: PackInstall & { grow: (bytes: number) => Promise<void>; landed: (bytes: number) => void },
): Promise<{ bytes: number; sums: Placed }> {
  const total = index.files.reduce((sum, { file }) => sum + file.sizeBytes, 0);
  if (total > MAX_PACK_BYTES) throw invalid('is too large');
  await grow(total);
  let done = 0;
  const onBytes = (bytes: number) => {
    landed(bytes);
    progress(Math.min(99, Math.floor(((done += bytes) * 100) / (total || 1))));
  };
  await eachOf(index.files, AT_ONCE, async ({ path, file }) => {
    await stageDownload(registry, content, path, file, { signal, onBytes });
  });
  let unpacked = 0;
  const sums = new Map(index.files.map(({ path, file }) => [path, file.sha512]));
  for (const folder of OVERRIDES) {
    let last = 0;
    const laid = await below(folder, async (bytes) => {
      signal.throwIfAborted();
      // The previous piece has been written.
      landed(last);
      unpacked += last = bytes;
      await grow(bytes);
    });
    for (const [path, sum] of laid) sums.set(path, sum);
  }
  signal.throwIfAborted();
  return { bytes: total + unpacked, sums };
}

function registryOf(registries: readonly ModRegistry[], platform: string): ModRegistry {
  const found = registries.find(({ source }) => source === platform && source === 'modrinth');
  if (found) return found;
  const sentence = `Packs from ${platform} need the Docker engine, which this installation does not use.`;
  throw new StatusError('FAILED_PRECONDITION', 'MODPACK_UNSUPPORTED', sentence);
}

/** Returns the pack's version by id or number; otherwise the newest, for the row's Minecraft version if it has one. */
export async function findPack(
  registry: ModRegistry,
  { modpackRef, modpackVersion, version: minecraftVersion }: PackRef,
  signal: AbortSignal,
): Promise<{ project: ModProject; version: ModVersion }> {
  const project = await registry.project(modpackRef, signal, ['modpack']);
  if (project.kind !== 'modpack') {
    const sentence = `${project.title} is a ${project.kind}, not a mod pack.`;
    throw new StatusError('FAILED_PRECONDITION', 'MODPACK_INVALID', sentence);
  }
  const fit = modpackVersion === '' && minecraftVersion !== '' ? { minecraftVersion } : {};
  const version = pick(
    await versionsFor(registry, project.projectId, { spec: modpackVersion, fit }, signal),
    modpackVersion,
  );
  if (version) return { project, version };
  const which =
    modpackVersion !== '' ? ` "${modpackVersion}"` : minecraftVersion && ` for Minecraft ${minecraftVersion}`;
  throw new StatusError('NOT_FOUND', 'MODPACK_NOT_FOUND', `${project.title} has no version${which}.`);
}

/** Returns the fields that a pack's version sets in a server's row, as far as its registry knows them. */
export function softwareOfPack(
  project: ModProject,
  { versionId, loaders, minecraftVersions }: ModVersion,
): PackSoftware & PackRef {
  const type = MOD_LOADERS.findLast((loader) => loaders.includes(loader)) ?? 'vanilla';
  return {
    type,
    version: minecraftVersions.at(-1) ?? '',
    modpackRef: SLUG.test(project.slug) ? project.slug : project.projectId,
    modpackVersion: versionId,
  };
}

/** Records the pack's loader for the server's start. No other version is known to run the pack. */
async function writeLoader(jail: Jail, { type, minecraftVersion, loaderVersion }: PackIndex): Promise<void> {
  if (loaderVersion === '') return await removeIfThere(jail, LOADER_FILE);
  const made = { core: type, version: minecraftVersion, loader: loaderVersion };
  await using replacement = await jail.replace(LOADER_FILE);
  await replacement.write(Buffer.from(JSON.stringify(made)));
  await replacement.commit();
}

/** Reads the pack's index in a worker, because it is untrusted. */
async function indexIn(jail: Jail, workers: WorkerPool, caller: Caller): Promise<PackIndex> {
  const bytes = await indexBytes(jail, workers, caller);
  const files: PackIndex['files'][number][] = [];
  let index: PackIndex | undefined;
  try {
    for await (const piece of workers.stream(packIndex, bytes, { ...caller, brief: true })) {
      index ??= piece;
      files.push(...piece.files);
    }
  } catch (error) {
    if (error instanceof StatusError && error.reason === 'WORK_TOO_LARGE') throw invalid('has an invalid index', error);
    throw error;
  }
  return { ...index!, files };
}

async function indexBytes(jail: Jail, workers: WorkerPool, caller: Caller): Promise<Buffer> {
  await using archive = await jail.open(ARCHIVE);
  for await (const { path, content } of unpack(archive, workers, { ...caller, below: INDEX })) {
    if (path !== INDEX) continue;
    const tooLarge = () => invalid('has an index that is too large');
    return await bytesWithin(MAX_INDEX_BYTES, content, tooLarge);
  }
  throw invalid(`has no ${INDEX}`);
}

/** Stages the files below one folder of the archive as if it were the server's root. Returns the checksum of each. */
async function unpackBelow(
  jail: Jail,
  workers: WorkerPool,
  reading: Caller & { below: string },
  staging: Staging,
  grow: (bytes: number) => Promise<void>,
): Promise<Placed> {
  const sums = new Map<string, string>();
  await using archive = await jail.open(ARCHIVE);
  for await (const { path, kind, content } of unpack(archive, workers, reading)) {
    if (kind !== 'file') continue;
    const safe = packPath(path.slice(reading.below.length));
    if (safe === undefined) throw invalid('contains a path outside the server');
    // Skip files that the image's scripts would run.
    if (guardOfName(safe) === 'readOnly') continue;
    await using out = await staging.create(safe);
    const hash = createHash('sha512');
    let position = 0;
    for await (const chunk of content) {
      await grow(chunk.length);
      await out.write(position, chunk);
      hash.update(chunk);
      position += chunk.length;
    }
    sums.set(safe, hash.digest('hex'));
  }
  return sums;
}

/**
 * Puts the pack's files in place and returns the size of the removed ones. Files of the earlier version stay listed
 * until they are removed. Files changed since stay, and so do worlds, which belong to their players.
 */
async function put(jail: Jail, content: Staging, after: Placed, before: Placed): Promise<number> {
  const worlds = new Set((await worldsIn(jail, '')).flatMap(({ folders }) => folders));
  const isLand = (path: string) => worlds.has(path.split('/')[0] ?? '') && path.split('/')[1] !== 'datapacks';
  await writePlaced(jail, LIST, new Map([...before, ...after]));
  let removedBytes = await content.mergeInto('');
  for (const [path, sum] of before) {
    if (after.has(path) || packPath(path) === undefined || isLand(path)) continue;
    removedBytes += await removeUnchanged(jail, path, sum);
  }
  await writePlaced(jail, LIST, after);
  return removedBytes;
}
