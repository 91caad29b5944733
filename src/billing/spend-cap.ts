import { isTagged } from '../../machines/server.ts';
import { HOUR_MS, MINUTE_MS } from '../kernel/units.ts';
import type { ServerNow } from '../servers/server-now.ts';
import type { Sql } from '../store/store.ts';
import { flatDue } from './flat.ts';
import { spentMicrosOf } from './rules.ts';
import { PERIOD_MS, type Prices, flatMicros, hourlyMicros, monthOf } from './prices.ts';
import { spentByServer } from './ledger-rows.ts';
import { getWallet } from './wallet-rows.ts';

/**
 * Returns an account's spend limit, its spending, and how long its balance lasts, as in `GetSpendCap`. `live`: the
 * awake servers of all accounts.
 */
export async function spendingOf(
  db: Sql,
  { accountId, live, prices, at }: { accountId: string; live: ServerNow[]; prices: Prices; at: number },
) {
  const wallet = await getWallet(db, accountId);
  const awake = live.filter(({ row, state }) => row.accountId === accountId && isTagged(state, 'billed'));
  let meteredMicros = 0;
  let dueMicros = 0;
  const renewals: Renewal[] = [];
  const burning: { serverId: string; plan: string; microsPerHour: number }[] = [];
  for (const { row } of awake) {
    const { id: serverId, plan, ramMb } = row;
    if (plan !== 'flat') {
      const microsPerHour = hourlyMicros(prices.perGbHourMicros, ramMb);
      meteredMicros += microsPerHour;
      burning.push({ serverId, plan, microsPerHour });
    } else {
      const amountMicros = flatMicros(prices.perGbMonthMicros, ramMb);
      const due = await flatDue(db, row, prices, at);
      dueMicros += due.amountMicros;
      if (amountMicros > 0) renewals.push({ at: due.periodAt + PERIOD_MS, amountMicros });
      burning.push({ serverId, plan, microsPerHour: Math.ceil(amountMicros / PERIOD_HOURS) });
    }
  }
  const flatMicrosPerHour = renewals.reduce((sum, { amountMicros }) => sum + amountMicros, 0) / PERIOD_HOURS;
  const balanceMicros = wallet?.balanceMicros ?? 0;
  return {
    monthlyMicros: wallet?.spendCapMicros ?? 0,
    spentMicros: wallet === undefined ? 0 : spentMicrosOf(wallet, at),
    action: wallet?.spendCapAction ?? ('notify' as const),
    burnMicrosPerHour: meteredMicros + Math.ceil(flatMicrosPerHour),
    awake: burning,
    runwayMinutes: runwayMinutes({ balanceMicros, dueMicros, meteredMicros, renewals, at }),
    servers: await spentByServer(db, accountId, Date.parse(`${monthOf(at)}-01`)),
  };
}

/** The start of the next flat period, if the server is still awake. */
interface Renewal {
  at: number;
  amountMicros: number;
}

const PERIOD_HOURS = PERIOD_MS / HOUR_MS;
const LONGEST_MINUTES = 2 ** 31 - 1;
/** Most future periods considered. */
const MOST_RENEWALS = 2_000;

/**
 * Returns the minutes until hourly costs use up the balance, or until a flat period cannot be paid; −1 without
 * spending. The two are simulated together: metered costs accrue steadily, flat ones fall due on their day.
 */
export function runwayMinutes({
  balanceMicros,
  dueMicros = 0,
  meteredMicros,
  renewals,
  at,
}: {
  balanceMicros: number;
  /** Due immediately. */
  dueMicros?: number;
  /** Per hour. */
  meteredMicros: number;
  renewals: readonly Renewal[];
  at: number;
}): number {
  if (meteredMicros === 0 && renewals.length === 0) return -1;
  if (dueMicros > Math.max(0, balanceMicros)) return 0;
  const perMs = meteredMicros / HOUR_MS;
  const coming = renewals.map((renewal) => ({ ...renewal }));
  let left = balanceMicros - dueMicros;
  let now = at;
  for (let count = 0; count < MOST_RENEWALS; count++) {
    const next = coming.reduce<Renewal | undefined>((a, b) => (a === undefined || b.at < a.at ? b : a), undefined);
    const emptyAt = perMs > 0 ? now + Math.max(0, left) / perMs : Infinity;
    if (next === undefined || emptyAt <= next.at) return minutes(emptyAt - at);
    left -= (next.at - now) * perMs;
    now = next.at;
    if (left < next.amountMicros) return minutes(now - at);
    left -= next.amountMicros;
    next.at += PERIOD_MS;
  }
  return minutes(now - at);
}

function minutes(ms: number): number {
  return Math.min(LONGEST_MINUTES, Math.floor(ms / MINUTE_MS));
}
