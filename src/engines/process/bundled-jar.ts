import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { chmod, mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type Entry, type ZipFile, openPromise } from 'yauzl';
import { writeAtomic } from '../../kernel/atomic-file.ts';
import { MIB } from '../../kernel/units.ts';

/** A jar on the class path of a bundled server. */
interface Bundled {
  sha256: string;
  /** Its place in the bundle and in the unpacked folder. */
  path: string;
}

/**
 * The content of a jar in the format of Mojang's bundler, which Paperclip (Paper and its forks) uses as well. Both run
 * `mainClass` with the jars in this order as the class path, through a class loader of their own.
 */
export interface Bundle {
  mainClass: string;
  jars: readonly Bundled[];
  /** Java options that the bundle's manifest stands for. */
  options: readonly string[];
}

const MAX_LIST_BYTES = MIB;
const MAX_JAR_BYTES = 256 * MIB;
/** The order of the class path: both bundlers put the server before its libraries. */
const KINDS = ['versions', 'libraries'] as const;
/** Parts of a manifest that count only for `java -jar`, and for which an option would cost the start cache. */
const ONLY_BUNDLED = /^(?:Launcher-Agent-Class|Add-Opens|Add-Exports):/m;

/** Returns the bundle in a jar. Undefined if it has another format, or its manifest requires a start with `-jar`. */
export async function readBundle(jar: string): Promise<Bundle | undefined> {
  using zip = await openZip(jar);
  const entries = await zip.entries();
  const read = async (name: string) => (await zip.read(entries.get(name), MAX_LIST_BYTES))?.bytes.toString('utf8');
  const mainClass = (await read('META-INF/main-class'))?.trim() ?? '';
  const manifest = ((await read('META-INF/MANIFEST.MF')) ?? '').replaceAll('\r\n', '\n');
  if (!/^[A-Za-z_$][\w.$]{0,255}$/.test(mainClass) || ONLY_BUNDLED.test(manifest)) return undefined;
  const jars: Bundled[] = [];
  for (const kind of KINDS) {
    const list = await read(`META-INF/${kind}.list`);
    if (list === undefined) return undefined;
    for (const line of list.split('\n').filter((each) => each.trim() !== '')) {
      const [sha256 = '', , path = ''] = line.trim().split('\t');
      if (!/^[0-9a-f]{64}$/.test(sha256) || !isInside(path)) return undefined;
      jars.push({ sha256, path: `${kind}/${path}` });
    }
  }
  const usesNative = /^Enable-Native-Access: *ALL-UNNAMED$/m.test(manifest);
  return { mainClass, jars, options: usesNative ? ['--enable-native-access=ALL-UNNAMED'] : [] };
}

function isInside(path: string): boolean {
  return /^[\w+.@-]+(?:\/[\w+.@-]+)*\.jar$/.test(path) && !path.split('/').includes('..');
}

/**
 * Creates `folder` with all jars of a bundle: from the bundle itself, otherwise from `patched`, in which Paperclip has
 * put what it patches and downloads. Verifies each by the bundle's checksum. Rejects if one is missing or different.
 */
export async function unpackBundle(
  jar: string,
  { jars }: Bundle,
  { folder, patched, signal }: { folder: string; patched?: string; signal: AbortSignal },
): Promise<void> {
  const draft = `${folder}.part`;
  await rm(draft, { recursive: true, force: true });
  try {
    using zip = await openZip(jar);
    const entries = await zip.entries();
    for (const { sha256, path } of jars) {
      signal.throwIfAborted();
      const inside = await zip.read(entries.get(`META-INF/${path}`), MAX_JAR_BYTES);
      const found = inside?.sha256 === sha256 ? inside : await readPlain(patched, path);
      if (found?.sha256 !== sha256) throw new Error(`${path} is missing or has changed`);
      const target = join(draft, path);
      await mkdir(dirname(target), { recursive: true });
      await writeAtomic(target, found.bytes, { mode: 0o444 });
    }
    await openFolders(draft, jars);
    await rm(folder, { recursive: true, force: true });
    await rename(draft, folder);
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

/** Lets the games' user enter the folders, whatever the process's umask is. */
async function openFolders(root: string, jars: readonly Bundled[]): Promise<void> {
  const folders = new Set([root]);
  for (const { path } of jars) {
    for (let dir = dirname(path); dir !== '.'; dir = dirname(dir)) folders.add(join(root, dir));
  }
  for (const folder of folders) await chmod(folder, 0o755);
}

/** Returns the bytes of a file that a game's user has written; undefined if it is not a plain file of a normal size. */
async function readPlain(folder: string | undefined, path: string): Promise<Content | undefined> {
  if (folder === undefined) return undefined;
  try {
    const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
    await using file = await open(join(folder, path), flags);
    const stat = await file.stat();
    return stat.isFile() && stat.size <= MAX_JAR_BYTES
      ? await contentOf(file.createReadStream({ autoClose: false }))
      : undefined;
  } catch {
    return undefined;
  }
}

interface Content {
  bytes: Buffer;
  sha256: string;
}

/** Reads and hashes in pieces, so that a large jar does not hold up the process. */
async function contentOf(stream: AsyncIterable<Buffer>): Promise<Content> {
  const hash = createHash('sha256');
  const chunks: Buffer[] = [];
  for await (const chunk of stream) {
    hash.update(chunk);
    chunks.push(chunk);
  }
  return { bytes: Buffer.concat(chunks), sha256: hash.digest('hex') };
}

interface OpenZip extends Disposable {
  entries(): Promise<Map<string, Entry>>;
  /** Returns an entry's content; undefined without the entry. Rejects if it is larger than `most`. */
  read(entry: Entry | undefined, most: number): Promise<Content | undefined>;
}

async function openZip(path: string): Promise<OpenZip> {
  const zip: ZipFile = await openPromise(path, { lazyEntries: true, autoClose: false });
  return {
    async entries() {
      const found = new Map<string, Entry>();
      for await (const entry of zip.eachEntry()) found.set(entry.fileName, entry);
      return found;
    },
    async read(entry, most) {
      if (entry === undefined) return undefined;
      if (entry.uncompressedSize > most) throw new Error(`${entry.fileName} is too large`);
      return await contentOf(await zip.openReadStreamPromise(entry));
    },
    [Symbol.dispose]: () => zip.close(),
  };
}
