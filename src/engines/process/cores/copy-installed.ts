import { createReadStream } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { removeIfThere } from '../../../jail/if-there.ts';
import { openJail } from '../../../jail/jail.ts';
import { CORE_FILE } from '../../../jail/secrets.ts';
import type { FileOwner } from '../../../kernel/atomic-file.ts';

/** Files of an installation that no server needs. The owner's own arguments for Java stay as they are. */
const LEFT_OUT = /^(?:user_jvm_args\.txt|run\.bat|README\.txt|[^/]*installer[^/]*)$/;

/**
 * Copies the files of an installed loader to a server's folder and notes the build. They must be there, because Forge
 * reads its libraries from the folder that it starts in. Each server has its own copy, so that no game can change the
 * files of another.
 */
export async function copyInstalled(
  folder: string,
  dataDir: string,
  build: { core: string; version: string; build: string },
  owner: FileOwner | undefined,
): Promise<void> {
  await using jail = await openJail(dataDir, { owner, secrets: 'open' });
  // A copy that was cut short must not count.
  await removeIfThere(jail, CORE_FILE);
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
  await staging.mergeInto('');
  await using note = await jail.replace(CORE_FILE);
  await note.write(Buffer.from(JSON.stringify(build)));
  await note.commit();
}
