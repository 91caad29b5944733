import type { VerifiedAccount } from '../../../proxy/accounts.ts';

const MOST_KNOWN = 10_000;

/** Accounts that some proxy has checked lately: a player may come back through another. */
export class VerifiedAccounts {
  /** Until when (monotonic ms); insertion order is the order of expiry. */
  readonly #until = new Map<string, { account: VerifiedAccount; until: number }>();

  add(accounts: readonly VerifiedAccount[]): void {
    const at = performance.now();
    for (const account of accounts) {
      const key = `${account.ip} ${account.name}`;
      this.#until.delete(key);
      this.#until.set(key, { account, until: at + account.forMs });
      if (this.#until.size > MOST_KNOWN) this.#until.delete(this.#until.keys().next().value ?? '');
    }
  }

  all(): VerifiedAccount[] {
    const at = performance.now();
    for (const [key, { until }] of this.#until) if (until <= at) this.#until.delete(key);
    return [...this.#until.values()].map(({ account: { name, ip }, until }) => ({ name, ip, forMs: until - at }));
  }
}
