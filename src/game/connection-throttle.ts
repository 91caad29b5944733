import { isBukkit } from './cores.ts';
import { join } from 'node:path';
import type { FileOwner } from '../kernel/atomic-file.ts';
import { readPlain, writePlain } from './plain-files.ts';

const SETTING = /^([ \t]+connection-throttle:)[^\n]*$/m;

/**
 * Turns off the connection throttle of Bukkit servers (`settings.connection-throttle` of `bukkit.yml`): all players
 * come from the proxy's address, and by default a second connection within four seconds is refused. The proxy limits
 * connections by address instead. Call it before each boot. The rest of the file is unchanged, and the core adds
 * missing entries.
 */
export async function liftConnectionThrottle(dataDir: string, type: string, owner?: FileOwner): Promise<void> {
  if (!isBukkit(type)) return;
  const path = join(dataDir, 'bukkit.yml');
  const was = await readPlain(path);
  const text = withoutThrottle(was);
  if (text !== was) await writePlain(path, text, owner);
}

function withoutThrottle(text: string): string {
  if (SETTING.test(text)) return text.replace(SETTING, '$1 -1');
  if (/^settings:[ \t]*$/m.test(text)) return text.replace(/^settings:[ \t]*$/m, '$&\n  connection-throttle: -1');
  const before = text === '' || text.endsWith('\n') ? text : `${text}\n`;
  return `${before}settings:\n  connection-throttle: -1\n`;
}
