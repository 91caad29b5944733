/**
 * Removes folders that a plugin of the same user has locked, without root's rights. Arguments: data root and user id.
 * Locks a leftover in `.dormouse-tmp` and two folders, removes both folders, and prints the remaining entries and the
 * warnings as JSON.
 */
import { chmodSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openJail } from '../../src/jail/jail.ts';
import { createLog } from '../../src/kernel/log.ts';

const [root = '', user = ''] = process.argv.slice(2);
// Change the user only after the imports: the folder of these sources may be closed to others.
process.setgroups?.([]);
process.setgid?.(Number(user));
process.setuid?.(Number(user));
const warnings: string[] = [];
const log = createLog({
  level: 'warn',
  pretty: false,
  destination: { write: (line) => void warnings.push((JSON.parse(line) as { msg: string }).msg) },
});

function lock(path: string): void {
  mkdirSync(join(root, path, 'in/deeper'), { recursive: true });
  writeFileSync(join(root, path, 'in/file'), 'x');
  for (const name of ['in/deeper', 'in', '']) chmodSync(join(root, path, name), 0);
}

lock('.dormouse-tmp/0123456789ab-0123456789ab');
lock('world/locked');
lock('alone');
await using jail = await openJail(root, { log });
await jail.remove('world');
await jail.remove('alone');
chmodSync(join(root, '.dormouse-tmp'), 0);
{
  await using upload = await jail.replace('uploaded');
  await upload.commit();
}
const left = [readdirSync(root).toSorted(), readdirSync(join(root, '.dormouse-tmp'))];
process.stdout.write(JSON.stringify({ left, warnings }));
