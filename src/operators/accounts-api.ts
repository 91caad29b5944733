import * as z from 'zod';
import type { AccountLimits } from '../billing/account-limits.ts';
import { type Posting, post } from '../billing/ledger.ts';
import type { DiskQuota } from '../disk/quota.ts';
import { int32, int64, line, message, pageLimit, reply, text } from '../http/fields.ts';
import { operation } from '../http/operation.ts';
import { type Served, serve } from '../http/serve.ts';
import { randomBase62 } from '../kernel/ids.ts';
import { usdText } from '../kernel/money.ts';
import type { WithKeyLock } from '../kernel/mutex.ts';
import { StatusError } from '../kernel/status.ts';
import { type ListedAccount, SHOWN_ACCOUNTS, findListedAccount, listAccounts } from '../accounts/rows.ts';
import { auditActorOf, recordAudit, withReason } from '../audit/audit.ts';
import { Reason } from '../accounts/fields.ts';
import type { Accounts } from '../accounts/accounts.ts';
import { listSecondFactorUsers } from '../accounts/second-factor-rows.ts';
import type { ServerNow } from '../servers/server-now.ts';
import type { Servers } from '../servers/servers.ts';
import type { Sql, Tx } from '../store/store.ts';
import type { Suspensions } from './suspensions.ts';

/** Dependencies of these operations. */
interface Needs extends Accounts {
  accountLimits: AccountLimits;
  disk: DiskQuota;
  servers: Servers;
  suspensions: Suspensions;
  withLock: WithKeyLock;
}

const DEFAULT_LIMIT = 100;
const MOST = 1_000;
/** A billion; more is a typing error. */
const MOST_MICROS = 1e15;
const INHERITED = -1;

/** An account as operators see it. */
const Account = z
  .object({
    accountId: reply.text,
    name: reply.text,
    email: reply.text.describe('The e-mail address of its first user.'),
    createdAt: reply.timestamp,
    balanceMicros: reply.int64,
    servers: reply.int32.describe('Number of its servers, asleep or awake.'),
    maxRamMb: reply.int32.describe('The effective limit.'),
    maxServers: reply.int32.describe('The effective limit; 0: no limit.'),
    operator: reply.flag.describe('Whether its user is an operator.'),
  })
  .meta({ id: 'OperatorAccount' });

const Params = message({
  accountId: z
    .string()
    .regex(/^[\w-]{1,64}$/)
    .describe('Account id.'),
});

/** An amount of money within the accepted range. */
const Micros = int64({ min: -MOST_MICROS, max: MOST_MICROS, pattern: '^-?(?:[1-9][0-9]{0,14}|10{15})$' }).refine(
  (value) => value !== 0,
  'must not be 0',
);

const COMMON = { auth: 'key', scope: 'operator' } as const;

export const ListAccounts = operation({
  ...COMMON,
  id: 'ListAccounts',
  method: 'get',
  path: '/v1/operator/accounts',
  summary: 'List accounts',
  description: 'Accounts by id, in pages: repeat with the last id as `after` until the list is empty.',
  query: message({
    limit: pageLimit({ fallback: DEFAULT_LIMIT, most: MOST }),
    search: text(100).default('').describe('Part of an id, a name, or an e-mail address of its users. Empty: all.'),
    after: text(64).default('').describe('The last id of the previous page.'),
    show: z.enum(SHOWN_ACCOUNTS).default('all').describe('Only those of operators, or with or without servers.'),
  }),
  reply: z.object({ accounts: z.array(Account).default([]) }).meta({ id: 'ListAccountsResponse' }),
});

/** A server of an account. */
const AccountServer = z.object({
  id: reply.text,
  name: reply.text,
  state: reply.text,
  plan: reply.text,
  ramMb: reply.int32,
  suspended: reply.flag,
  suspendReason: reply.text,
  suspendedAt: reply.timestamp,
  diskUsageMb: reply.int64.describe('As last measured.'),
  diskUsageKnown: reply.flag.describe('False: never measured.'),
  diskQuotaOverrideMb: reply.int64.describe('Set by an operator; 0 = none.'),
  diskQuotaEffectiveMb: reply.int64.describe('The effective quota; 0: no quota.'),
});

export const GetAccount = operation({
  ...COMMON,
  id: 'GetAccount',
  method: 'get',
  path: '/v1/operator/accounts/{accountId}',
  summary: 'Read an account',
  description: 'Returns the account with its servers and its own limits.',
  params: Params,
  reply: z
    .object({
      account: Account.prefault({}),
      ownMaxRamMb: reply.int32.describe("-1: the installation's limit."),
      ownMaxServers: reply.int32.describe("-1: the installation's limit."),
      secondFactor: reply.flag.describe('Whether sign-in requires a code, too.'),
      servers: z.array(AccountServer).default([]),
    })
    .meta({ id: 'OperatorAccountDetail' }),
});

export const CreditAccount = operation({
  ...COMMON,
  id: 'CreditAccount',
  method: 'post',
  path: '/v1/operator/accounts/{accountId}:credit',
  summary: "Change an account's balance",
  description:
    'Adds a credit, refund or adjustment to the ledger, positive or negative, with a note that the owner can ' +
    'read. With a `ref`, a repeated call changes nothing.',
  params: Params,
  body: message({
    amountMicros: Micros,
    kind: z.enum(['credit', 'refund', 'adjustment']).default('credit'),
    note: line(256).trim().min(1, 'is required'),
    ref: line(128).trim().default('').describe('Your own reference, unique within its kind. Empty: none.'),
  }).meta({ id: 'CreditAccountRequest' }),
  example: { amountMicros: '5000000', kind: 'credit', note: 'Sorry for the outage' },
  reply: Account,
});

export const SetAccountLimits = operation({
  ...COMMON,
  id: 'SetAccountLimits',
  method: 'post',
  path: '/v1/operator/accounts/{accountId}:setLimits',
  summary: "Set an account's limits",
  description: 'An absent limit stays unchanged; -1: the installation’s default. Running servers keep running.',
  params: Params,
  body: message({
    maxRamMb: int32({ min: INHERITED }).optional().describe('RAM of its servers together, asleep or awake.'),
    maxServers: int32({ min: INHERITED }).optional().describe('0: no limit.'),
    reason: Reason.optional().describe('For the audit log. The owner can read it.'),
  }).meta({ id: 'SetAccountLimitsRequest' }),
  example: { maxRamMb: 32_768, maxServers: 20, reason: 'Hosts the tournament' },
  reply: Account,
});

/** Operations on accounts and their money. */
export const accountOperations = (needs: Needs): readonly Served[] => [
  serve(ListAccounts, async ({ query }) => {
    const rows = await listAccounts(needs.store, query);
    return { accounts: rows.map((row) => accountView(row, needs)) };
  }),
  serve(GetAccount, async ({ params: { accountId } }) => {
    const account = await shown(needs, accountId);
    const own = needs.accountLimits.ownOf(accountId);
    const servers = await needs.servers.listByAccount(accountId);
    return {
      account,
      ownMaxRamMb: own.maxRamMb ?? INHERITED,
      ownMaxServers: own.maxServers ?? INHERITED,
      secondFactor: (await listSecondFactorUsers(needs.store, accountId)).length > 0,
      servers: servers.map((server) => serverOf(server, needs)),
    };
  }),
  serve(CreditAccount, async ({ principal, params, body }) => {
    const { accountId } = params;
    const { amountMicros, kind, note } = body;
    const at = needs.clock.now();
    // One namespace per account, so that a reference cannot match another account's.
    const ref = body.ref === '' ? `operator:${randomBase62(22)}` : `operator:${accountId}:${body.ref}`;
    await needs.store.write(async (tx) => {
      await knownAccount(tx, accountId);
      if (!(await posted(tx, { accountId, kind, ref, amountMicros, note, at }))) return;
      const detail = `${kind} ${amountMicros} micros: ${note}`;
      const notice = `${usdText(amountMicros)}: ${note}`;
      await recordAudit(tx, auditActorOf(principal), { action: 'wallet.credit', accountId, detail, notice, at });
    });
    return shown(needs, accountId);
  }),
  serve(SetAccountLimits, async ({ principal, params, body }) => {
    const { accountLimits } = needs;
    const { accountId } = params;
    await knownAccount(needs.store, accountId);
    await needs.withLock(`limits ${accountId}`, async () => {
      const now = accountLimits.ownOf(accountId);
      const own = {
        maxRamMb: inherited(body.maxRamMb, now.maxRamMb),
        maxServers: inherited(body.maxServers, now.maxServers),
      };
      await accountLimits.set(accountId, own, async (tx) => {
        const text = (limit: number | null, unit = '') => (limit === null ? 'default' : `${limit}${unit}`);
        const set = `RAM ${text(own.maxRamMb, ' MB')}, servers ${text(own.maxServers)}`;
        const detail = withReason(set, body.reason);
        const entry = { action: 'account.setLimits', accountId, detail, at: needs.clock.now() };
        await recordAudit(tx, auditActorOf(principal), entry);
      });
    });
    return shown(needs, accountId);
  }),
];

function inherited(requested: number | undefined, now: number | null): number | null {
  return requested === undefined ? now : requested === INHERITED ? null : requested;
}

async function posted(tx: Tx, posting: Posting): Promise<boolean> {
  try {
    return await post(tx, posting);
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
    const message = 'The balance would be too large to store exactly. Use a smaller amount.';
    throw new StatusError('OUT_OF_RANGE', 'BALANCE_OUT_OF_RANGE', message, { cause });
  }
}

async function knownAccount(db: Sql, accountId: string): Promise<ListedAccount> {
  const account = await findListedAccount(db, accountId);
  if (account) return account;
  throw new StatusError('NOT_FOUND', 'ACCOUNT_NOT_FOUND', 'There is no such account.', { metadata: { accountId } });
}

async function shown(needs: Needs, accountId: string): Promise<z.input<typeof Account>> {
  return accountView(await knownAccount(needs.store, accountId), needs);
}

function accountView({ id, ...account }: ListedAccount, needs: Needs): z.input<typeof Account> {
  return { ...account, accountId: id, ...needs.accountLimits.of(id) };
}

function serverOf({ row, state }: ServerNow, { suspensions, disk }: Needs) {
  const { id, name, plan, ramMb } = row;
  const suspension = suspensions.of(id);
  const { quotaExceeded: _, ...space } = disk.view(row);
  const [suspended, suspendedAt] = [suspension !== undefined, suspension?.at ?? null];
  return { id, name, state, plan, ramMb, suspended, suspendReason: suspension?.reason, suspendedAt, ...space };
}
