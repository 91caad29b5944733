import { type AccountLimits, openAccountLimits } from '../billing/account-limits.ts';
import { createAdmission } from '../billing/admission.ts';
import { type Capacity, createCapacity } from '../billing/capacity.ts';
import { type Checkouts, createCheckouts } from '../billing/checkout.ts';
import { type Funds, createFunds } from '../billing/funds.ts';
import { createMachineProbe } from '../billing/machine-probe.ts';
import { type Meter, startMeter } from '../billing/meter.ts';
import type { Prices } from '../billing/prices.ts';
import { type Sessions, createSessions } from '../billing/sessions.ts';
import { openSteadyClock } from '../billing/steady-clock.ts';
import type { Console } from '../engines/console/console.ts';
import type { Engine } from '../engines/engine.ts';
import type { Alerts } from '../insight/alerts/alerts.ts';
import { bootId } from '../kernel/process-identity.ts';
import type { SteadyClock } from '../kernel/steady-clock.ts';
import { recordThrough } from '../people/audit/system.ts';
import type { Mailer } from '../people/mail/mail.ts';
import type { Servers } from '../servers/servers.ts';
import { INSTALLS, WAKES } from '../servers/wake-checks.ts';
import type { Store } from '../store/store.ts';
import { openCheckout } from './checkout.ts';
import type { Startup } from './startup.ts';

/** What a run of a server costs, and what the machine has to give. */
export interface Money {
  prices: Prices;
  steady: SteadyClock;
  sessions: Sessions;
  capacity: Capacity;
}

/** Opens what the servers' steps are measured by. `live` is not asked before they are there. */
export async function openMoney(
  { config, clock, onClose }: Startup,
  options: { store: Store; engine: Engine; monotonicMs: () => number; live: Servers['live'] },
): Promise<Money> {
  const { store, engine, monotonicMs, live } = options;
  const prices: Prices = {
    perGbHourMicros: config.pricePerGbHourMicros,
    perGbMonthMicros: config.pricePerGbMonthMicros,
  };
  // The kernel's count of time is the machine's: another container of this service goes on with it.
  const steady = await openSteadyClock(store, { clock, monotonicMs, epoch: await bootId() });
  const sessions = createSessions({ clock, steady, prices, record: recordThrough('system') });
  // Child processes live within this process's own limits; containers stand beside it.
  const probe = createMachineProbe({ dataDir: config.dataDir, ownLimits: engine.kind === 'process' });
  const capacity = await createCapacity({ probe, engine, live, clock });
  onClose(() => capacity.close());
  return { prices, steady, sessions, capacity };
}

/** What of an account is asked before one of its servers wakes. */
export interface Allowance {
  funds: Funds;
  accountLimits: AccountLimits;
}

export interface AllowanceOptions extends Pick<Money, 'prices' | 'capacity'> {
  store: Store;
  servers: Servers;
  console: Console;
  rconPassword: (serverId: string) => string;
  mailer: Mailer;
  alerts: Pick<Alerts, 'spendCapReached'>;
}

/** From now on wakes are held against wallets, then against the machine and the accounts' limits. */
export async function openAllowance(
  { config, log, clock, onClose }: Startup,
  options: AllowanceOptions,
): Promise<Allowance> {
  const { store, servers, console, rconPassword, mailer, prices, capacity, alerts } = options;
  const { baseUrl, maxRamMb, maxServersPerAccount: maxServers, nodeLabel } = config;
  const funds = createFunds({
    store,
    clock,
    servers,
    console,
    rconPassword,
    mailer,
    prices,
    baseUrl,
    log,
    record: recordThrough('system'),
    onCapReached: alerts.spendCapReached,
  });
  onClose(() => funds.close());
  servers.checkWakes(funds.check);
  const accountLimits = await openAccountLimits(store, { maxRamMb, maxServers });
  const admission = createAdmission({ live: () => servers.live(), capacity, limits: accountLimits, nodeLabel });
  servers.checkWakes(async () => (now) => admission.admit(now), [...WAKES, ...INSTALLS]);
  return { funds, accountLimits };
}

/** Begins to charge for what runs, and to fund wallets. */
export async function startCharging(
  startup: Startup,
  options: Omit<Money, 'capacity'> & { store: Store; engine: Engine; servers: Servers; funds: Funds },
): Promise<{ checkouts: Checkouts; meter: Meter }> {
  const { config, log, clock, onClose } = startup;
  const { store, engine, servers, prices, steady, sessions, funds } = options;
  const checkouts = createCheckouts({
    store,
    clock,
    log,
    baseUrl: config.baseUrl,
    checkout: await openCheckout(startup),
    record: recordThrough('system checkout'),
  });
  const billing = { store, clock, steady, engine, servers, sessions, prices, log, record: recordThrough('system') };
  const meter = await startMeter({ ...billing, afterRound: funds.enforce });
  onClose(() => meter.close());
  return { checkouts, meter };
}
