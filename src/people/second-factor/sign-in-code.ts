import type { Visitor } from '../../http/session/visitor.ts';
import { StatusError } from '../../kernel/status.ts';
import { type SignedIn, deviceToKeep, entered, enter } from '../entering.ts';
import { noticeSecondFactor } from '../mail/notices.ts';
import { tryCode } from '../password-tries.ts';
import type { People } from '../people.ts';
import { familiarityOf } from '../sign-in-places.ts';
import { pendingUser } from './pending-sign-in.ts';
import { countRecoveryCodes } from './rows.ts';
import { takeCode } from './second-factor.ts';

/**
 * Signs in a user who has given their password in this browser (`signIn`), with a code of their app or a recovery code.
 * UNAUTHENTICATED SIGN_IN_EXPIRED; PERMISSION_DENIED WRONG_CODE; RESOURCE_EXHAUSTED TOO_MANY_ATTEMPTS.
 */
export async function signInWithCode(people: People, code: string, visitor: Visitor): Promise<SignedIn> {
  const { store, clock, secret } = people;
  const user = await pendingUser(people, visitor.pending, clock.now());
  if (!user) throw expired();
  const from = await familiarityOf(store, secret, user.id, visitor);
  const device = deviceToKeep(secret, visitor);
  const { token, taken, left } = await tryCode(people, { userId: user.id, visitor, from }, () =>
    store.write(async (tx) => {
      const taken = await takeCode(tx, secret, user.id, code, clock.now());
      const how = taken === 'app' ? 'with a code' : 'with a recovery code';
      const token = await enter(tx, people, user, { ...visitor, device }, how);
      return { token, taken, left: await countRecoveryCodes(tx, user.id) };
    }),
  );
  await entered(people, user, from, visitor);
  if (taken === 'recovery code') {
    noticeSecondFactor(people, user, `A recovery code (${left} left) was used to sign in to your account`);
  }
  return { user, token, device };
}

function expired(): StatusError {
  return new StatusError(
    'UNAUTHENTICATED',
    'SIGN_IN_EXPIRED',
    'Your password was entered too long ago, or with another browser. Start again.',
  );
}
