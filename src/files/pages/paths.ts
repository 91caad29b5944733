import { BROWSER_PREFIX } from '../../http/session/browser-mount.ts';
import { joinNames, parsePath } from '../../jail/path.ts';
import type { ServerRequest } from '../../web/panel/panel.ts';
import { KIB } from '../../kernel/units.ts';

/** Returns the path in a page's address, as the jail reads it. INVALID_PATH. */
export function pathOf({ query }: Pick<ServerRequest, 'query'>): string {
  return joinNames(parsePath(query.get('path') ?? ''));
}

/** The path of something in a directory; what was typed may lead further down. */
export function below(directory: string, name: string): string {
  return directory === '' ? name : `${directory}/${name}`;
}

/** A path in the directory it lies in, and its own name there. */
export function apart(path: string): { directory: string; name: string } {
  const at = path.lastIndexOf('/');
  return { directory: path.slice(0, Math.max(0, at)), name: path.slice(at + 1) };
}

/** The page that shows a directory, or what is at a path: `''`, `/item`, `/edit`. */
export function pageOf({ server }: Pick<ServerRequest, 'server'>, path: string, page = '', more = {}): string {
  const query = new URLSearchParams({ ...(path !== '' && { path }), ...more });
  return `/servers/${server.id}/files${page}${query.size === 0 ? '' : `?${query.toString()}`}`;
}

/** Returns the address of a file's download, or of a directory as zip. */
export function downloadOf({ server }: Pick<ServerRequest, 'server'>, path: string): string {
  return `${BROWSER_PREFIX}/v1/servers/${server.id}/file:download?${new URLSearchParams({ path }).toString()}`;
}

/** The most that is edited here; more is to be downloaded. */
export const MOST_EDITED_BYTES = 512 * KIB;

/** File names that are certainly not text. */
const BINARY =
  /\.(?:jar|zip|gz|tgz|zst|tzst|tar|rar|7z|xz|bz2|png|jpe?g|gif|webp|ico|ogg|mp[34]|wav|dat|dat_old|mca|mcr|mcc|nbt|schem|schematic|litematic|db|sqlite3?|class|so|dll|exe|bin|ttf|lock)$/i;

/** Whether a file is worth opening in the editor, by its name and size: what it really holds shows there. */
export function isEditable(name: string, sizeBytes: number): boolean {
  return sizeBytes <= MOST_EDITED_BYTES && !BINARY.test(name);
}

/** Whether a file can be unpacked, by its name. */
export function isArchive(name: string): boolean {
  return /\.(?:zip|mrpack|tar|tar\.gz|tgz|tar\.zst|tzst)$/i.test(name);
}
