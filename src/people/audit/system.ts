import type { Tx } from '../../store/store.ts';
import { type Deed, recordDeed } from './audit.ts';

/** Writes what the service does to an account by itself into the audit log; `through` says which part of it did. */
export function recordThrough(through: string): (tx: Tx, deed: Deed) => Promise<void> {
  return (tx, deed) => recordDeed(tx, { userId: '', through }, deed);
}
