import type { Tx } from '../../store/store.ts';
import { type AuditEntry, recordAudit } from './audit.ts';

/** Returns a function that adds audit entries of the service itself. `through` names the responsible part. */
export function recordThrough(through: string): (tx: Tx, entry: AuditEntry) => Promise<void> {
  return (tx, entry) => recordAudit(tx, { userId: '', through }, entry);
}
