import type { SessionPrincipal } from '../../http/principal.ts';
import { grantNotFound } from './actors.ts';
import type { ConsentRequest, Grants } from './grants.ts';
import type { GuessLimit } from './user-codes.ts';

/** Dependencies of looking up a user code. */
export interface CodeLookup {
  grants: Pick<Grants, 'find'>;
  /** Counts wrong user codes; to be the same one wherever codes are taken. */
  guessLimit: GuessLimit;
}

/**
 * The request that waits under a user code as somebody has typed it. NOT_FOUND GRANT_NOT_FOUND, alike for unknown, expired
 * and used codes, so that guesses learn nothing; RESOURCE_EXHAUSTED TOO_MANY_ATTEMPTS.
 */
export async function waitingGrant(
  { grants, guessLimit }: CodeLookup,
  typed: string,
  { sessionId, accountId }: Pick<SessionPrincipal, 'sessionId' | 'accountId'>,
  address: string,
): Promise<ConsentRequest> {
  const guess = guessLimit.take({ sessionId, accountId, address });
  const request = await grants.find(typed);
  if (!request) throw grantNotFound();
  guess.forgive();
  return request;
}
