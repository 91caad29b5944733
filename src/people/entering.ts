import type { Visitor } from '../http/session/visitor.ts';
import type { Secret } from '../store/secret.ts';
import type { Tx } from '../store/store.ts';
import { recordAudit } from './audit/audit.ts';
import { openBrowserSession } from './browser-sessions.ts';
import { noticeNewPlace } from './mail/notices.ts';
import type { People } from './people.ts';
import type { UserRow } from './rows.ts';
import { type Familiarity, deviceId, newDevice, rememberPlaces } from './sign-in-places.ts';

/** A user who has just signed in. The session's token is the cookie's value and is not stored. */
export interface SignedIn {
  user: UserRow;
  token: string;
  /** The value of the cookie that identifies this browser from now on (`newDevice`). */
  device: string;
}

/** Opens a session in the write that consumes the sign-in's last proof. Returns its token. */
export async function enter(
  tx: Tx,
  { secret, clock }: People,
  { id, accountId }: UserRow,
  visitor: Visitor,
  how = '',
): Promise<string> {
  const at = clock.now();
  await recordAudit(tx, { userId: id, through: 'session' }, { action: 'session.signIn', accountId, detail: how, at });
  await rememberPlaces(tx, secret, id, visitor, at);
  return openBrowserSession(tx, id, visitor, at);
}

/** Call it after the session is stored. Notifies the user of a sign-in from a new place. */
export async function entered(people: People, user: UserRow, from: Familiarity, visitor: Visitor): Promise<void> {
  await people.firstRunFile?.signedIn(user.accountId);
  noticeNewPlace(people, user, from, visitor.address);
}

/** Returns the browser's device id: its known one, or a new one. */
export function deviceToKeep(secret: Secret, { device }: Visitor): string {
  return device !== undefined && deviceId(secret, device) !== undefined ? device : newDevice(secret);
}
