import { markBillable, proveAwakeSessions } from '../../src/billing/awake-session-rows.ts';
import { AwakeSessions } from '../../src/billing/awake-sessions.ts';
import { openWallet } from '../../src/billing/ledger.ts';
import { chargeNext } from '../../src/billing/tick-rows.ts';
import type { ApiUnderTest } from '../support/api-harness.ts';
import { STEVE } from '../support/world.ts';

/** The start of the session: 14 November 2023, 22:13:20 UTC. */
export const AT = 1_700_000_000_000;

/** Gives the account 5 USD and the server `abc` a session of 125 charged minutes, woken by a player. */
export async function scene(it: ApiUnderTest): Promise<void> {
  await it.create('abc');
  const { row, context } = (await it.servers.get('abc'))!;
  const clock = { ...it.clock, now: () => AT };
  const steady = { now: () => AT, ofPast: () => AT };
  const sessions = new AwakeSessions(clock, steady, it.services.billing.prices);
  await it.store.write(async (tx) => {
    await openWallet(tx, 'acc_test', AT, 5_000_000);
    const now = { row, context: { ...context, cause: STEVE, readyAt: AT }, state: 'running' as const };
    await sessions.onStep(tx, now, { at: AT, event: 'JOIN', from: 'hibernated', to: 'starting', cause: STEVE });
    await sessions.onStep(tx, now, { at: AT, event: 'x', from: 'starting', to: 'running', cause: STEVE });
    await markBillable(tx, 'abc');
    await proveAwakeSessions(tx, AT + 125 * 60_000, []);
    while ((await chargeNext(tx, AT, '2023-11')) > 0);
  });
}
