import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { writeAtomic } from '../kernel/atomic-file.ts';
import { KIB } from '../kernel/units.ts';
import { backupRefusal } from './backup-refusal.ts';

/** Of what a program complains of. */
const MOST_SAID = 64 * KIB;

/** Writes a database of PostgreSQL to a file; `folder` is its owner's alone. Rejects with a StatusError that says what to do. */
export const dumpPostgres = (url: string, folder: string, target: string) =>
  postgresTool('pg_dump', url, folder, ['--format=custom', '--no-owner', '--no-privileges', `--file=${target}`]);

/** Fills an empty one from such a file, whole or not at all. */
export const loadPostgres = (url: string, folder: string, source: string) =>
  postgresTool('pg_restore', url, folder, [
    '--exit-on-error',
    '--single-transaction',
    '--no-owner',
    '--no-privileges',
    source,
  ]);

/** PostgreSQL's own programs know all its versions' formats. The password goes by a file: arguments are everybody's to read. */
async function postgresTool(name: string, url: string, folder: string, args: string[]): Promise<void> {
  const address = new URL(url);
  const passwords = join(folder, 'passwords');
  const password = decodeURIComponent(address.password).replaceAll(/[\\:]/g, String.raw`\$&`);
  address.password = '';
  if (password !== '') {
    await writeAtomic(passwords, `*:*:*:*:${password}\n`);
    address.searchParams.set('passfile', passwords);
  }
  const child = spawn(name, [`--dbname=${address.href}`, ...args], { stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => (said = (said + chunk.toString()).slice(0, MOST_SAID)));
  const [code] = (await once(child, 'close').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
    throw backupRefusal(
      `There is no ${name} here: install PostgreSQL's client programs (postgresql-client), of the server's version or later.`,
    );
  })) as [number | null];
  if (code !== 0) throw backupRefusal(`${name} failed: ${said.trim().split('\n')[0] ?? ''}`);
}
