import { BROWSER_PREFIX } from '../../http/session/browser-mount.ts';
import { joinNames, parsePath } from '../../jail/path.ts';
import type { ServerRequest } from '../../web/panel/panel.ts';
import { KIB } from '../../kernel/units.ts';

/** Returns the path in a page's address, as the jail expects it. Throws INVALID_PATH. */
export function pathOf({ query }: ServerRequest): string {
  return joinNames(parsePath(query.get('path') ?? ''));
}

/** Joins a directory and an entered name, which may contain directories. */
export function below(directory: string, name: string): string {
  return directory === '' ? name : `${directory}/${name}`;
}

/** Splits a path into its directory and its name. */
export function apart(path: string): { directory: string; name: string } {
  const at = path.lastIndexOf('/');
  return { directory: path.slice(0, Math.max(0, at)), name: path.slice(at + 1) };
}

/** The order and view of a directory, kept in the addresses of other directories. */
const VIEW = new Set(['sort', 'down']);

/** Returns the parameters of the view of the current page. */
export function viewOf({ query }: ServerRequest): Record<string, string> {
  return Object.fromEntries([...query].filter(([name, value]) => VIEW.has(name) && value !== ''));
}

/** Returns the address of a page for a path: `''` (directory), `/item`, `/edit`. */
export function pageOf({ server }: ServerRequest, path: string, page = '', more = {}): string {
  const query = new URLSearchParams({ ...(path !== '' && { path }), ...more });
  return `/servers/${server.id}/files${page}${query.size === 0 ? '' : `?${query.toString()}`}`;
}

/** Returns the download address of a file, or of a directory as zip. */
export function downloadOf({ server }: ServerRequest, path: string): string {
  return `${BROWSER_PREFIX}/v1/servers/${server.id}/file:download?${new URLSearchParams({ path }).toString()}`;
}

/** The largest file that can be edited. Larger ones must be downloaded. */
export const MOST_EDITED_BYTES = 512 * KIB;

/** Extensions of files that are certainly not text. */
const BINARY =
  /\.(?:jar|zip|gz|tgz|zst|tzst|tar|rar|7z|xz|bz2|png|jpe?g|gif|webp|ico|ogg|mp[34]|wav|dat|dat_old|mca|mcr|mcc|nbt|schem|schematic|litematic|db|sqlite3?|class|so|dll|exe|bin|ttf|lock)$/i;

/** Reports whether to offer a file for editing, by name and size. Its content is checked on opening. */
export function isEditable(name: string, sizeBytes: number): boolean {
  return sizeBytes <= MOST_EDITED_BYTES && !BINARY.test(name);
}

/** Reports whether a file can be extracted, by its name. */
export function isArchive(name: string): boolean {
  return /\.(?:zip|mrpack|tar|tar\.gz|tgz|tar\.zst|tzst)$/i.test(name);
}
