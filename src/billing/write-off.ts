import type { Tx } from '../store/store.ts';
import { TICK_MS } from './prices.ts';
import type { AwakeSessionRow } from './awake-session-rows.ts';

/** Unproven or unresponsive time of a server, which is therefore free. */
export interface WriteOffEntry {
  accountId: string;
  serverId: string;
  action: 'usage.writeOff';
  detail: string;
  at: number;
}

/** Writes into the audit log, in the write of what it is about. */
export type RecordWriteOff = (tx: Tx, entry: WriteOffEntry) => Promise<void>;

/** After a gap as long as this, a running game no longer proves that it ran throughout the gap. */
export const GAP_MS = 150_000;

const UNSEEN = 'in which nobody saw whether it ran';
/** Why the time of a game that ran is free all the same. */
export const SILENT = 'in which its game ran but did not answer';

/** Says of a metered session what of its time is not charged, and why; of a minute or two it says nothing. */
export async function recordWriteOff(
  record: RecordWriteOff,
  tx: Tx,
  { accountId, serverId, plan }: Pick<AwakeSessionRow, 'accountId' | 'serverId' | 'plan'>,
  { lostMs, at, why = UNSEEN }: { lostMs: number; at: number; why?: string },
): Promise<void> {
  if (plan !== 'metered' || lostMs <= GAP_MS) return;
  const detail = `${Math.round(lostMs / TICK_MS)} minutes ${why}; not charged`;
  await record(tx, { accountId, serverId, action: 'usage.writeOff', detail, at });
}
