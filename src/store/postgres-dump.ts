import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { writeAtomic } from '../kernel/atomic-file.ts';
import { KIB } from '../kernel/units.ts';
import { backupRefusal } from './backup-refusal.ts';

/** Of what the program complains of. */
const MOST_SAID = 64 * KIB;
const OPTIONS = ['--exit-on-error', '--single-transaction', '--no-owner', '--no-privileges'];

/**
 * Fills an empty database of PostgreSQL from what `pg_dump` has written, whole or not at all; `folder` is its owner's alone. Rejects
 * with a StatusError that says what to do. The password goes by a file: arguments are everybody's to read.
 */
export async function loadPostgres(url: string, folder: string, dump: string): Promise<void> {
  const address = new URL(url);
  const passwords = join(folder, 'passwords');
  const password = decodeURIComponent(address.password).replaceAll(/[\\:]/g, String.raw`\$&`);
  address.password = '';
  if (password !== '') {
    await writeAtomic(passwords, `*:*:*:*:${password}\n`);
    address.searchParams.set('passfile', passwords);
  }
  const child = spawn('pg_restore', [`--dbname=${address.href}`, ...OPTIONS, dump], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => (said = (said + chunk.toString()).slice(0, MOST_SAID)));
  const [code] = (await once(child, 'close').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
    throw backupRefusal(
      `There is no pg_restore here: install PostgreSQL's client programs (postgresql-client), of the server's version or later.`,
    );
  })) as [number | null];
  if (code !== 0) throw backupRefusal(`pg_restore failed: ${said.trim().split('\n')[0] ?? ''}`);
}
