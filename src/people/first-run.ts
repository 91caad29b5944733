import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { KEY_SCOPES } from '../http/scopes.ts';
import type { Clock } from '../kernel/clock.ts';
import { writeAtomic } from '../kernel/atomic-file.ts';
import { newId, randomBase62 } from '../kernel/ids.ts';
import type { Log } from '../kernel/log.ts';
import type { Store, Tx } from '../store/store.ts';
import { mintKey } from './keys/keys.ts';
import { insertKey } from './keys/rows.ts';
import { hashPassword } from './passwords.ts';
import { hasUsers, insertAccount, insertUser, isOperatorAccount } from './rows.ts';

/** What the operator needs to get in; said at each start until they have signed in. */
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
  /** Runs in the write that makes the account. */
  onAccount?: (tx: Tx, accountId: string, at: number) => Promise<void>;
}

/** The file with the operator's credentials. It is a password in plain text, so it goes as soon as it is not needed. */
export interface FirstRunFile {
  /** Where it lies, as long as nobody has signed in with what it holds. */
  waiting(): string | undefined;
  /** Somebody has signed in to this account: removes the file where it is that account's. Never rejects. */
  signedIn(accountId: string): Promise<void>;
}

const FILE = 'first-run.json';

/** The file as it is now, after `firstRun`. It is read this once. */
export async function openFirstRunFile(dataDir: string, log: Log): Promise<FirstRunFile> {
  const path = join(dataDir, FILE);
  let owner = (await read(path))?.accountId;
  return {
    waiting: () => (owner === undefined ? undefined : path),
    async signedIn(accountId) {
      if (accountId !== owner) return;
      try {
        await rm(path, { force: true });
        owner = undefined;
        log.info('first-run.json is removed, as its owner has signed in');
      } catch (error) {
        log.warn({ err: error }, 'first-run.json could not be removed: remove it, it holds a password');
      }
    },
  };
}

/** Undefined where there is no file, or none that is one. */
async function read(path: string): Promise<Partial<FirstRun> | undefined> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as Partial<FirstRun>;
  } catch {
    return undefined;
  }
}

/**
 * On an empty database makes the operator: account, user and a key with every scope. Gives what is needed to get in, and
 * leaves it in `first-run.json` in the data directory for this system user's eyes only. Later starts give the same, at the address
 * that is set now, until its owner has signed in and the file is gone; then undefined.
 *
 * The file is on disk before the rows are committed. Killed before the commit, the database is still empty, and the next
 * start makes a new operator and replaces the file; killed after it, the file is the one that fits. There is no moment
 * at which an operator exists whom nobody can be.
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

/** What an earlier start has left, where it belongs to this database. */
async function stillToSay(store: Store, { dataDir, baseUrl }: FirstRunOptions): Promise<FirstRun | undefined> {
  const left = await read(join(dataDir, FILE));
  if (left?.accountId === undefined || !(await isOperatorAccount(store, left.accountId))) return undefined;
  const { email = '', password = '', accountId, apiKey = '' } = left;
  const now: FirstRun = { email, password, accountId, apiKey, baseUrl };
  if (left.baseUrl !== baseUrl) await writeFile(dataDir, now);
  return now;
}

async function writeFile(dataDir: string, made: FirstRun): Promise<void> {
  await writeAtomic(join(dataDir, FILE), `${JSON.stringify(made, null, 2)}\n`, { durable: true });
}
