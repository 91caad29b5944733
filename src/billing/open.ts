/** Charges each awake minute once, in whole micros, with its reason in the same write. */
import type { GameConsoles } from '../engines/console/console.ts';
import type { Engine, EngineNodes } from '../engines/engine.ts';
import type { Reachability } from '../engines/reachability.ts';
import type { Log } from '../kernel/log.ts';
import type { SteadyClock } from '../kernel/steady-clock.ts';
import type { Mailer } from '../mail/mail.ts';
import type { Shared } from '../servers/shared.ts';
import { WAKES_AND_INSTALLS, type WakeRule } from '../servers/wake-checks.ts';
import type { Feature } from '../web/feature.ts';
import { openAccountLimits } from './account-limits.ts';
import { createAdmission } from './admission.ts';
import { walletOperations } from './api.ts';
import { AwakeSessions } from './awake-sessions.ts';
import { type Room, capacityOperations } from './capacity-api.ts';
import { type MachineProbe, createCapacity } from './capacity.ts';
import { checkoutOperations } from './checkout-api.ts';
import { Checkouts } from './checkout.ts';
import { Funds } from './funds.ts';
import { limitOperations } from './limits-api.ts';
import { Meter } from './meter.ts';
import { mountBill } from './pages/bill.ts';
import { mountCheckout } from './pages/checkout.ts';
import { mountServerBill } from './pages/server-bill.ts';
import { type Checkout, createTestCheckout } from './payments.ts';
import type { Prices } from './prices.ts';
import { regionOperations } from './regions.ts';
import { usageOperations } from './usage-api.ts';

/** Opens the payment provider; undefined if wallets are not funded by payments. */
export async function openCheckout(
  settings: {
    publicHost: string;
    checkout: 'test' | 'stripe' | 'off';
    stripeSecretKey: string;
    stripeWebhookSecret: string;
    stripeApiUrl: string;
  },
  log: Log,
): Promise<Checkout | undefined> {
  if (settings.checkout === 'off') return undefined;
  if (settings.checkout === 'test') {
    if (settings.publicHost !== 'localhost')
      log.warn('test payments fund wallets without real money: set CHECKOUT to stripe or off for real customers');
    return createTestCheckout();
  }
  // Imported on demand, to keep other starts fast.
  const { createStripeCheckout } = await import('./stripe-checkout.ts');
  const { stripeSecretKey: secretKey, stripeWebhookSecret: webhookSecret, stripeApiUrl: apiUrl } = settings;
  return createStripeCheckout({ secretKey, webhookSecret, apiUrl });
}

type Billing = Awaited<ReturnType<typeof openBilling>>;

/** Opens sessions, wallets, capacity and limits. Nothing is charged before `startMeter`. */
export async function openBilling(
  shared: Shared,
  parts: {
    probe: MachineProbe;
    steady: SteadyClock;
    /** The machines that games run on, if there are several. */
    nodes?: EngineNodes | undefined;
    consoles: GameConsoles;
    mailer: Mailer;
    /** Undefined if wallets are not funded by payments. */
    checkout: Checkout | undefined;
    settings: {
      pricePerGbHourMicros: number;
      pricePerGbMonthMicros: number;
      maxRamMb: number;
      maxServersPerAccount: number;
      baseUrl: string;
      nodeLabel: string;
      region: string;
    };
  },
) {
  const { store, servers, clock, onClose } = shared;
  const { probe, steady, nodes, consoles, mailer, checkout, settings } = parts;
  const { baseUrl, maxRamMb, maxServersPerAccount: maxServers, nodeLabel, region } = settings;
  const prices: Prices = {
    perGbHourMicros: settings.pricePerGbHourMicros,
    perGbMonthMicros: settings.pricePerGbMonthMicros,
  };
  const sessions = new AwakeSessions(clock, steady, prices);
  const live = () => servers.live();
  const capacity = await createCapacity(clock, probe, live, nodes, region);
  onClose(() => capacity.close());
  const funds = new Funds(shared, { consoles, mailer, prices, baseUrl });
  const accountLimits = await openAccountLimits(store, { maxRamMb, maxServers });
  const admit = createAdmission(live, capacity, accountLimits, { nodeLabel, nodes, home: region });
  /** Checks the wallet, then the machine and the account's limits. */
  const wakeRules: readonly WakeRule[] = [
    { check: (row, batchRead) => funds.check(row, batchRead) },
    { check: async () => admit, commands: WAKES_AND_INSTALLS },
  ];

  return {
    prices,
    /** Sessions begin and end in the write of the server's step. */
    sessions,
    capacity,
    funds,
    accountLimits,
    checkouts: new Checkouts(shared, checkout, baseUrl),
    wakeRules,
    /** Starts charging running servers. Call it once they are restored and reconciled. */
    async startMeter(engine: Engine): Promise<Meter> {
      const meter = new Meter(shared, { engine, steady, sessions, prices, funds });
      await meter.start();
      onClose(async () => {
        await meter.close();
        funds.close();
      });
      return meter;
    },
  };
}

/** Wallets, their funding, prices, limits and capacity: over the API and on pages. */
export function billingFeature(
  shared: Shared,
  { prices, capacity, accountLimits, checkouts }: Billing,
  reachability: Reachability,
  drain: Room['drain'],
): Feature {
  const room = { accountLimits, capacity, reachability, drain };
  return {
    operations: [
      ...walletOperations(shared, { prices, checkouts }),
      ...limitOperations(accountLimits),
      ...checkoutOperations(checkouts),
      ...capacityOperations(room),
      ...regionOperations(room),
      ...usageOperations(shared, prices),
    ],
    pages: (serve) => mountCheckout(serve, checkouts),
    panel(panel) {
      mountBill(panel, shared.servers);
      mountServerBill(panel);
    },
  };
}
