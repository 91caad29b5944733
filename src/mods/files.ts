import { createHash } from 'node:crypto';
import { openIfThere, removeIfThere, sizeIfThere, textIfThere } from '../jail/if-there.ts';
import type { Jail, Staging } from '../jail/jail.ts';
import type { LISTS } from '../jail/secrets.ts';
import { type Disk, withReserved } from '../jail/space.ts';
import type { RegistryFile } from '../kernel/registry/http.ts';
import { StatusError } from '../kernel/status.ts';
import type { WorkerPool } from '../kernel/workers/pool.ts';
import { isModPath } from './choice.ts';
import { invalid } from './pack-index.ts';
import { LIST_LIMITS, listFrom, listText, packList } from './placed-list.ts';
import type { ModRegistry } from './registries/registry.ts';
import type { ServerModRow } from './rows.ts';

const LIST = '.dormouse-mods.json';

/**
 * Makes the folder contain the files of these mods, and no files placed for others. Only files placed by this service
 * are replaced or removed. Rejects with FAILED_PRECONDITION MOD_FILE_EXISTS if another file is in the way; if the
 * choice is already stored, that file stays. An interrupted call is completed by the next one.
 */
export async function placeMods(
  jail: Jail,
  serverId: string,
  rows: readonly ServerModRow[],
  {
    disk,
    registry,
    signal,
    decide,
  }: {
    disk: Disk;
    registry: (source: string) => ModRegistry;
    signal: AbortSignal;
    /**
     * Called when all missing files are downloaded, before the first change, with the function that puts them in place.
     * If it rejects before calling that function, the folder is unchanged. Absent: the choice of mods is already stored.
     */
    decide?: (put: () => Promise<void>) => Promise<void>;
  },
): Promise<void> {
  const placed = await readPlaced(jail, LIST);
  const missing: ServerModRow[] = [];
  for (const row of rows) if (await isMissing(jail, row, placed, decide !== undefined)) missing.push(row);
  if (missing.length === 0 && leftover(placed, rows).length === 0) return await decide?.(async () => {});

  const bytes = missing.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  await withReserved(disk, serverId, bytes, async ({ landed }) => {
    await using staging = await jail.stage();
    const tracking = { signal, onBytes: landed };
    for (const row of missing) await stageDownload(registry(row.source), staging, row.path, fileOf(row), tracking);
    signal.throwIfAborted();
    let removedBytes = 0;
    const put = async () => void (removedBytes = await change(jail, staging, rows, missing));
    await (decide ? decide(put) : put());
    return { result: undefined, addedBytes: bytes - removedBytes };
  });
}

/**
 * Lists new files before writing them, without their checksum, so that the next call knows that they are ours and may
 * be incomplete.
 */
async function change(
  jail: Jail,
  staging: Staging,
  rows: readonly ServerModRow[],
  missing: readonly ServerModRow[],
): Promise<number> {
  const placed = await readPlaced(jail, LIST);
  await writePlaced(jail, LIST, new Map([...placed, ...missing.map(({ path }) => [path, ''] as const)]));
  let removedBytes = await staging.mergeInto('');
  for (const path of leftover(placed, rows)) {
    removedBytes += (await sizeIfThere(jail, path)) ?? 0;
    await removeIfThere(jail, path);
  }
  const ours = rows.filter((row) => missing.includes(row) || placed.get(row.path) === sumOf(row));
  await writePlaced(jail, LIST, new Map(ours.map((row) => [row.path, sumOf(row)])));
  return removedBytes;
}

/** Returns files placed for mods that the server no longer has. */
function leftover(placed: Placed, rows: readonly ServerModRow[]): string[] {
  return [...placed.keys()].filter((path) => isModPath(path) && !rows.some((row) => row.path === path));
}

async function isMissing(jail: Jail, row: ServerModRow, placed: Placed, strict: boolean): Promise<boolean> {
  const there = await sizeIfThere(jail, row.path);
  if (there === undefined) return true;
  const known = placed.get(row.path);
  if (known !== undefined) return known !== sumOf(row);
  if (!strict) return false;
  const sentence = `The file ${row.path} already exists, and this service did not add it. Delete or rename it first.`;
  throw new StatusError('FAILED_PRECONDITION', 'MOD_FILE_EXISTS', sentence, { metadata: { path: row.path } });
}

function sumOf({ sha512, sha1 }: ServerModRow): string {
  return sha512 || sha1;
}

function fileOf({ path, urls, sizeBytes, sha512, sha1 }: ServerModRow): RegistryFile {
  return { name: path.split('/').at(-1) ?? path, urls: JSON.parse(urls) as string[], sizeBytes, sha512, sha1 };
}

const TRIES = 3;
/** Failures worth a retry. For an unreachable registry, its adapter has already retried. */
const AGAIN = new Set(['DOWNLOAD_BROKEN', 'CHECKSUM_MISMATCH']);

/**
 * Downloads a file to staging. Once this resolves, the file is complete and has the registry's checksum. `onBytes` is
 * called for each piece. Rejects like `ModRegistry.download`.
 */
export async function stageDownload(
  registry: ModRegistry,
  staging: Staging,
  path: string,
  file: RegistryFile,
  { signal, onBytes = () => {} }: { signal: AbortSignal; onBytes?: (bytes: number) => void },
): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      await using out = await staging.create(path);
      let position = 0;
      for await (const chunk of registry.download(file, signal)) {
        await out.write(position, chunk);
        position += chunk.length;
        onBytes(chunk.length);
      }
      return;
    } catch (error) {
      signal.throwIfAborted();
      if (tries === TRIES || !(error instanceof StatusError && AGAIN.has(error.reason))) throw error;
    }
  }
}

/** The account that work in a worker is for, and the signal that ends it. */
export interface Caller {
  tenant: string;
  signal: AbortSignal;
}

/** Files that this service has put into a server's folder: path → checksum in hex, or '' for one not yet in place. */
export type Placed = ReadonlyMap<string, string>;

/** The list of individually added mods, or that of a pack. Hidden from owners and included in their backups. */
export type PlacedList = Extract<(typeof LISTS)[number], '.dormouse-mods.json' | '.dormouse-pack.json'>;

/**
 * Reads the list of mods. It is stored with the files it lists, so that both are restored together. A game may write to
 * it: an unreadable list counts as empty, and the caller checks its content.
 */
export async function readPlaced(jail: Jail, list: '.dormouse-mods.json'): Promise<Placed> {
  const { bytes, files } = LIST_LIMITS[list];
  return new Map(listFrom((await textIfThere(jail, list, bytes)) ?? '', files));
}

/** Reads the list of a pack in a worker, because it may be long. Rejects if the pool is full. */
export async function readPackList(jail: Jail, workers: WorkerPool, { tenant, signal }: Caller): Promise<Placed> {
  const placed = new Map<string, string>();
  await using list = await openIfThere(() => jail.open('.dormouse-pack.json'));
  if (list?.descriptor === undefined) return placed;
  const reading = { tenant, signal, files: [list.descriptor], brief: true };
  try {
    for await (const piece of workers.stream(packList, null, reading))
      for (const [path, sum] of piece) placed.set(path, sum);
  } catch (error) {
    // The list that this service writes is never that large. A list written by a game is ignored.
    if (!(error instanceof StatusError) || error.reason !== 'WORK_TOO_LARGE') throw error;
    placed.clear();
  }
  return placed;
}

/**
 * Writes a list; an empty one is removed. Throws FAILED_PRECONDITION MODPACK_INVALID if it could not be read back,
 * which can only happen to a pack's; the previous list then stays.
 */
export async function writePlaced(jail: Jail, list: PlacedList, placed: Placed): Promise<void> {
  if (placed.size === 0) return await removeIfThere(jail, list);
  const content = Buffer.from(listText(placed));
  const { bytes, files } = LIST_LIMITS[list];
  if (content.length > bytes || placed.size > files) throw invalid('has too many files to track');
  await using replacement = await jail.replace(list);
  await replacement.write(content);
  await replacement.commit();
}

/** Removes a file if it still has this checksum (SHA-512), and returns its size. Any other file stays. */
export async function removeUnchanged(jail: Jail, path: string, sum: string): Promise<number> {
  const sizeBytes = await sizeIfThere(jail, path);
  if (sizeBytes === undefined) return 0;
  const hash = createHash('sha512');
  {
    await using file = await jail.open(path);
    for await (const chunk of file.stream({ keepOpen: true })) hash.update(chunk as Buffer);
  }
  if (hash.digest('hex') !== sum.toLowerCase()) return 0;
  await removeIfThere(jail, path);
  return sizeBytes;
}
