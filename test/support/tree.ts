import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';

/** The content of a folder: each file's path with a hash of its bytes, and each folder's path with ''. */
export type Tree = Record<string, string>;

/** Reads a folder; returns {} if it does not exist. Leaves out the service's own files, which no backup contains. */
export async function treeOf(root: string): Promise<Tree> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true }).catch(() => []);
  const tree: Tree = {};
  for (const entry of entries) {
    const path = join(entry.parentPath, entry.name);
    const name = relative(root, path);
    if (name.startsWith('.dormouse-')) continue;
    tree[name] = entry.isFile()
      ? createHash('sha1')
          .update(await readFile(path))
          .digest('hex')
      : '';
  }
  return tree;
}

/** Writes files below a folder, and creates their parent folders. */
export async function plant(root: string, files: Record<string, string | Buffer>): Promise<void> {
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(root, name)), { recursive: true });
    await writeFile(join(root, name), content);
  }
}

/** Adds up the sizes of the files below a folder. Files that are removed meanwhile count as empty. */
export async function bytesBelow(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  const sizeOf = (path: string) =>
    stat(path).then(
      ({ size }) => size,
      () => 0,
    );
  return (await Promise.all(paths.map(sizeOf))).reduce((sum, bytes) => sum + bytes, 0);
}
