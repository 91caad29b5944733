import { monthOf } from './prices.ts';
import type { WalletRow } from './wallet-rows.ts';

/** What an account has come to the end of. */
export type End = 'funds' | 'spend_cap';

/** What of a month's cap is used at an instant, in micros. */
export function spentMicrosOf({ spentMonth, spentMicros }: WalletRow, at: number): number {
  return spentMonth >= monthOf(at) ? spentMicros : 0;
}

/** Whether as much is spent as the account may spend in the month of an instant. */
export function capReached(wallet: WalletRow, at: number): boolean {
  return wallet.spendCapMicros > 0 && spentMicrosOf(wallet, at) >= wallet.spendCapMicros;
}

/** What keeps a wallet from paying an amount above 0 now, before it is paid; undefined: nothing. */
export function shortOf(wallet: WalletRow | undefined, neededMicros: number, at: number): End | undefined {
  if (wallet === undefined || wallet.balanceMicros < neededMicros) return 'funds';
  if (wallet.spendCapMicros === 0 || wallet.spendCapAction !== 'stop') return undefined;
  return spentMicrosOf(wallet, at) + neededMicros > wallet.spendCapMicros ? 'spend_cap' : undefined;
}
