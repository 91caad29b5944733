import type { SessionPrincipal } from '../../http/principal.ts';
import { grantNotFound } from './actors.ts';
import type { ConsentRequest, Grants } from './grants.ts';
import type { GuessLimit } from './user-codes.ts';

/** Dependencies of looking up a user code. */
export interface CodeLookup {
  grants: Pick<Grants, 'find'>;
  /** Counts wrong user codes; shared by everything that accepts codes. */
  guessLimit: GuessLimit;
}

/**
 * Returns the request waiting under a typed user code. NOT_FOUND GRANT_NOT_FOUND for unknown, expired and used codes
 * alike, so that guesses reveal nothing; RESOURCE_EXHAUSTED TOO_MANY_ATTEMPTS.
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
