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

/** Adds an audit entry, in the write of the change. */
export type RecordWriteOff = (tx: Tx, entry: WriteOffEntry) => Promise<void>;

/** After a gap this long, a running game does not prove that it ran throughout. */
export const GAP_MS = 150_000;

const UNSEEN = 'in which nobody saw whether it ran';
/** Why the time of a running game is free. */
export const SILENT = 'in which its game ran but did not answer';

/** Records which time of a metered session is not charged, and why. Omits a minute or two. */
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
