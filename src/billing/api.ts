import * as z from 'zod';
import { int64, message, pageLimit, reply } from '../http/fields.ts';
import { operation } from '../http/operation.ts';
import { type Served, serve } from '../http/serve.ts';
import { AccountParams } from '../accounts/fields.ts';
import { auditActorOf, recordAudit } from '../audit/audit.ts';
import { wholeAccount } from '../access/caller.ts';
import type { Shared } from '../servers/shared.ts';
import { listLedger } from './ledger-rows.ts';
import { balance, openWallet } from './ledger.ts';
import type { Checkouts } from './checkout.ts';
import { logUnbalanced } from './meter.ts';
import type { Prices } from './prices.ts';
import { spendingOf } from './spend-cap.ts';
import { getWallet as readWallet, listUnbalanced, setSpendCap } from './wallet-rows.ts';

const DEFAULT_LIMIT = 100;
const MOST = 1_000;

const COMMON = { auth: 'key', section: 'Account and wallet', params: AccountParams } as const;

export const GetWallet = operation({
  ...COMMON,
  id: 'GetWallet',
  method: 'get',
  path: '/v1/accounts/{accountId}/wallet',
  scope: 'billing:read',
  summary: 'Read the wallet',
  description: 'Returns the balance, which always equals the sum of the ledger.',
  reply: z
    .object({ accountId: reply.text, balanceMicros: reply.int64.describe('Millionths of the currency.') })
    .meta({ id: 'Wallet' }),
});

const LedgerEntry = z
  .object({
    id: reply.int64,
    accountId: reply.text,
    serverId: reply.text.describe('Empty if it is not about a server.'),
    kind: reply.text.describe(
      '`usage`, `flat`, `topup`, `credit`, `refund` or `adjustment`. Further values may be added.',
    ),
    amountMicros: reply.int64.describe('Negative if spent.'),
    note: reply.text,
    ts: reply.timestamp,
  })
  .meta({ id: 'LedgerEntry' });

export const ListLedger = operation({
  ...COMMON,
  id: 'ListLedger',
  method: 'get',
  path: '/v1/accounts/{accountId}/ledger',
  scope: 'billing:read',
  summary: 'Read the ledger',
  description:
    'Lists all movements of money, newest first. A `usage` entry covers one hour of a server’s awake time, and ' +
    'grows until that hour or the session ends. All other entries never change.',
  query: message({
    limit: pageLimit({ fallback: DEFAULT_LIMIT, most: MOST }),
    before: int64({ min: 0, max: Number.MAX_SAFE_INTEGER, pattern: '^[0-9]{1,15}$' })
      .default(0)
      .describe('The last id of the previous page; 0: the newest entries.'),
  }),
  reply: z.object({ entries: z.array(LedgerEntry).default([]) }).meta({ id: 'ListLedgerResponse' }),
});

const SpendCap = z
  .object({
    monthlyMicros: reply.int64.describe('Per calendar month, UTC; 0: no cap.'),
    spentMicros: reply.int64.describe('This month so far.'),
    action: reply.text.describe('`notify` or `stop`.'),
    burnMicrosPerHour: reply.int64.describe(
      'Cost of the awake servers per hour. A flat server counts with its share of 30 days.',
    ),
    runwayMinutes: reply.int32.describe('Until the wallet runs out at the current rate; -1: no spending.'),
    awake: z
      .array(
        z.object({
          serverId: reply.text,
          plan: reply.text,
          microsPerHour: reply.int64.describe('For a flat server, its share of 30 days, rounded up.'),
        }),
      )
      .default([])
      .describe('The awake servers with their cost.'),
    servers: z
      .array(z.object({ serverId: reply.text, spentMicros: reply.int64 }))
      .default([])
      .describe('The cost of each existing server this month; servers without cost are left out.'),
    perGbHourMicros: reply.int64.describe('Price of a GB of RAM (1024 MB) on the metered plan, per hour awake.'),
    perGbMonthMicros: reply.int64.describe('The same on the flat plan, per 30 days.'),
    checkout: reply.text.describe(
      'The payment provider of CreateCheckoutLink: `test`, `stripe`; empty: ask the operator for credit.',
    ),
  })
  .meta({ id: 'SpendCap' });

export const GetSpendCap = operation({
  ...COMMON,
  id: 'GetSpendCap',
  method: 'get',
  path: '/v1/accounts/{accountId}/spend-cap',
  scope: 'billing:read',
  summary: 'Read the spend cap',
  description: 'Returns the cap, the spending so far, the prices, and how long the balance lasts.',
  reply: SpendCap,
});

export const SetSpendCap = operation({
  ...COMMON,
  id: 'SetSpendCap',
  method: 'post',
  path: '/v1/accounts/{accountId}/spend-cap',
  scope: 'billing:write',
  summary: 'Set the spend cap',
  description:
    'Sets what happens when the spending of a calendar month (UTC) reaches the cap: `notify` sends an e-mail; `stop` also puts ' +
    'servers to sleep, except flat ones whose period is paid. With `stop`, no flat period begins that would exceed the cap. An ' +
    'absent field stays unchanged; an account without a cap so far begins with `notify`.',
  body: message({
    monthlyMicros: int64({ min: 0, max: Number.MAX_SAFE_INTEGER, pattern: '^(?:[0-9]{1,15}|[1-8][0-9]{15})$' })
      .optional()
      .describe('0: no cap.'),
    action: z.enum(['notify', 'stop']).optional(),
  }).meta({ id: 'SetSpendCapRequest' }),
  reply: SpendCap,
  example: { monthlyMicros: '5000000', action: 'notify' },
});

export const ReconcileLedger = operation({
  id: 'ReconcileLedger',
  method: 'post',
  path: '/v1/operator/ledger:reconcile',
  auth: 'key',
  scope: 'operator',
  summary: 'Check wallets against the ledger',
  description:
    'Lists the accounts whose wallet differs from the sum of their ledger. The list is empty unless the database was edited.',
  reply: z
    .object({
      mismatches: z
        .array(z.object({ accountId: reply.text, balanceMicros: reply.int64, ledgerMicros: reply.int64 }))
        .default([]),
    })
    .meta({ id: 'ReconcileLedgerResponse' }),
});

/** Operations on wallets, the ledger and spend caps. */
export const walletOperations = (
  { store, servers, clock, log }: Shared,
  { prices, checkouts }: { prices: Prices; checkouts: Checkouts },
): readonly Served[] => {
  async function spending(accountId: string): Promise<z.input<typeof SpendCap>> {
    const spent = await spendingOf(store, { accountId, live: servers.live(), prices, at: clock.now() });
    return { ...spent, ...prices, checkout: checkouts.provider };
  }

  return [
    serve(GetWallet, async ({ params, principal }) => {
      const accountId = wholeAccount(principal, params.accountId);
      return { accountId, balanceMicros: await balance(store, accountId) };
    }),
    serve(ListLedger, async ({ params, query, principal }) => {
      const accountId = wholeAccount(principal, params.accountId);
      return { entries: await listLedger(store, accountId, query.limit, query.before || undefined) };
    }),
    serve(GetSpendCap, async ({ params, principal }) => {
      const accountId = wholeAccount(principal, params.accountId);
      return spending(accountId);
    }),
    serve(SetSpendCap, async ({ params, body, principal }) => {
      const accountId = wholeAccount(principal, params.accountId);
      const at = clock.now();
      await store.write(async (tx) => {
        await openWallet(tx, accountId, at, 0);
        const before = await readWallet(tx, accountId);
        const { monthlyMicros = before?.spendCapMicros ?? 0, action = before?.spendCapAction ?? 'notify' } = body;
        await setSpendCap(tx, accountId, monthlyMicros, action);
        const detail = `${monthlyMicros} micros a month, ${action}`;
        await recordAudit(tx, auditActorOf(principal), { action: 'account.setSpendCap', accountId, detail, at });
      });
      return spending(accountId);
    }),
    serve(ReconcileLedger, async () => {
      const mismatches = await listUnbalanced(store);
      for (const each of mismatches) logUnbalanced(log, each);
      return { mismatches };
    }),
  ];
};
