import { randomUUID } from 'node:crypto';
import { chmod, mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join } from 'node:path';

/** The user's keys, one per service, and the default service. */
export interface Credentials {
  /** '' before the first sign-in. */
  current: string;
  /** By service address: a key is never sent to another one. */
  keys: Record<string, string>;
}

/** The home directory of users without one, as on Debian. */
const NO_HOME = '/nonexistent';

/** Returns the path of the key file (XDG Base Directory Specification: a relative XDG_CONFIG_HOME is ignored). */
export function credentialsFile(
  env: Readonly<{ XDG_CONFIG_HOME?: string; HOME?: string }>,
  home: () => string = homedir,
): string {
  const given = env.XDG_CONFIG_HOME ?? '';
  const base = isAbsolute(given) ? given : join(env.HOME || homeOf(home), '.config');
  return join(base, 'dormouse', 'credentials.json');
}

/** A container may run commands under a user id without a name, for which the system has no home. */
function homeOf(home: () => string): string {
  try {
    return home();
  } catch {
    return NO_HOME;
  }
}

/** Reads the file. A missing or damaged one has no keys. Throws if access is denied. */
export async function loadCredentials(file: string): Promise<Credentials> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { current: '', keys: {} };
    throw error;
  }
  return parse(text);
}

/** Replaces the file atomically. Only its owner can ever read it. */
export async function saveCredentials(file: string, credentials: Credentials): Promise<void> {
  await writePrivate(file, `${JSON.stringify(credentials, null, 2)}\n`);
}

function parse(text: string): Credentials {
  const none: Credentials = { current: '', keys: {} };
  try {
    const { current, keys } = JSON.parse(text) as Partial<Record<keyof Credentials, unknown>>;
    if (typeof current === 'string') none.current = current;
    const entries = Object.entries(typeof keys === 'object' && keys !== null ? keys : {});
    none.keys = Object.fromEntries(entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string'));
  } catch {
    // Damaged, probably by manual editing: the next sign-in replaces it.
  }
  return none;
}

/** Replaces a file atomically. Only its owner can ever read it or its folder. */
async function writePrivate(file: string, text: string): Promise<void> {
  const directory = dirname(file);
  await mkdir(directory, { recursive: true, mode: 0o700 });
  await chmod(directory, 0o700);
  const temporary = `${file}.${randomUUID()}`;
  try {
    const handle = await open(temporary, 'wx', 0o600);
    try {
      await handle.writeFile(text);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(temporary, file);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

const MOST_LINES = 500;
const MOST_CHARS = 4096;

/** Commands typed at consoles, newest first. */
export interface History {
  load(): Promise<string[]>;
  /** Stores the newest lines. Does nothing if the folder is not writable. */
  save(lines: readonly string[]): Promise<void>;
}

/** The history stored beside the key file, readable only by its owner. */
export function historyBeside(credentialsFile: string): History {
  const file = join(dirname(credentialsFile), 'console-history.json');
  return {
    async load() {
      try {
        const lines: unknown = JSON.parse(await readFile(file, 'utf8'));
        return Array.isArray(lines) ? bounded(lines) : [];
      } catch {
        // Missing or damaged: the next line replaces it.
        return [];
      }
    },
    save: (lines) => writePrivate(file, `${JSON.stringify(bounded(lines))}\n`).catch(() => {}),
  };
}

function bounded(lines: readonly unknown[]): string[] {
  const texts = lines.filter((line): line is string => typeof line === 'string' && line.length <= MOST_CHARS);
  return texts.slice(0, MOST_LINES);
}
