import { setTimeout as pause } from 'node:timers/promises';
import { type EntityManager, QueryFailedError } from 'typeorm';
import { createMutex } from '../kernel/mutex.ts';
import { StatusError } from '../kernel/status.ts';
import type { DataSources } from './data-source.ts';
import { storeError, unavailable, unconfirmed } from './errors.ts';
import type { DatabaseSession } from './session.ts';

/** Runs SQL with `$1`, `$2`, … in order of their first appearance: the store, or a transaction. */
export interface Sql {
  query<Row>(sql: string, parameters?: unknown[]): Promise<Row[]>;
}

/**
 * Returns the condition that a column contains the text, in any case. `columns`: SQL expressions; `add`: adds a parameter
 * and returns its name.
 */
export function containing(columns: readonly string[], text: string, add: (value: unknown) => string): string {
  // Search for the text as typed, too: SQLite ignores case in ASCII letters only.
  const [typed, lower] = [text, text.toLowerCase()].map((each) => add(`%${likeText(each)}%`));
  const found = columns.map((name) => `${name} LIKE ${typed} ESCAPE '\\' OR LOWER(${name}) LIKE ${lower} ESCAPE '\\'`);
  return `(${found.join(' OR ')})`;
}

/** Returns a text that LIKE … ESCAPE '\' matches only literally. */
export function likeText(text: string): string {
  return text.replaceAll(/[\\%_]/g, String.raw`\$&`);
}

/** One write. Throws if it is used after its work has ended. */
export interface Tx extends Sql {
  /** Runs an INSERT, UPDATE or DELETE (in capitals, without RETURNING) and returns the number of affected rows. */
  run(sql: string, parameters?: unknown[]): Promise<number>;
  /** For query builders and `insert`, `update`, `delete` by entity, within this write. */
  readonly manager: EntityManager;
}

interface Job {
  /** Does the work and returns a function that reports the success to its caller. */
  attempt(tx: Tx): Promise<() => void>;
  refuse(error: unknown): void;
}

/** Most queued writes that share one commit, and with it one sync of the disk. */
const GROUP = 100;
const SAVEPOINT = 'job';
/**
 * How long the outcome of a commit is queried. Longer than a lease lasts without a renewal, which is a write, too: so a
 * process that holds the lease never sees a write with an unknown outcome.
 */
const ASK_MS = 30_000;
const ASK_AGAIN_MS = 500;

/**
 * The single queue of all changes. Each write is atomic: a failure undoes only that write, and the queue continues.
 * Writes that wait at the same time are committed together, each behind its own savepoint, and callers are notified
 * after the commit is on disk.
 */
export class Writer {
  readonly #open: () => Promise<DatabaseSession>;
  readonly #outcome: DataSources['outcome'];
  readonly #jobs: Job[] = [];
  #fence: (tx: Sql) => Promise<void> = async () => {};
  #busy: Promise<void> | undefined;
  readonly #withLock = createMutex();
  #closed = false;
  #waiting = 0;

  constructor(open: () => Promise<DatabaseSession>, outcome: DataSources['outcome']) {
    this.#open = open;
    this.#outcome = outcome;
  }

  /** The number of writes requested but not yet settled. */
  get waiting(): number {
    return this.#waiting;
  }

  write<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    if (this.#closed) {
      return Promise.reject(new StatusError('UNAVAILABLE', 'STORE_CLOSED', 'The service is shutting down.'));
    }
    this.#waiting++;
    return new Promise((resolve, reject) => {
      const attempt = async (tx: Tx) => {
        const value = await work(tx);
        return () => {
          this.#waiting--;
          resolve(value);
        };
      };
      const refuse = (error: unknown) => {
        this.#waiting--;
        reject(error);
      };
      this.#jobs.push({ attempt, refuse });
      // Start one turn later, so that all writes of this turn share one commit.
      this.#busy ??= Promise.resolve().then(() => this.#drain());
    });
  }

  /** Runs `work`, which opens its own transactions on the connection, between two commits. */
  withLock<T>(work: () => Promise<T>): Promise<T> {
    return this.#withLock(work);
  }

  /** Runs this check first in every later commit. If it rejects, the whole commit is undone. */
  fence(check: (tx: Sql) => Promise<void>): void {
    this.#fence = check;
  }

  /** Refuses new writes and resolves once the queued ones are done. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#busy;
    await this.#withLock(async () => {});
  }

  async #drain(): Promise<void> {
    while (this.#jobs.length > 0) await this.#withLock(() => this.#commit(this.#jobs.splice(0, GROUP)));
    this.#busy = undefined;
  }

  async #commit(waiting: Job[]): Promise<void> {
    // A single job needs no savepoint, because the whole transaction can be undone.
    const isAlone = waiting.length === 1;
    let session: DatabaseSession | undefined;
    const attempted: { job: Job; notify: () => void }[] = [];
    try {
      session = await this.#open();
      const transaction = await session.begin(isAlone ? undefined : SAVEPOINT);
      await this.#fence(lend(session).tx);
      for (let job = waiting.shift(); job; job = waiting.shift()) {
        const entry = { job, notify: () => {} };
        attempted.push(entry);
        entry.notify = isAlone
          ? await attemptAlone(session, job)
          : await attemptBeside(session, job, waiting.length === 0);
      }
      await session.commit().catch((error: unknown) => this.#requireCommitted(transaction, error));
    } catch (error) {
      const undone = await session?.query('ROLLBACK').then(
        () => true,
        () => false,
      );
      const reason =
        error instanceof Refused && undone === true ? storeError(error.cause) : unavailable(causeOf(error));
      for (const { job } of attempted) job.refuse(reason);
      // Writes behind the one that broke the whole commit are retried in the next. If no write was attempted, all fail alike.
      if (attempted.length > 0) this.#jobs.unshift(...waiting);
      else for (const job of waiting) job.refuse(storeError(error));
      return;
    } finally {
      await session?.release().catch(() => {});
    }
    for (const { notify } of attempted) notify();
  }

  /** Resolves if the transaction was committed although its COMMIT failed; rejects with that error if it was not. */
  async #requireCommitted(transaction: string | undefined, error: unknown): Promise<void> {
    if (transaction === undefined || this.#outcome === undefined || !(error instanceof QueryFailedError)) throw error;
    for (const end = performance.now() + ASK_MS; performance.now() < end; await pause(ASK_AGAIN_MS)) {
      // The database is still unreachable.
      const outcome = await this.#outcome(transaction).catch(() => null);
      if (outcome === 'committed') return;
      if (outcome === 'aborted') throw error;
    }
    throw unconfirmed(error);
  }
}

/** A job that was alone in its transaction has rejected. */
class Refused extends Error {}

function causeOf(error: unknown): unknown {
  return error instanceof Refused ? error.cause : error;
}

/**
 * Runs one job and returns a function that notifies its caller after the commit. Rejects with Refused if the job must
 * be undone.
 */
async function attemptAlone(session: DatabaseSession, job: Job): Promise<() => void> {
  const { tx, end } = lend(session);
  try {
    return await job.attempt(tx);
  } catch (cause) {
    throw new Refused('undone', { cause });
  } finally {
    end();
  }
}

/**
 * Runs one job after the open savepoint, so that only this job is undone if it fails, and opens a savepoint for the
 * next. The commit releases the last savepoint. Rejects if the database cannot store anything.
 */
async function attemptBeside(session: DatabaseSession, job: Job, isLast: boolean): Promise<() => void> {
  const { tx, end } = lend(session);
  try {
    const notify = await job.attempt(tx);
    if (!isLast) await session.script(`RELEASE SAVEPOINT ${SAVEPOINT}; SAVEPOINT ${SAVEPOINT}`);
    return notify;
  } catch (error) {
    // A full disk or a lost connection rolls back the whole transaction automatically.
    await session.query(`ROLLBACK TO SAVEPOINT ${SAVEPOINT}`).catch(() => Promise.reject(error));
    return () => job.refuse(storeError(error));
  } finally {
    end();
  }
}

function lend(session: DatabaseSession): { tx: Tx; end: () => void } {
  let ended = false;
  const open = (): DatabaseSession => {
    if (ended) throw new Error('A transaction was used after its write had ended: an await is missing.');
    return session;
  };
  const tx: Tx = {
    query: async <Row>(sql: string, parameters?: unknown[]) => (await open().query(sql, parameters)) as Row[],
    run: async (sql, parameters) => open().run(sql, parameters),
    get manager() {
      return open().manager;
    },
  };
  return { tx, end: () => (ended = true) };
}
