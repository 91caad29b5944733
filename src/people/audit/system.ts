import type { Tx } from '../../store/store.ts';
import { type AuditEntry, recordAudit } from './audit.ts';

/** Writes what the service does to an account by itself into the audit log; `through` says which part of it did. */
export function recordThrough(through: string): (tx: Tx, entry: AuditEntry) => Promise<void> {
  return (tx, entry) => recordAudit(tx, { userId: '', through }, entry);
}
