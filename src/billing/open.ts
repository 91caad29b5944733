/** Charges each awake minute once, in whole micros, with its reason in the same write. */
import type { MachineProbe } from './machine-probe.ts';
import type { GameConsoles } from '../engines/console/console.ts';
import type { Engine, EngineNodes } from '../engines/engine.ts';
import type { Reachability } from '../engines/reachability.ts';
import type { SteadyClock } from '../kernel/steady-clock.ts';
import { recordThrough } from '../people/audit/system.ts';
import type { Mailer } from '../people/mail/mail.ts';
import type { Shared } from '../servers/shared.ts';
import { WAKES_AND_INSTALLS, type WakeRule } from '../servers/wake-checks.ts';
import type { Feature } from '../web/feature.ts';
import { type AccountLimits, openAccountLimits } from './account-limits.ts';
import { createAdmission } from './admission.ts';
import { ledgerOperations, spendCapOperations, walletOperations } from './api.ts';
import { AwakeSessions } from './awake-sessions.ts';
import { capacityOperations } from './capacity-api.ts';
import { type Capacity, createCapacity } from './capacity.ts';
import { checkoutCallbackOperations, checkoutOperations } from './checkout-api.ts';
import { type Checkouts, createCheckouts } from './checkout.ts';
import { Funds, type FundsOptions } from './funds.ts';
import { limitOperations } from './limits-api.ts';
import { Meter } from './meter.ts';
import { mountBill } from './pages/bill.ts';
import { mountCheckout } from './pages/checkout.ts';
import { mountServerBill } from './pages/server-bill.ts';
import type { Checkout } from './payments.ts';
import type { Prices } from './prices.ts';
import { regionOperations } from './regions.ts';
import { usageOperations } from './usage-api.ts';

/** The measurements of runs. */
export interface Measures {
  prices: Prices;
  /** Sessions begin and end in the write of the server's step. */
  sessions: AwakeSessions;
  /** The machine's capacity. */
  capacity: Capacity;
}

export interface MeasuresOptions extends Shared {
  probe: MachineProbe;
  steady: SteadyClock;
  /** The machines that games run on, if there are several. */
  nodes?: EngineNodes | undefined;
  settings: { pricePerGbHourMicros: number; pricePerGbMonthMicros: number; region?: string };
}

/** Opens the measurements of the servers' steps. */
export async function openMeasures(options: MeasuresOptions): Promise<Measures> {
  const { servers, probe, steady, nodes, settings, clock, onClose } = options;
  const prices: Prices = {
    perGbHourMicros: settings.pricePerGbHourMicros,
    perGbMonthMicros: settings.pricePerGbMonthMicros,
  };
  const sessions = new AwakeSessions({ clock, steady, prices, record: recordThrough('system') });
  const capacity = await createCapacity({ probe, live: () => servers.live(), nodes, region: settings.region, clock });
  onClose(() => capacity.close());
  return { prices, sessions, capacity };
}

/** The checks of an account before one of its servers wakes. */
export interface Allowance {
  funds: Funds;
  accountLimits: AccountLimits;
  /** Check the wallet, then the machine and the account's limits. */
  wakeRules: readonly WakeRule[];
}

export interface AllowanceOptions extends Shared {
  capacity: Capacity;
  prices: Prices;
  consoles: GameConsoles;
  mailer: Mailer;
  onCapReached: FundsOptions['onCapReached'];
  /** The machines that games run on, if there are several. */
  nodes?: EngineNodes | undefined;
  settings: { baseUrl: string; maxRamMb: number; maxServersPerAccount: number; nodeLabel: string; region: string };
}

/** Opens the checks of wallets, the machine and the accounts' limits. */
export async function openAllowance(options: AllowanceOptions): Promise<Allowance> {
  const { store, servers, capacity, prices, consoles, mailer, onCapReached, clock, log, onClose } = options;
  const { baseUrl, maxRamMb, maxServersPerAccount: maxServers, nodeLabel, region } = options.settings;
  const funds = new Funds({
    store,
    clock,
    servers,
    consoles,
    mailer,
    prices,
    baseUrl,
    log,
    record: recordThrough('system'),
    onCapReached,
  });
  onClose(() => funds.close());
  const accountLimits = await openAccountLimits(store, { maxRamMb, maxServers });
  const admission = createAdmission({
    live: () => servers.live(),
    capacity,
    limits: accountLimits,
    nodeLabel,
    region,
    nodes: options.nodes,
  });
  const wakeRules: WakeRule[] = [
    { check: (row, batchRead) => funds.check(row, batchRead) },
    { check: async () => (now) => admission.admit(now), commands: WAKES_AND_INSTALLS },
  ];
  return { funds, accountLimits, wakeRules };
}

export interface MeterOptions extends Omit<Shared, 'serverOperation'> {
  engine: Engine;
  sessions: AwakeSessions;
  steady: SteadyClock;
  prices: Prices;
  funds: Funds;
}

/** Starts charging running servers. */
export async function openMeter({ funds, onClose, ...billing }: MeterOptions): Promise<Meter> {
  const meter = await Meter.start({
    ...billing,
    record: recordThrough('system'),
    afterRound: (unpaid) => funds.enforce(unpaid),
  });
  onClose(() => meter.close());
  return meter;
}

export interface BillingFeatureOptions extends Shared {
  prices: Prices;
  capacity: Capacity;
  reachability: Reachability;
  accountLimits: AccountLimits;
  /** Why starts are refused, in a region or in general; undefined if they are not. */
  drain: { regions(): readonly string[]; closed(region?: string): object | undefined };
  /** Undefined if wallets are not funded by payments. */
  checkout: Checkout | undefined;
  settings: { baseUrl: string };
}

/** Wallets, their funding, prices, limits and capacity: over the API and on pages. */
export function billingFeature(options: BillingFeatureOptions): { checkouts: Checkouts; feature: Feature } {
  const { store, servers, prices, capacity, reachability, accountLimits, drain, checkout } = options;
  const { serverOperation, clock, log } = options;
  const { baseUrl } = options.settings;
  const checkouts = createCheckouts({
    store,
    clock,
    log,
    checkout,
    baseUrl,
    record: recordThrough('system checkout'),
  });
  const wallet = { store, servers, prices, checkouts, clock, log };
  const room = { accountLimits, capacity, reachability, drain };
  return {
    checkouts,
    feature: {
      operations: [
        ...walletOperations(wallet),
        ...limitOperations({ accountLimits }),
        ...checkoutOperations({ checkouts }),
        ...spendCapOperations(wallet),
        ...capacityOperations(room),
        ...regionOperations(room),
        ...usageOperations({ serverOperation, store, clock, prices }),
        ...ledgerOperations(wallet),
      ],
      publicOperations: checkoutCallbackOperations({ checkouts }),
      pages: (serve) => mountCheckout(serve, checkouts),
      panel(panel) {
        mountBill(panel, { servers });
        mountServerBill(panel);
      },
    },
  };
}
