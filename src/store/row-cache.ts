import type { Store, Tx } from './store.ts';

/** The rows of a small table, in memory, so that they can be asked for between two turns. Nobody else writes to that table. */
export interface RowCache<Key, Row> {
  of(key: Key): Row | undefined;
  all(): IterableIterator<Row>;
  /** Stores a row by `save`; known here from the commit on. */
  set(key: Key, row: Row, save: (tx: Tx) => Promise<unknown>): Promise<void>;
  /** Removes a row by `remove`; forgotten here from the commit on. */
  delete(key: Key, remove: (tx: Tx) => Promise<unknown>): Promise<void>;
  /** The row has gone with another one. */
  forget(key: Key): void;
}

/** Begins with the rows of the table as `entryOf` splits each. Only keys that have a row take memory. */
export function createRowCache<Stored, Key, Row>(
  store: Store,
  rows: readonly Stored[],
  entryOf: (row: Stored) => readonly [Key, Row],
): RowCache<Key, Row> {
  const known = new Map(rows.map(entryOf));
  return {
    of: (key) => known.get(key),
    all: () => known.values(),
    async set(key, row, save) {
      await store.write(save);
      known.set(key, row);
    },
    async delete(key, remove) {
      await store.write(remove);
      known.delete(key);
    },
    forget: (key) => void known.delete(key),
  };
}
