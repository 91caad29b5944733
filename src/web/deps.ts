import type { IncomingMessage } from 'node:http';
import type { Checkouts } from '../billing/checkout.ts';
import type { PublicBoard } from '../joining/public-server.ts';
import type { Machines } from '../operators/machines.ts';
import type { Grants } from '../people/grants/grants.ts';
import type { GuessLimit } from '../people/grants/user-codes.ts';
import type { People } from '../people/people.ts';
import type { SshSessions } from '../sftp/ssh-keys.ts';

/** What pages work with. */
export interface PageDeps extends People {
  /** Where a request comes from. */
  clientAddress: (request: IncomingMessage) => string;
  checkouts: Pick<Checkouts, 'find' | 'settleTest'>;
  publicBoard: PublicBoard;
  grants: Pick<Grants, 'find' | 'approve' | 'deny'>;
  machines: Omit<Machines, 'follow'>;
  /** Counts wrong user codes; to be the same one wherever codes are taken. */
  guessLimit: GuessLimit;
  sftp: SshSessions;
}
