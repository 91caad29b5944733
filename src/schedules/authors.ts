import type { AccessChange } from '../http/access-changes.ts';
import type { Principal } from '../http/principal.ts';
import { recordAudit } from '../audit/audit.ts';
import { isKeyRevoked } from '../access/key-rows.ts';
import { getMembership } from '../access/member-rows.ts';
import { getUser } from '../accounts/rows.ts';
import { getServer } from '../servers/rows.ts';
import type { Sql, Tx } from '../store/store.ts';
import { type ScheduleRow, disableSchedule, listSchedulesBy } from './rows.ts';

/**
 * The user and API key that a schedule acts for: those that created it or last enabled it. `userId` is '' if unknown;
 * `keyId` is '' if no key was used.
 */
export type Author = Pick<ScheduleRow, 'userId' | 'keyId'>;

export function authorOf(principal: Principal): Author {
  return { userId: principal.userId, keyId: principal.kind === 'key' ? principal.keyId : '' };
}

/**
 * Returns why a schedule can no longer run, as a sentence for the server's owner; undefined if it can. A schedule must
 * not outlast the permissions of its author.
 */
export async function refusedAuthor(db: Sql, { serverId, userId, keyId }: ScheduleRow): Promise<string | undefined> {
  if (keyId !== '' && (await isKeyRevoked(db, keyId)))
    return `The API key of this schedule, ${keyId}, was revoked. ${AGAIN}`;
  if (userId === '') return undefined;
  const [server, user] = await Promise.all([getServer(db, serverId), getUser(db, userId)]);
  if (user !== undefined && user.accountId === server?.accountId) return undefined;
  const role = await getMembership(db, serverId, userId);
  return role === 'member' ? undefined : `Its author no longer has permission. ${AGAIN}`;
}

/** Disables a schedule whose author lost permission, and records it in the audit log of the server's account. */
export async function stopSchedule(tx: Tx, { id, serverId }: ScheduleRow, why: string, at: number): Promise<void> {
  const server = await getServer(tx, serverId);
  if (server === undefined || !(await disableSchedule(tx, id, why))) return;
  const entry = { action: 'schedule.disable', accountId: server.accountId, serverId, detail: `${id}: ${why}`, at };
  await recordAudit(tx, { userId: '', through: 'system access' }, entry);
}

/**
 * Disables the schedules that a change of access affects: those of a key, or those of a user on a server. Runs in the
 * write of that change.
 */
export async function stopSchedulesOf(tx: Tx, { keyId, userId, serverId }: AccessChange, at: number): Promise<void> {
  const schedules = [
    ...(keyId === undefined ? [] : await listSchedulesBy(tx, { keyId })),
    ...(userId === undefined || serverId === undefined ? [] : await listSchedulesBy(tx, { userId, serverId })),
  ];
  for (const schedule of schedules) {
    const why = await refusedAuthor(tx, schedule);
    if (why !== undefined) await stopSchedule(tx, schedule, why, at);
  }
}

const AGAIN = 'Enable it again to run it on your behalf.';
