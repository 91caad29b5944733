import { setTimeout as pause } from 'node:timers/promises';
import { StatusError } from '../kernel/status.ts';
import type { Sql, Store, Tx } from './store.ts';

/** The rows of a small table in memory, so that they can be read synchronously. This process is its only writer. */
export interface RowCache<Key, Row> {
  of(key: Key): Row | undefined;
  all(): IterableIterator<Row>;
  /** Stores a row with `save`. The cache has it from the commit on. */
  set(key: Key, row: Row, save: (tx: Tx) => Promise<unknown>): Promise<void>;
  /** Deletes a row with `remove`. The cache drops it at the commit. */
  delete(key: Key, remove: (tx: Tx) => Promise<unknown>): Promise<void>;
  /** Drops a row that was deleted together with another one. */
  forget(key: Key): void;
}

const READ_AGAIN_MS = 1_000;

/**
 * Opens a cache with the rows that `list` reads. `entryOf` splits each into key and row. Only keys with a row use
 * memory. After a rejected write the row is read again, because it may be stored nevertheless.
 */
export async function openRowCache<Stored, Key, Row>(
  store: Store,
  list: (db: Sql) => Promise<readonly Stored[]>,
  entryOf: (row: Stored) => readonly [Key, Row],
): Promise<RowCache<Key, Row>> {
  const read = async () => new Map((await list(store)).map(entryOf));
  const known = await read();
  let changes = 0;

  function note(key: Key, row: Row | undefined): void {
    changes += 1;
    if (row === undefined) known.delete(key);
    else known.set(key, row);
  }

  async function write(key: Key, row: Row | undefined, work: (tx: Tx) => Promise<unknown>): Promise<void> {
    try {
      await store.write(work);
    } catch (error) {
      void readAgain(key);
      throw error;
    }
    note(key, row);
  }

  /** Reads a row again, and retries while the database is unreachable. Never rejects. */
  async function readAgain(key: Key): Promise<void> {
    for (;;) {
      const before = changes;
      try {
        const stored = await read();
        if (before === changes) return note(key, stored.get(key));
      } catch (error) {
        if (!(error instanceof StatusError)) return;
        await pause(READ_AGAIN_MS, undefined, { ref: false });
      }
    }
  }

  return {
    of: (key) => known.get(key),
    all: () => known.values(),
    set: (key, row, save) => write(key, row, save),
    delete: (key, remove) => write(key, undefined, remove),
    forget: (key) => note(key, undefined),
  };
}
