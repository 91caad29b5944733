import { isNone } from '../jail/if-there.ts';
import { dataRoot } from '../jail/data-root.ts';
import { type Jail, openJail } from '../jail/jail.ts';
import { StatusError } from '../kernel/status.ts';
import type { ServerRow } from '../servers/rows.ts';

/** Folders that plugins and mods are loaded from. Cores outside the list may translate by other means. */
const FOLDERS = ['plugins', 'mods'] as const;
const CORES: ReadonlySet<string> = new Set(
  'paper purpur pufferfish leaf folia spigot fabric quilt forge neoforge mohist magma arclight ketting'.split(' '),
);
/**
 * Matches jars of ViaVersion, of the mods that include it, and of ProtocolSupport. Does not match other names that
 * merely contain `via`, or jars disabled by another extension. An owner whose jar has another name sets
 * `clientVersions`.
 */
const TRANSLATES =
  /^(?:.*[^a-z])?(?:via[-_ ]?(?:version|backwards|rewind|fabric|forge|neoforge|proxy|sponge)|protocol[-_ ]?support).*\.jar$/i;
const MOST_NAMES = 2_000;

/** Detects, from their files, servers with a plugin or mod that accepts clients of other versions. */
export class Translators {
  readonly #dataDir: string;
  readonly #known = new Map<string, boolean>();

  constructor(dataDir: string) {
    this.#dataDir = dataDir;
  }

  /** Returns undefined if unknown. */
  of(serverId: string): boolean | undefined {
    return this.#known.get(serverId);
  }

  /** Checks the server's files. Resolves with whether the result has changed. */
  async detect({ id, type }: ServerRow): Promise<boolean> {
    const before = this.#known.get(id);
    const now = CORES.has(type) ? await isAmong(dataRoot(this.#dataDir, id)) : undefined;
    if (now === undefined) this.#known.delete(id);
    else this.#known.set(id, now);
    return now !== before;
  }

  forget(serverId: string): void {
    this.#known.delete(serverId);
  }
}

/** Returns undefined if the folder cannot be read. */
async function isAmong(root: string): Promise<boolean | undefined> {
  try {
    await using jail = await openJail(root);
    for (const folder of FOLDERS) {
      const found = await isIn(jail, folder);
      if (found !== false) return found;
    }
    return false;
  } catch (error) {
    // The server has never run.
    if (error instanceof StatusError && error.code === 'NOT_FOUND') return false;
    return undefined;
  }
}

async function isIn(jail: Jail, folder: string): Promise<boolean | undefined> {
  let isThere = false;
  try {
    const looked = await jail.chosen(folder, MOST_NAMES, (all) => {
      isThere = all.some(({ name }) => TRANSLATES.test(name));
      return [];
    });
    return looked === undefined ? undefined : isThere;
  } catch (error) {
    if (isNone(error)) return false;
    throw error;
  }
}
