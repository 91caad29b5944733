import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';
import { LOADER_FILE } from '../../jail/secrets.ts';
import type { GameSpec } from '../engine.ts';

const MAX_BYTES = 4_096;
const version = z.string().regex(/^[0-9A-Za-z][0-9A-Za-z._+-]{0,63}$/);
const Shape = z.object({ core: version, version, loader: version });

/**
 * Returns the loader version of a server's mod pack, as its installation left it in the server's folder; undefined if
 * it is missing or for another core or version of the game. A game can write there: invalid content is ignored.
 */
export async function loaderOf({ core, version, dataDir }: GameSpec): Promise<string | undefined> {
  try {
    const path = join(dataDir, LOADER_FILE);
    await using file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(MAX_BYTES), 0, MAX_BYTES, 0);
    const found = Shape.parse(JSON.parse(buffer.toString('utf8', 0, bytesRead)));
    return found.core === core && found.version === version ? found.loader : undefined;
  } catch {
    return undefined;
  }
}
