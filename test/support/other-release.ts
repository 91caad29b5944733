import { appendFile, cp, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';

const ROOT = join(import.meta.dirname, '../..');
const PARTS = ['machines', 'migrations', 'proxy', 'src', 'test/fixtures/echo-core', 'package.json'];

/** Returns the folder of a copy of this program whose proxy has another version. */
export async function otherRelease(t: ExecutionContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'dormouse-release-'));
  t.teardown(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
  for (const part of PARTS) await cp(join(ROOT, part), join(folder, part), { recursive: true });
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  await appendFile(join(folder, 'proxy/main.ts'), '// Another release.\n');
  return folder;
}
