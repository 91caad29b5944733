import type { AccountLimits } from '../billing/account-limits.ts';
import type { Capacity } from '../billing/capacity.ts';
import type { Checkouts } from '../billing/checkout.ts';

/** What the operations about machine, limits and checkout work with, beside the rest. */
export interface MoneyServices {
  capacity: Pick<Capacity, 'now' | 'read' | 'reachable'>;
  accountLimits: AccountLimits;
  checkouts: Checkouts;
}
