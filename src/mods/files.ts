import { removeIfThere, sizeIfThere } from '../jail/if-there.ts';
import type { Jail, Staging } from '../jail/jail.ts';
import { type Disk, withReserved } from '../jail/space.ts';
import type { RegistryFile } from '../kernel/registry/http.ts';
import { StatusError } from '../kernel/status.ts';
import { isModPath } from './folders.ts';
import { type Placed, readPlaced, writePlaced } from './placed-files.ts';
import type { ModRegistry } from './registries/registry.ts';
import type { ServerModRow } from './rows.ts';

const LIST = '.dormouse-mods.json';

/** A file for a server's folder. */
export interface Placing {
  serverId: string;
  jail: Jail;
  rows: readonly ServerModRow[];
  disk: Disk;
  registry: (source: string) => ModRegistry;
  signal: AbortSignal;
  /**
   * Called when all missing files are downloaded, before the first change, with the function that puts them in place.
   * If it rejects before calling that function, the folder is unchanged. Absent: the choice of mods is already stored.
   */
  decide?: (put: () => Promise<void>) => Promise<void>;
}

/**
 * Makes the folder contain the files of these mods, and no files placed for others. Only files placed by this service
 * are replaced or removed. Rejects with FAILED_PRECONDITION MOD_FILE_EXISTS if another file is in the way; if the
 * choice is already stored, that file stays. An interrupted call is completed by the next one.
 */
export async function placeMods(placing: Placing): Promise<void> {
  const { serverId, jail, rows, disk, registry, signal, decide } = placing;
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
