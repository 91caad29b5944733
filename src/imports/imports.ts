import { type FileHandle, mkdir, open, readdir, rename } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { auditActorOf, recordAudit } from '../audit/audit.ts';
import { noteBuild } from '../game/installed-build.ts';
import type { Principal } from '../http/principal.ts';
import type { Upload } from '../http/serve.ts';
import type { Disks } from '../disk/disks.ts';
import { stageEntry, unpack } from '../files/archives/read.ts';
import { isWorldName } from '../game/worlds.ts';
import type { Folders } from '../files/files.ts';
import { exists } from '../backups/files.ts';
import { dataRoot } from '../jail/data-root.ts';
import { type JailFile, openJail } from '../jail/jail.ts';
import { removeTree } from '../jail/remove-tree.ts';
import { createFolder } from '../jail/server-folder.ts';
import { patiently } from '../jail/patience.ts';
import { readIfThere, writeAtomic } from '../kernel/atomic-file.ts';
import { every } from '../kernel/every.ts';
import { randomBase62 } from '../kernel/ids.ts';
import { ignore } from '../kernel/ignore.ts';
import { createKeyedMutex } from '../kernel/mutex.ts';
import { StatusError, quotaExceeded } from '../kernel/status.ts';
import { DAY_MS, HOUR_MS, MIB } from '../kernel/units.ts';
import type { WorkerPool } from '../kernel/workers/pool.ts';
import type { CompleteRequest, Creation } from '../servers/creation.ts';
import { serverExists } from '../servers/rows.ts';
import type { ServerNow } from '../servers/server-now.ts';
import type { Shared } from '../servers/shared.ts';
import { type Findings, type ImportFile, clueBytes, findingsOf, placeOf, withoutDot } from './findings.ts';

/** An uploaded archive with the server found in it. */
export interface Import {
  id: string;
  accountId: string;
  /** The archive's name without its ending. */
  name: string;
  createdAt: number;
  sizeBytes: number;
  findings: Findings;
  /** The server whose folder the files are becoming, or ''. */
  serverId: string;
}

const MOST_PER_ACCOUNT = 3;
/** How long an import stays. */
export const EXPIRES_MS = DAY_MS;
/** Limit of the clues of an archive, all together. Those of real servers have less than a megabyte. */
const MAX_CLUES_BYTES = 16 * MIB;
const RECORD = 'import.json';
const ARCHIVE = 'archive';

/**
 * Uploaded archives that become servers: staged in `DATA_DIR/imports/<id>`, at most 3 per account, for 24 hours. Their
 * bytes count towards the account's disk limit. A process killed while a server is created leaves either no server, or
 * the server with all files.
 */
export class Imports {
  readonly #shared: Shared;
  readonly #folders: Folders;
  readonly #disks: Disks;
  readonly #workers: WorkerPool;
  readonly #creation: Creation;
  readonly #imports = new Map<string, Import>();
  /** Releases the account's bytes of each import. */
  readonly #holds = new Map<string, () => void>();
  /** Uploads in progress, by account. */
  readonly #uploading = new Map<string, number>();
  readonly #withLock = createKeyedMutex();

  private constructor(shared: Shared, folders: Folders, disks: Disks, workers: WorkerPool, creation: Creation) {
    this.#shared = shared;
    this.#folders = folders;
    this.#disks = disks;
    this.#workers = workers;
    this.#creation = creation;
  }

  /** Finds the imports of an earlier process, and undoes or completes what it was doing. */
  static async open(
    shared: Shared,
    folders: Folders,
    disks: Disks,
    workers: WorkerPool,
    creation: Creation,
  ): Promise<Imports> {
    const imports = new Imports(shared, folders, disks, workers, creation);
    const ids = await readdir(join(folders.dataDir, 'imports')).catch(ignore('ENOENT'));
    for (const id of ids ?? []) await imports.#restore(id);
    shared.onClose(every(shared.clock, HOUR_MS, () => void imports.#expire()));
    return imports;
  }

  /**
   * Stages an archive, and finds the server in it. Rejects with RESOURCE_EXHAUSTED TOO_MANY_IMPORTS,
   * ACCOUNT_DISK_EXCEEDED or DISK_FULL; INVALID_ARGUMENT NO_SERVER_FOUND; the errors of `unpack`.
   */
  async create(accountId: string, name: string, { chunks }: Upload, signal: AbortSignal): Promise<Import> {
    await this.#expire();
    const uploading = this.#uploading.get(accountId) ?? 0;
    if (uploading + this.list(accountId).length >= MOST_PER_ACCOUNT) {
      const message = `An account can have ${MOST_PER_ACCOUNT} imports at once. Confirm or delete one first.`;
      throw quotaExceeded('TOO_MANY_IMPORTS', `account:${accountId}`, message, { limit: String(MOST_PER_ACCOUNT) });
    }
    this.#uploading.set(accountId, uploading + 1);
    const id = `imp_${randomBase62(16)}`;
    const folder = this.#folder(id);
    try {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const account = await this.#disks.accounts.holdFor(accountId, 0);
      this.#holds.set(id, () => account.release());
      const sizeBytes = await this.#store(folder, chunks, account);
      await using jail = await openJail(folder);
      await using archive = await jail.open(ARCHIVE);
      const findings = await inspect(archive, this.#workers, { tenant: accountId, signal });
      if (findings === undefined) throw noServer();
      const made = { id, accountId, name, createdAt: this.#shared.clock.now(), sizeBytes, findings, serverId: '' };
      await this.#record(made);
      return made;
    } catch (error) {
      await this.#remove(id);
      throw error;
    } finally {
      const others = (this.#uploading.get(accountId) ?? 1) - 1;
      if (others > 0) this.#uploading.set(accountId, others);
      else this.#uploading.delete(accountId);
    }
  }

  /** Returns an account's imports, newest first. */
  list(accountId: string): Import[] {
    const own = [...this.#imports.values()].filter((each) => each.accountId === accountId && !this.#isOld(each));
    return own.sort((one, other) => other.createdAt - one.createdAt);
  }

  /** Rejects with NOT_FOUND IMPORT_NOT_FOUND, also for imports of other accounts. */
  get(accountId: string, id: string): Import {
    const found = this.#imports.get(id);
    if (found === undefined || found.accountId !== accountId || this.#isOld(found)) throw notFound(id);
    return found;
  }

  /** Deletes an import with its files. Rejects like `get`. */
  async delete(accountId: string, id: string): Promise<void> {
    this.get(accountId, id);
    await this.#withLock(id, () => this.#remove(id));
  }

  /**
   * Creates the server with the files of an import, which is then gone. Rejects like `get` and `Creation.create`; with
   * RESOURCE_EXHAUSTED DISK_QUOTA_EXCEEDED, ACCOUNT_DISK_EXCEEDED or DISK_FULL if there is no room for the files. After an
   * error the import remains.
   */
  async confirm(principal: Principal, id: string, request: CompleteRequest, signal: AbortSignal): Promise<ServerNow> {
    const { accountId } = principal;
    return await this.#withLock(id, async () => {
      const found = this.get(accountId, id);
      requireRoom(found, this.#disks.quota.limitBytes(request));
      const tree = join(this.#folder(id), 'tree');
      const account = await this.#disks.accounts.holdFor(accountId, 0);
      try {
        await this.#unpack(found, tree, { account, signal });
        await this.#noteBuild(found, tree, request);
        const now = await this.#creation.create(principal, request, {
          place: async (serverId, tx) => {
            const entry = { action: 'server.import', accountId, serverId, detail: found.name };
            await recordAudit(tx, auditActorOf(principal), { ...entry, at: this.#shared.clock.now() });
            await this.#record({ ...found, serverId });
            // The write may be repeated.
            if (await exists(tree)) await this.#place(tree, serverId);
          },
          takeBack: async () => {
            const left = this.#imports.get(id);
            if (left !== undefined) await this.#takeBack(left);
          },
        });
        await this.#remove(id);
        this.#disks.usage.measure(now.row.id).catch(() => {});
        return now;
      } catch (error) {
        const left = this.#imports.get(id);
        if (left !== undefined) await this.#undo(left);
        throw error;
      } finally {
        account.release();
      }
    });
  }

  /** Passes an import's archive to `work`, and deletes the import once that has succeeded. Rejects like `get`. */
  async consume(
    accountId: string,
    id: string,
    work: (found: Import, archive: JailFile) => Promise<void>,
  ): Promise<void> {
    await this.#withLock(id, async () => {
      const found = this.get(accountId, id);
      await using staged = await openJail(this.#folder(id));
      await using archive = await staged.open(ARCHIVE);
      await work(found, archive);
      await this.#remove(id);
    });
  }

  async #unpack(
    { id, accountId, findings }: Import,
    tree: string,
    { account, signal }: { account: { grow(bytes: number): Promise<void> }; signal: AbortSignal },
  ): Promise<void> {
    await removeTree(tree);
    await createFolder(tree, this.#folders.owner);
    const hold = await this.#disks.free.hold(tree, 0);
    try {
      await using staged = await openJail(this.#folder(id));
      await using archive = await staged.open(ARCHIVE);
      await using jail = await openJail(tree, { owner: this.#folders.owner });
      await using stage = await jail.stage();
      const grow = async (bytes: number): Promise<void> => {
        await account.grow(bytes);
        await hold.grow(bytes);
      };
      const beforePiece = patiently({ grow, landed: (bytes) => hold.landed(bytes) }, { signal });
      for await (const entry of unpack(archive, this.#workers, { tenant: accountId, signal })) {
        await beforePiece(0);
        const place = placeOf(findings, entry.path);
        if (place !== undefined) await stageEntry(stage, place, entry, beforePiece);
      }
      await stage.mergeInto('');
    } finally {
      hold.release();
    }
  }

  async #store(
    folder: string,
    chunks: Upload['chunks'],
    account: { grow(bytes: number): Promise<void> },
  ): Promise<number> {
    const hold = await this.#disks.free.hold(folder, 0);
    let sizeBytes = 0;
    try {
      await using file: FileHandle = await open(join(folder, ARCHIVE), 'wx', 0o600);
      for await (const chunk of chunks) {
        await account.grow(chunk.length);
        await hold.grow(chunk.length);
        await file.appendFile(chunk);
        hold.landed(chunk.length);
        sizeBytes += chunk.length;
      }
      await file.sync();
      return sizeBytes;
    } finally {
      hold.release();
    }
  }

  async #restore(id: string): Promise<void> {
    const bytes = await readIfThere(join(this.#folder(id), RECORD));
    // An upload that has not ended.
    if (bytes === undefined) return await this.#remove(id);
    const found = JSON.parse(bytes.toString()) as Import;
    this.#imports.set(id, found);
    await this.#undo(found);
    if (!this.#imports.has(id)) return;
    const account = await this.#disks.accounts.holdFor(found.accountId, found.sizeBytes).catch(() => undefined);
    this.#holds.set(id, () => account?.release());
  }

  /** Makes the first start install the build that was found, if its core and version are kept. */
  async #noteBuild({ accountId, findings }: Import, tree: string, { type, version }: CompleteRequest): Promise<void> {
    const { build } = findings;
    if (build === '' || type !== findings.type || version !== findings.version) return;
    const { owner } = this.#folders;
    await noteBuild(tree, { type, version, modpackPlatform: '' }, { owner, build, tenant: accountId });
  }

  /** Rejects with ALREADY_EXISTS if the folder of an earlier server has remained. */
  async #place(tree: string, serverId: string): Promise<void> {
    const root = dataRoot(this.#folders.dataDir, serverId);
    await mkdir(dirname(root), { recursive: true });
    await rename(tree, root).catch((error: NodeJS.ErrnoException) => {
      const isTaken = error.code === 'ENOTEMPTY' || error.code === 'EEXIST';
      throw isTaken ? serverExists({ id: serverId, hostname: serverId }) : error;
    });
  }

  /** Takes the files back if their server was not stored. Returns whether it was. */
  async #takeBack({ id, serverId }: Import): Promise<boolean> {
    const tree = join(this.#folder(id), 'tree');
    if (serverId === '' || (await exists(tree))) return false;
    if ((await this.#shared.servers.get(serverId)) !== undefined) return true;
    const root = dataRoot(this.#folders.dataDir, serverId);
    if (await exists(root)) await rename(root, tree);
    return false;
  }

  /** Undoes an interrupted confirmation, or ends the import if its server was stored. */
  async #undo(found: Import): Promise<void> {
    if (await this.#takeBack(found)) return await this.#remove(found.id);
    await removeTree(join(this.#folder(found.id), 'tree'));
    if (found.serverId !== '') await this.#record({ ...found, serverId: '' });
  }

  async #record(made: Import): Promise<void> {
    await writeAtomic(join(this.#folder(made.id), RECORD), JSON.stringify(made), { durable: true });
    this.#imports.set(made.id, made);
  }

  async #remove(id: string): Promise<void> {
    await removeTree(this.#folder(id));
    this.#imports.delete(id);
    this.#holds.get(id)?.();
    this.#holds.delete(id);
  }

  async #expire(): Promise<void> {
    for (const each of [...this.#imports.values()].filter((found) => this.#isOld(found)))
      await this.#withLock(each.id, () => this.#remove(each.id));
  }

  #isOld({ createdAt }: Import): boolean {
    return this.#shared.clock.now() - createdAt > EXPIRES_MS;
  }

  #folder(id: string): string {
    return join(this.#folders.dataDir, 'imports', id);
  }
}

/**
 * Finds the server in an archive. Reads the archive once, in a worker and with the limits of `unpack`, and throws its
 * errors. Keeps only small files that tell about the server. Returns undefined for an archive without a server.
 */
export async function inspect(
  archive: JailFile,
  workers: WorkerPool,
  options: { tenant: string; signal?: AbortSignal | undefined },
): Promise<Findings | undefined> {
  const files: ImportFile[] = [];
  const clues = new Map<string, Uint8Array>();
  let left = MAX_CLUES_BYTES;
  for await (const { path: stored, kind, content } of unpack(archive, workers, options)) {
    if (kind === 'directory') continue;
    const path = withoutDot(stored);
    const most = Math.min(clueBytes(path), left);
    const held: Uint8Array[] = [];
    let sizeBytes = 0;
    for await (const chunk of content) {
      sizeBytes += chunk.length;
      if (sizeBytes <= most) held.push(chunk);
    }
    files.push({ path, sizeBytes });
    if (sizeBytes === 0 || sizeBytes > most) continue;
    clues.set(path, Buffer.concat(held));
    left -= sizeBytes;
  }
  return findingsOf(files, clues);
}

/** Returns the archive's name as the name of a server. */
export function nameOf(archive: string): string {
  const name = archive
    .replace(/\.(?:zip|tar|tgz|tzst|tar\.gz|tar\.zst)$/i, '')
    .replaceAll(/[^\p{L}\p{N} _.-]/gu, ' ')
    .trim();
  return name.slice(0, 40).trim() || 'Imported server';
}

/** Returns the name of the world that the next start loads, if it is not the default one. */
export function levelOf({ worlds }: Findings): string | undefined {
  const name = worlds.find(({ active }) => active)?.name;
  return name === undefined || name === 'world' || !isWorldName(name) ? undefined : name;
}

function requireRoom({ findings: { sizeBytes } }: Import, limitBytes: number): void {
  if (limitBytes === 0 || sizeBytes <= limitBytes) return;
  const limitMb = String(Math.floor(limitBytes / MIB));
  const sentence = `The files need ${Math.ceil(sizeBytes / MIB)} MB. A server of this size may use ${limitMb} MB.`;
  throw new StatusError('RESOURCE_EXHAUSTED', 'DISK_QUOTA_EXCEEDED', sentence, { metadata: { limitMb } });
}

function notFound(importId: string): StatusError {
  const sentence = 'This import does not exist, or it has expired.';
  return new StatusError('NOT_FOUND', 'IMPORT_NOT_FOUND', sentence, { metadata: { importId } });
}

function noServer(): StatusError {
  const sentence =
    'The archive has no server in it: neither server.properties nor a world, mods or plugins. To use a mod pack, create a server and choose the pack under Mods.';
  return new StatusError('INVALID_ARGUMENT', 'NO_SERVER_FOUND', sentence);
}
