import { join } from 'node:path';
import type { FileOwner } from '../kernel/atomic-file.ts';
import { BUKKIT_CORES } from './container.ts';
import { readPlain, replaceFile } from './plain-files.ts';

const SETTING = /^([ \t]+connection-throttle:)[^\n]*$/m;

/**
 * Has Bukkit servers take players as fast as they come: all come from the proxy's address, and by default a second one within
 * four seconds is turned away (`settings.connection-throttle` of `bukkit.yml`). How fast an address may come is the proxy's to
 * say. To be called before each boot; the rest of the file stays as it is, and what is not there the core fills in.
 */
export async function liftConnectionThrottle(dataDir: string, type: string, owner?: FileOwner): Promise<void> {
  if (!BUKKIT_CORES.has(type)) return;
  const path = join(dataDir, 'bukkit.yml');
  const text = await readPlain(path);
  await replaceFile(path, withoutThrottle(text), owner);
}

function withoutThrottle(text: string): string {
  if (SETTING.test(text)) return text.replace(SETTING, '$1 -1');
  if (/^settings:[ \t]*$/m.test(text)) return text.replace(/^settings:[ \t]*$/m, '$&\n  connection-throttle: -1');
  const before = text === '' || text.endsWith('\n') ? text : `${text}\n`;
  return `${before}settings:\n  connection-throttle: -1\n`;
}
