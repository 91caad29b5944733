import { EngineError } from '../../engines/engine.ts';
import { readPlain } from '../plain-files.ts';
import { MAX_LIST_ENTRIES } from './files.ts';

/**
 * The entries of a list's file; none where there is no such file, or an invalid one, which is the game's to complain of, or one
 * of more entries than count.
 */
export async function listIn(path: string): Promise<unknown[]> {
  try {
    const list: unknown = JSON.parse(await readPlain(path));
    return Array.isArray(list) && list.length <= MAX_LIST_ENTRIES ? list : [];
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof EngineError) return [];
    throw error;
  }
}
