import type { ReplyOf } from '../../http/calls.ts';

/** The data of the bill page, from the API. */
export interface Bill {
  wallet: ReplyOf<'GetWallet'>;
  spending: ReplyOf<'GetSpendCap'>;
  servers: ReplyOf<'ListServers'>['servers'];
  limits: ReplyOf<'GetAccountLimits'>;
  capacity: ReplyOf<'GetCapacity'>;
  regions: ReplyOf<'ListRegions'>['regions'];
}
