import { createHash } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Returns the version of this program: the release and a hash of its current files. Any change of the code changes the
 * version.
 */
export function programVersion(): string {
  const folder = import.meta.dirname;
  const hash = createHash('sha256');
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
  for (const name of names.toSorted()) hash.update(`${name}\0`).update(readFileSync(join(folder, name)));
  const { version } = JSON.parse(readFileSync(join(folder, '../package.json'), 'utf8')) as { version: string };
  return `${version}+${hash.digest('hex').slice(0, 12)}`;
}
