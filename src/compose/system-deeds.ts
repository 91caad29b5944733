import { type Deed, recordDeed } from '../access/audit.ts';
import type { Tx } from '../store/store.ts';

/** Writes what the service does to an account by itself into the audit log; `through` says which part of it did. */
export function recordThrough(through: string): (tx: Tx, deed: Deed) => Promise<void> {
  return (tx, deed) => recordDeed(tx, { userId: '', through }, deed);
}
