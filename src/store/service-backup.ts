import { createReadStream } from 'node:fs';
import { mkdir, mkdtemp, open, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';
import { type Pack, extract, pack } from 'tar-stream';
import * as z from 'zod';
import { MIGRATIONS } from '../../migrations/index.ts';
import { readIfThere, syncDirectory, writeAtomic } from '../kernel/atomic-file.ts';
import type { StatusError } from '../kernel/status.ts';
import { MIB } from '../kernel/units.ts';
import { backupRefusal, copyDatabase } from './copy-database.ts';
import { copySqlite, isEmptyPostgres, openDataSources } from './data-source.ts';
import { type Secret, secretFrom } from './secret.ts';
import { requireKnown } from './store.ts';

/** The locations of an installation's own data: everything but the folders of its servers and their backups. */
export interface ServiceFiles {
  dataDir: string;
  databaseUrl: string;
  /** The settings file. Environment variables cannot be copied. */
  envFile: string;
}

/** The description of a service backup; the first file of the archive. */
const Manifest = z.object({
  format: z.literal(1),
  /** The time of the backup, RFC 3339. */
  madeAt: z.iso.datetime(),
  /** Always SQLite, whichever database the installation had. */
  database: z.literal('sqlite'),
});
type Manifest = z.infer<typeof Manifest>;

const MANIFEST = 'manifest.json';
const DATABASE = 'database';
/** Files in the data directory. */
const SECRET = 'secret.key';
const KEYS = [SECRET, 'ssh_host_ed25519_key', 'proxy.token', 'restic-password'];
const ENV = 'env';
/** Errors of a folder this user cannot write to. */
const NOT_OURS = new Set(['EACCES', 'EPERM', 'EROFS']);
/** Limit of every file except the database. */
const MOST_BYTES = MIB;

/**
 * Writes the database, keys and settings as one archive (tar, gzip) to `target`, readable by its owner alone. The
 * archive is complete or absent at any moment. The service may run meanwhile, because the database is copied as of one
 * instant. Resolves with whether a settings file was found. A refusal is a StatusError that says what to do.
 */
export async function backupService(
  { dataDir, databaseUrl, envFile }: ServiceFiles,
  target: string,
  now: number,
): Promise<{ hasSettings: boolean }> {
  const made = resolve(target);
  if (await isThere(made)) throw backupRefusal(`${made} already exists. Name another file.`);
  const file = sqliteFile(databaseUrl);
  if (file === undefined ? await isEmptyPostgres(databaseUrl) : !(await isThere(file)))
    throw backupRefusal(`There is no database at ${file ?? 'DATABASE_URL'}. Check DATA_DIR and DATABASE_URL.`);
  // The draft is beside the archive, where there must be room anyway.
  const draft = await mkdtemp(join(dirname(made), '.dormouse-backup-'));
  try {
    const database = join(draft, DATABASE);
    if (file === undefined) await copyDatabase(databaseUrl, `sqlite:${database}`);
    else await copySqlite(file, database);
    const manifest: Manifest = { format: 1, madeAt: new Date(now).toISOString(), database: 'sqlite' };
    const tar = pack();
    const written = writeAtomic(made, tar.pipe(createGzip()), { draft: join(draft, 'archive') });
    const fed = (async () => {
      tar.entry({ name: MANIFEST, mode: 0o600 }, JSON.stringify(manifest));
      for (const name of KEYS) await add(tar, name, join(dataDir, name));
      await add(tar, ENV, envFile);
      await add(tar, DATABASE, database);
      tar.finalize();
    })();
    await Promise.all([written, fed.catch((error: Error) => tar.destroy(error))]);
    await syncDirectory(dirname(made));
    return { hasSettings: await isThere(envFile) };
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

/**
 * Restores an archive of `backupService`, into either kind of database, if no installation exists there yet. Writes the
 * database last, so that an interrupted restore can be repeated. Resolves with the time of the backup and the new path
 * of its settings. A refusal is a StatusError that says what to do; no database exists then. `refuse` receives the
 * secret of the installation before the restore changes anything, and rejects to prevent it.
 */
export async function restoreService(
  { dataDir, databaseUrl, envFile }: ServiceFiles,
  archive: string,
  refuse: (secret: Secret) => Promise<void> = async () => {},
): Promise<{ madeAt: string; settings: string | undefined }> {
  if (!(await isThere(archive))) throw backupRefusal(`${archive} does not exist. Check the path.`);
  const file = sqliteFile(databaseUrl);
  if (file !== undefined) await refuseOtherDatabase(file);
  await mkdir(dataDir, { recursive: true, mode: 0o750 });
  const draft = await mkdtemp(join(dataDir, '.dormouse-restore-'));
  try {
    await unpack(archive, draft);
    const manifest = await manifestIn(draft, archive);
    if (file === undefined && !(await isEmptyPostgres(databaseUrl))) throw inUse('The database of DATABASE_URL');
    await refuseOtherKeys(draft, dataDir);
    const database = join(draft, DATABASE);
    await prepare(database);
    const key = await readIfThere(join(draft, SECRET));
    if (key) await refuse(secretFrom(key));
    for (const name of KEYS) await move(join(draft, name), join(dataDir, name));
    const settings = await moveSettings(join(draft, ENV), envFile, dataDir);
    if (file === undefined) await copyDatabase(`sqlite:${database}`, databaseUrl);
    else await move(database, file);
    return { madeAt: manifest.madeAt, settings };
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

async function add(tar: Pack, name: string, path: string): Promise<void> {
  const found = await stat(path).catch(() => undefined);
  if (!found) return;
  const entry = tar.entry({ name, size: found.size, mode: 0o600 });
  // Key files are replaced atomically, so they are never half-written.
  await pipeline(createReadStream(path, { end: Math.max(0, found.size - 1) }), entry);
}

/** Extracts an archive. Accepts only the files of a backup, each once. Refuses a truncated or invalid archive. */
async function unpack(archive: string, folder: string): Promise<void> {
  const entries = extract();
  const names = new Set([MANIFEST, ENV, DATABASE, ...KEYS]);
  const read = (async () => {
    for await (const entry of entries) {
      const { name, type, size } = entry.header;
      if (type !== 'file' || !names.delete(name) || (name !== DATABASE && size > MOST_BYTES)) throw noBackup(archive);
      await using file = await open(join(folder, name), 'wx', 0o600);
      await file.writeFile(entry as AsyncIterable<Buffer>);
      await file.sync();
    }
  })();
  try {
    await Promise.all([pipeline(createReadStream(archive), createGunzip(), entries), read]);
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === 'ENOSPC' ? error : noBackup(archive, error);
  }
}

async function manifestIn(folder: string, archive: string): Promise<Manifest> {
  const text = (await readIfThere(join(folder, MANIFEST)))?.toString() ?? '';
  const read = Manifest.safeParse(parsed(text));
  if (!read.success || !(await isThere(join(folder, DATABASE)))) throw noBackup(archive);
  return read.data;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * Refuses an existing database, and the log of one that was moved away: SQLite would write that log into the new
 * database.
 */
async function refuseOtherDatabase(file: string): Promise<void> {
  if (await isThere(file)) throw inUse(file);
  for (const companion of [`${file}-wal`, `${file}-shm`, `${file}-journal`]) {
    if (await isThere(companion))
      throw backupRefusal(`${companion} belongs to an earlier database. Move it to the folder of that database.`);
  }
}

/** Refuses to replace other keys. Equal keys come from an interrupted restore. */
async function refuseOtherKeys(folder: string, dataDir: string): Promise<void> {
  for (const name of KEYS) {
    const [own, restored] = await Promise.all([readIfThere(join(dataDir, name)), readIfThere(join(folder, name))]);
    if (own && restored && !own.equals(restored))
      throw backupRefusal(`${join(dataDir, name)} belongs to another installation. Move it away first.`);
  }
}

/**
 * Deletes the lease: the process that ran the installation when it was backed up does not run this one. Rejects like
 * `openStore` if this release cannot use the database.
 */
async function prepare(database: string): Promise<void> {
  const sources = await openDataSources(`sqlite:${database}`, []);
  try {
    const { writer } = sources;
    const done = await writer.query<{ name: string }[]>('SELECT "name" FROM "migrations"');
    await requireKnown(new Set(done.map(({ name }) => name)), MIGRATIONS);
    await writer.query('DELETE FROM "leases"');
  } finally {
    await sources.close();
  }
}

/**
 * Moves the settings to the path that the service reads, or beside it if a file exists there. If that folder is not
 * writable, as in a container, moves them to the data directory. Resolves with their new path; undefined without
 * settings.
 */
async function moveSettings(from: string, envFile: string, dataDir: string): Promise<string | undefined> {
  const places = [(await isThere(envFile)) ? `${envFile}.restored` : envFile, join(dataDir, 'env.restored')];
  for (const [n, place] of places.entries()) {
    try {
      return (await move(from, place)) ? place : undefined;
    } catch (error) {
      if (n > 0 || !NOT_OURS.has((error as NodeJS.ErrnoException).code ?? '')) throw error;
    }
  }
  return undefined;
}

/**
 * Moves a file, which is on disk under its new name once this resolves, and is never there in part. Returns false if
 * there is no such file.
 */
async function move(from: string, to: string): Promise<boolean> {
  if (!(await isThere(from))) return false;
  await mkdir(dirname(to), { recursive: true });
  try {
    await rename(from, to);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EXDEV') throw error;
    await writeAtomic(to, createReadStream(from));
  }
  await syncDirectory(dirname(to));
  return true;
}

const isThere = async (path: string) => (await stat(path).catch(() => undefined)) !== undefined;

/** Returns the file of an SQLite database; undefined for PostgreSQL. */
export function sqliteFile(databaseUrl: string): string | undefined {
  return databaseUrl.startsWith('sqlite:') ? databaseUrl.slice('sqlite:'.length) : undefined;
}

function inUse(what: string): StatusError {
  return backupRefusal(`${what} belongs to an existing installation. Move it away, or restore elsewhere.`);
}

function noBackup(archive: string, cause?: unknown): StatusError {
  return backupRefusal(`${basename(archive)} is not a complete service backup.`, cause);
}
