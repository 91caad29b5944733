/**
 * The only access to a server's files. A game may run any plugin, and a plugin may create links, pipes and devices
 * anywhere and at any moment, even between a check and the access after it. So the kernel never gets a whole path: each
 * component is opened through the descriptor of its parent (`descriptors.ts`), and checks apply to the open file.
 */
import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import type { Log } from '../kernel/log.ts';
import { type Cell, type Entry, entryOf, inDirectory, makeParents, requireVisible } from './cell.ts';
import type { Change } from './change-lock.ts';
import { copyPath } from './copy.ts';
import { type Named, allNamesIn, foundIn, openPath, requireProc, statAll, statEntry } from './descriptors.ts';
import { fileError, refused } from './errors.ts';
import { type Attributes, type JailFile, type OpenOptions, openFile, openMet, setAttributes } from './files.ts';
import { makeDirectoryAt, removeEmptyDirectory, removePath, renamePath } from './moves.ts';
import { type Names, parsePath, splitLast } from './path.ts';
import type { FileOwner } from '../kernel/atomic-file.ts';
import { type ReplaceOptions, type Replacement, replaceFile } from './replace.ts';
import { guardOfName } from './secrets.ts';
import { openStage } from './stage.ts';
import { sweepTemps } from './temps.ts';
import { type Met, walk } from './tree.ts';

export type { Entry } from './cell.ts';
export type { Attributes, JailFile, OpenOptions } from './files.ts';
export type { Replacement } from './replace.ts';

export interface JailOptions {
  /** The owner of new files: the game's user. Needed only if this process is root. */
  owner?: FileOwner | undefined;
  /**
   * `open`: shows and changes files that are protected from owners (`secrets.ts`), for the service's own work, e.g.
   * backups.
   */
  secrets?: 'guarded' | 'open';
  /** Runs each change, or refuses it; see `ChangeLock`. Default: runs it. */
  change?: Change | undefined;
  /** Called with each opened file. */
  opened?: ((file: FileHandle) => void) | undefined;
  /**
   * Reserves space for each file and directory that is created by opening or copying. If it rejects, the creation is
   * undone.
   */
  enter?: (() => Promise<void>) | undefined;
  /** Logs leftovers that could not be removed. */
  log?: Log | undefined;
}

/** A file or directory within a tree; `path` is relative to the start of the walk. */
export interface TreeEntry extends Entry, Pick<Met, 'path' | 'bytes'> {
  /** Opens the file for reading. Must be called before the next entry is requested, but may resolve later. */
  open(): Promise<JailFile>;
}

/** A directory that stays open until it is disposed of. */
export interface OpenDirectory extends AsyncDisposable {
  readonly descriptor: number;
  readonly guarded: boolean;
}

/** A hidden staging directory, in which files are written before they are moved to their place as a whole. */
export interface Staging extends AsyncDisposable {
  mkdir(path: string): Promise<void>;
  /** Creates a file and its parent directories. The last file of a name wins. */
  create(path: string, mode?: number): Promise<JailFile>;
  /** Merges all staged entries into a path of the jail (`stage.ts`). Returns the bytes of the replaced files. */
  mergeInto(path: string, exclusive?: boolean): Promise<number>;
}

/**
 * A server's data root. Paths are '/'-separated and relative to it (`path.ts`). Rejects with StatusError, most commonly
 * INVALID_PATH, PATH_NOT_FOUND, PATH_EXISTS, NOT_A_FILE, NOT_A_DIRECTORY, PATH_IS_LINK and PATH_PROTECTED. Changes are
 * on disk when they resolve, except those of an open file, which has `sync`.
 */
export interface Jail extends AsyncDisposable {
  /** Returns an entry; for a link, that of the link itself. */
  stat(path: string): Promise<Entry>;
  /** Streams the entries of a directory of any length, in batches and in no order. */
  entries(path: string): AsyncGenerator<Entry[]>;
  /**
   * Returns the entries of a directory that `choose` picks by name and type, in its order. Reads no other entry.
   * Undefined if there are more than `most`.
   */
  chosen(path: string, most: number, choose: (all: Named[]) => readonly Named[]): Promise<Entry[] | undefined>;
  /** Opens a directory for a worker to list. `guarded`: the worker must not show its hidden entries. */
  directory(path: string): Promise<OpenDirectory>;
  open(path: string, options?: OpenOptions): Promise<JailFile>;
  replace(path: string, options?: ReplaceOptions): Promise<Replacement>;
  mkdir(path: string): Promise<void>;
  rename(from: string, to: string, options?: { replace?: boolean }): Promise<void>;
  /** Returns the number of bytes copied. */
  copy(from: string, to: string, beforePiece?: (bytes: number) => Promise<void>): Promise<number>;
  remove(path: string): Promise<void>;
  /** Removes a directory if nothing is in it. */
  rmdir(path: string): Promise<void>;
  setAttributes(path: string, attributes: Attributes): Promise<void>;
  /**
   * Yields everything below a directory, each directory before its contents. Leaves out links, pipes, sockets and
   * devices.
   */
  tree(path: string): AsyncGenerator<TreeEntry>;
  stage(): Promise<Staging>;
  close(): Promise<void>;
}

/**
 * Opens the jail of a data root and removes unfinished files of an earlier process. Rejects with NOT_FOUND if the data
 * root does not exist, and with UNIMPLEMENTED NOT_SUPPORTED without /proc.
 */
export async function openJail(
  root: string,
  { owner, secrets = 'guarded', log, change = (work) => work(), opened, enter }: JailOptions = {},
): Promise<Jail> {
  requireProc();
  const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants;
  const handle = await named('', () => open(root, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  try {
    await sweepTemps(handle);
  } catch (error) {
    // The jail can be used nevertheless.
    log?.warn({ root, err: error }, 'could not remove unfinished files of an earlier run');
  }
  return jailOf({ root: handle, owner, guarded: secrets === 'guarded', durable: true, change, opened, enter });
}

/**
 * Removes unfinished files of an earlier process from a data root. Does nothing if it does not exist or is not a
 * folder.
 */
export async function sweepJail(root: string): Promise<void> {
  const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants;
  const gone = new Set(['ENOENT', 'ENOTDIR', 'ELOOP']);
  const handle = await open(root, O_RDONLY | O_DIRECTORY | O_NOFOLLOW).catch((error: NodeJS.ErrnoException) => {
    if (!gone.has(error.code ?? '')) throw error;
  });
  if (!handle) return;
  try {
    await sweepTemps(handle);
  } finally {
    await handle.close();
  }
}

function jailOf(cell: Cell): Jail {
  const close = () => cell.root.close();
  /** Runs `work` on a path, and converts the file system's errors to errors about this path. */
  const on = async <T>(path: string, work: (names: Names) => Promise<T>): Promise<T> =>
    await named(path, async () => work(parsePath(path)));
  const changing = <T>(path: string, work: (names: Names) => Promise<T>): Promise<T> =>
    on(path, (names) => cell.change(() => work(names)));
  return {
    stat: (path) => on(path, (names) => statPath(cell, names)),
    entries: (path) => namedEach(path, () => entriesAt(cell, parsePath(path))),
    chosen: (path, most, choose) => on(path, (names) => chosenAt(cell, names, most, choose)),
    directory: (path) => on(path, (names) => directoryAt(cell, names)),
    open: (path, options) =>
      (options?.write || options?.create ? changing : on)(path, (names) => openFile(cell, names, options)),
    replace: (path, options) =>
      changing(path, async (names) => {
        const replacement = await replaceFile(cell, names, options);
        const write = (chunk: Uint8Array) => changing(path, () => replacement.write(chunk));
        return { ...replacement, write, commit: () => changing(path, () => replacement.commit()) };
      }),
    mkdir: (path) => changing(path, (names) => makeDirectoryAt(cell, names)),
    rename: (from, to, options) => changing(to, (names) => renamePath(cell, parsePath(from), names, options)),
    copy: (from, to, options) => on(to, (names) => copyPath(cell, parsePath(from), names, options)),
    remove: (path) => changing(path, (names) => removePath(cell, names)),
    rmdir: (path) => changing(path, (names) => removeEmptyDirectory(cell, names)),
    setAttributes: (path, attributes) => changing(path, (names) => setAttributes(cell, names, attributes)),
    tree: (path) => namedEach(path, () => treeAt(cell, parsePath(path))),
    stage: () => named('', () => stagingOf(cell)),
    close,
    [Symbol.asyncDispose]: close,
  };
}

async function statPath(cell: Cell, names: Names): Promise<Entry> {
  if (names.length === 0) return entryOf('', await cell.root.stat());
  requireVisible(cell, names);
  const { parent, name } = splitLast(names);
  return await inDirectory(cell, parent, async (dir) => {
    const stats = await statEntry(dir, name);
    if (!stats) throw refused('ENOENT', names.join('/'));
    return entryOf(name, stats);
  });
}

async function* entriesAt(cell: Cell, names: Names): AsyncGenerator<Entry[]> {
  requireVisible(cell, names);
  const inRoot = cell.guarded && names.length === 0;
  await using dir = await openPath(cell.root, names);
  for await (const batch of foundIn(dir)) {
    yield batch.flatMap(({ name: bytes, stats }) => {
      const name = bytes.toString();
      return inRoot && guardOfName(name) === 'hidden' ? [] : [entryOf(name, stats)];
    });
  }
}

async function chosenAt(cell: Cell, names: Names, most: number, choose: (all: Named[]) => readonly Named[]) {
  requireVisible(cell, names);
  const inRoot = cell.guarded && names.length === 0;
  await using dir = await openPath(cell.root, names);
  const all = await allNamesIn(dir, most);
  if (!all) return undefined;
  const shown = inRoot ? all.filter(({ name }) => guardOfName(name) !== 'hidden') : all;
  const found = await statAll(
    dir,
    choose(shown).map(({ bytes }) => bytes),
  );
  return found.map(({ name, stats }) => entryOf(name.toString(), stats));
}

async function directoryAt(cell: Cell, names: Names): Promise<OpenDirectory> {
  requireVisible(cell, names);
  const dir = await openPath(cell.root, names);
  const guarded = cell.guarded && names.length === 0;
  return { descriptor: dir.fd, guarded, [Symbol.asyncDispose]: () => dir.close() };
}

async function* treeAt(cell: Cell, names: Names): AsyncGenerator<TreeEntry> {
  requireVisible(cell, names);
  await using dir = await openPath(cell.root, names);
  const guarded = cell.guarded && names.length === 0;
  const opening = new Set<Promise<unknown>>();
  const leaving = () => Promise.allSettled(opening);
  for await (const { path, bytes, stats, dir: inside, name } of walk(dir, { guarded, leaving })) {
    yield {
      ...entryOf(name.toString(), stats),
      path,
      ...(bytes && { bytes }),
      open() {
        const file = openMet(cell, inside, name, [...names, ...path.split('/')]);
        opening.add(file);
        const forget = () => void opening.delete(file);
        file.then(forget, forget);
        return file;
      },
    };
  }
}

async function stagingOf(cell: Cell): Promise<Staging> {
  const stage = await cell.change(() => openStage(cell));
  const changing = <T>(path: string, work: () => Promise<T>) => named(path, () => cell.change(work));
  return {
    mkdir: (path) => changing(path, async () => makeParents(stage.cell, parsePath(path))),
    create: (path, mode) =>
      changing(path, async () => {
        const names = parsePath(path);
        await makeParents(stage.cell, splitLast(names).parent);
        return await openFile(stage.cell, names, { write: true, create: true, truncate: true, mode });
      }),
    mergeInto: (path, exclusive) => changing(path, () => stage.mergeInto(parsePath(path), exclusive)),
    [Symbol.asyncDispose]: () => stage[Symbol.asyncDispose](),
  };
}

async function named<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw fileError(error, path);
  }
}

async function* namedEach<T>(path: string, items: () => AsyncGenerator<T>): AsyncGenerator<T> {
  try {
    yield* items();
  } catch (error) {
    throw fileError(error, path);
  }
}
