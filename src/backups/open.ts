/**
 * Backups of a server's files. A backup is complete or failed; a restore can be undone until the next start has
 * succeeded. Never replaces files under a running game.
 */
import type { StreamSlots } from '../http/stream-slots.ts';
import type { Shared } from '../servers/shared.ts';
import type { Feature } from '../web/feature.ts';
import { backupOperations } from './api.ts';
import type { BackupEvents, BackupRoom } from './backups-room.ts';
import type { Backups } from './backups.ts';
import { mountBackupPages } from './pages/backups-page.ts';

export interface OpenBackupsOptions extends Shared {
  room: Pick<BackupRoom, 'open'>;
  events: BackupEvents;
  transferSlots: StreamSlots;
}

/** Opens the backups of all servers. Call it once the servers are live. */
export async function openBackups(options: OpenBackupsOptions): Promise<{ backups: Backups; feature: Feature }> {
  const { room, servers, events, serverOperation, transferSlots, onClose } = options;
  const backups = await room.open(servers, events);
  onClose(() => backups.close());
  return {
    backups,
    feature: { operations: backupOperations({ backups, serverOperation, transferSlots }), panel: mountBackupPages },
  };
}
