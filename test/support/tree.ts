import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';

/** What a folder holds: each file's path with a hash of its bytes, each folder's with ''. */
export type Tree = Record<string, string>;

/** Reads a folder; {} where there is none. What only the service reads is left out: no backup holds it. */
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

/** Writes files below a folder, with the folders above them. */
export async function plant(root: string, files: Record<string, string | Buffer>): Promise<void> {
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(root, name)), { recursive: true });
    await writeFile(join(root, name), content);
  }
}
