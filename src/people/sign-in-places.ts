import type { Visitor } from '../http/session/visitor.ts';
import { hashToken } from '../kernel/ids.ts';
import { networkOf } from '../kernel/ip.ts';
import type { Secret } from '../store/secret.ts';
import type { Sql, Tx } from '../store/store.ts';
import { deviceId } from './device-cookie.ts';
import { listSignInPlaces, putSignInPlace } from './place-rows.ts';

/** Places remembered for one user. */
const MOST_PLACES = 100;

/** Whether a user has signed in from this device and network before. */
export interface Familiarity {
  /** The device's id, where it is a known one. */
  device: string | undefined;
  network: boolean;
  /** Whether there is any place that the user has signed in from. */
  any: boolean;
}

/** Looks up a visitor. It takes as long for a user that does not exist. */
export async function familiarityOf(
  db: Sql,
  secret: Secret,
  userId: string | undefined,
  { address, device }: Visitor,
): Promise<Familiarity> {
  const rows = await listSignInPlaces(db, userId ?? '');
  const known = new Set(rows.map(({ place }) => place));
  const id = deviceId(secret, device);
  return {
    device: id !== undefined && known.has(devicePlace(id)) ? id : undefined,
    network: known.has(networkPlace(address)),
    any: rows.length > 0,
  };
}

/** Remembers where somebody has signed in from, in the write of the sign-in. `device` as in the cookie they get. */
export async function rememberPlaces(
  tx: Tx,
  secret: Secret,
  userId: string,
  { address, device }: Visitor,
  seenAt: number,
): Promise<void> {
  const id = deviceId(secret, device);
  if (id !== undefined) await putSignInPlace(tx, { userId, place: devicePlace(id), seenAt }, MOST_PLACES);
  await putSignInPlace(tx, { userId, place: networkPlace(address), seenAt }, MOST_PLACES);
}

function devicePlace(id: string): string {
  return hashToken(`device ${id}`);
}

function networkPlace(address: string): string {
  return hashToken(`network ${networkOf(address)}`);
}
