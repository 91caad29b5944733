import type { IncomingMessage } from 'node:http';
import type { People } from '../access/people.ts';
import type { SshSessions } from '../access/ssh-keys.ts';
import type { GuessLimit } from '../access/user-codes.ts';
import type { Checkouts } from '../billing/checkout.ts';
import type { PublicBoard } from '../api/public-board.ts';
import type { Grants } from '../actors/grants.ts';
import type { Machines } from '../actors/machines.ts';

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
