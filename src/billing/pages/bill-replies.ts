import type { ReplyOf } from '../../http/calls.ts';

/** What the page of the bill says, as the API has it. */
export interface Bill {
  wallet: ReplyOf<'GetWallet'>;
  spending: ReplyOf<'GetSpendCap'>;
  servers: ReplyOf<'ListServers'>['servers'];
  limits: ReplyOf<'GetAccountLimits'>;
  capacity: ReplyOf<'GetCapacity'>;
  regions: ReplyOf<'ListRegions'>['regions'];
}
