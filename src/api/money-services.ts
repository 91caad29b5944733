import type { AccountLimits } from '../billing/account-limits.ts';
import type { Capacity } from '../billing/capacity.ts';
import type { Checkouts } from '../billing/checkout.ts';
import type { Services } from './services.ts';

/** What the operations about machine, limits and checkout work with, beside the rest. */
export interface MoneyServices {
  capacity: Pick<Capacity, 'read' | 'reachable'>;
  accountLimits: AccountLimits;
  checkouts: Pick<Checkouts, 'create'>;
}

/** The services with those of this part. */
export function moneyOf(services: Services): Services & MoneyServices {
  return services as Services & MoneyServices;
}
