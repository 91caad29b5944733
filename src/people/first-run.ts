import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { KEY_SCOPES } from '../http/scopes.ts';
import type { Clock } from '../kernel/clock.ts';
import { writeAtomic } from '../kernel/atomic-file.ts';
import { newId, randomBase62 } from '../kernel/ids.ts';
import { DAY_MS } from '../kernel/units.ts';
import type { Log } from '../kernel/log.ts';
import type { Store, Tx } from '../store/store.ts';
import { mintKey } from './keys/keys.ts';
import { insertKey } from './keys/rows.ts';
import { hashPassword } from './passwords.ts';
import { hasUsers, insertAccount, insertUser, isOperatorAccount } from './rows.ts';

/** The credentials of the first operator, shown at each start until they have signed in. */
export interface FirstRun {
  email: string;
  password: string;
  accountId: string;
  apiKey: string;
  baseUrl: string;
}

export interface FirstRunOptions {
  clock: Clock;
  dataDir: string;
  baseUrl: string;
  /** Runs in the write that creates the account. */
  onAccount?: (tx: Tx, accountId: string, at: number) => Promise<void>;
}

/**
 * The file with the first operator's credentials. It loses the password at the first sign-in, and the API key a week
 * later at the latest.
 */
export interface FirstRunFile {
  /** Returns the file's path until its account first signs in; then undefined. */
  waiting(): string | undefined;
  /** Removes the password if the file belongs to this account. Never rejects. */
  signedIn(accountId: string): Promise<void>;
  /** Removes the file if it belongs to this account, which has signed in. Never rejects. */
  dismissed(accountId: string): Promise<void>;
}

const FILE = 'first-run.json';
const KEY_STAYS_MS = 7 * DAY_MS;

/** Opens the file written by `firstRun`, and removes it a week after the first sign-in. */
export async function openFirstRunFile(
  dataDir: string,
  { clock, log }: { clock: Clock; log: Log },
): Promise<FirstRunFile> {
  const path = join(dataDir, FILE);
  let left = await read(path);
  const remove = async () => {
    try {
      await rm(path, { force: true });
      left = undefined;
      log.info('removed first-run.json');
    } catch (error) {
      log.warn({ err: error }, 'could not remove first-run.json; remove it, because it contains an API key');
    }
  };
  const removeAt = (at: number) => void clock.at(at, () => void (left && remove()));
  if (left?.removeAt !== undefined) removeAt(left.removeAt);
  return {
    waiting: () => (left?.password === undefined ? undefined : path),
    async signedIn(accountId) {
      if (left?.password === undefined || accountId !== left.accountId) return;
      const { password: _, ...kept } = { ...left, removeAt: clock.now() + KEY_STAYS_MS };
      try {
        await writeFile(dataDir, kept);
        left = kept;
        removeAt(kept.removeAt);
        log.info('removed the password from first-run.json, because its account has signed in');
      } catch (error) {
        log.warn({ err: error }, 'could not change first-run.json; remove it, because it contains a password');
      }
    },
    async dismissed(accountId) {
      if (left?.removeAt !== undefined && accountId === left.accountId) await remove();
    },
  };
}

/** `removeAt`: epoch ms; set at the first sign-in, when the password is removed. */
type Left = Partial<FirstRun> & { removeAt?: number };

/** Returns undefined if the file is missing or invalid. */
async function read(path: string): Promise<Left | undefined> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as Left;
  } catch {
    return undefined;
  }
}

/**
 * On an empty database, creates the operator: account, user and a key with every scope. Returns the credentials and
 * stores them in `first-run.json` in the data directory, readable by this system user only. Later starts return the
 * same, with the current address, until the operator has signed in and the password is removed; then undefined.
 *
 * The file is on disk before the rows are committed. If the process is killed before the commit, the database is still
 * empty, and the next start creates another operator and replaces the file; if it is killed afterwards, the file
 * matches. An operator without known credentials never exists.
 */
export async function firstRun(store: Store, options: FirstRunOptions): Promise<FirstRun | undefined> {
  if (await hasUsers(store)) return stillToSay(store, options);
  const password = randomBase62(20);
  const passwordHash = await hashPassword(password);
  return store.write(async (tx) => {
    if (await hasUsers(tx)) return undefined;
    const createdAt = options.clock.now();
    const accountId = newId('acc');
    const userId = newId('usr');
    const email = 'operator@localhost';
    const wanted = {
      name: 'first run',
      userId,
      accountId,
      scopes: KEY_SCOPES,
      createdAt,
      expiresAt: null,
      serverIds: null,
    };
    const { key, row } = mintKey(wanted);
    await insertAccount(tx, { id: accountId, name: 'Operator', createdAt });
    await options.onAccount?.(tx, accountId, createdAt);
    await insertUser(tx, {
      id: userId,
      email,
      emailVerified: true,
      passwordHash,
      accountId,
      operator: true,
      createdAt,
    });
    await insertKey(tx, row);
    const made: FirstRun = { email, password, accountId, apiKey: key, baseUrl: options.baseUrl };
    await writeFile(options.dataDir, made);
    return made;
  });
}

/** Returns the credentials left by an earlier start if they belong to this database. */
async function stillToSay(store: Store, { dataDir, baseUrl }: FirstRunOptions): Promise<FirstRun | undefined> {
  const left = await read(join(dataDir, FILE));
  if (left?.accountId === undefined || !(await isOperatorAccount(store, left.accountId))) return undefined;
  const { email = '', password, accountId, apiKey = '' } = left;
  if (password === undefined) return undefined;
  const now: FirstRun = { email, password, accountId, apiKey, baseUrl };
  if (left.baseUrl !== baseUrl) await writeFile(dataDir, now);
  return now;
}

async function writeFile(dataDir: string, made: Left): Promise<void> {
  await writeAtomic(join(dataDir, FILE), `${JSON.stringify(made, null, 2)}\n`, { durable: true });
}
