import { createReadStream } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { type Jail, openJail } from '../../../jail/jail.ts';
import { CORE_FILE } from '../../../jail/secrets.ts';
import type { FileOwner } from '../../../kernel/atomic-file.ts';

/** Files of an installation that no server needs. The owner's own arguments for Java stay as they are. */
const LEFT_OUT = /^(?:user_jvm_args\.txt|run\.bat|README\.txt|[^/]*installer[^/]*)$/;

/** A build that this service copies to a server's folder. */
interface Copy {
  core: string;
  version: string;
  build: string;
}

/**
 * Copies the files of an installed loader to a server's folder and notes the build. The note says first that the copy
 * is incomplete: one that is cut short does not count as the owner's files, and is made again. The files must be there,
 * because Forge reads its libraries from the folder that it starts in. Each server has its own copy, so that no game
 * can change the files of another.
 */
export async function copyInstalled(
  folder: string,
  dataDir: string,
  copy: Copy,
  owner: FileOwner | undefined,
): Promise<void> {
  await using jail = await openJail(dataDir, { owner, secrets: 'open' });
  await using staging = await jail.stage();
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const path = relative(folder, join(entry.parentPath, entry.name));
    if (!entry.isFile() || LEFT_OUT.test(path)) continue;
    await using file = await staging.create(path);
    let at = 0;
    for await (const chunk of createReadStream(join(folder, path)) as AsyncIterable<Buffer>) {
      await file.write(at, chunk);
      at += chunk.length;
    }
  }
  // From here on, files of the server change.
  await writeNote(jail, copy, false);
  await staging.mergeInto('');
  await writeNote(jail, copy, true);
}

async function writeNote(jail: Jail, copy: Copy, isComplete: boolean): Promise<void> {
  await using note = await jail.replace(CORE_FILE);
  await note.write(Buffer.from(JSON.stringify({ ...copy, isComplete })));
  await note.commit();
}
