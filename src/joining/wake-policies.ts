import { openRowCache } from '../store/row-cache.ts';
import type { Store, Tx } from '../store/store.ts';
import { type WakePolicyRow, listWakePolicies, saveWakePolicy } from './rows.ts';

/** Players who can wake a server by joining, and its server-list text while asleep. */
export type WakePolicy = Readonly<Omit<WakePolicyRow, 'serverId'>>;

export const WAKE_MODES = ['anyone', 'known', 'whitelist', 'verified', 'nobody'] as const;

/** The wake policies of all servers, held in memory because every login and every server list needs them. */
export interface WakePolicies {
  of(serverId: string): WakePolicy;
  /** Stores the policy. `also` runs in the same write. */
  set(serverId: string, policy: WakePolicy, also: (tx: Tx) => Promise<void>): Promise<void>;
  /** Forgets a deleted server, whose row is already gone. */
  forget(serverId: string): void;
}

const ANYONE: WakePolicy = Object.freeze({ mode: 'anyone', maxWakesPerDay: 0, asleepMotd: '', maintenanceText: '' });

export async function openWakePolicies(store: Store): Promise<WakePolicies> {
  const policies = await openRowCache(store, listWakePolicies, ({ serverId, ...policy }) => [serverId, policy]);
  return {
    of: (serverId) => policies.of(serverId) ?? ANYONE,
    async set(serverId, { mode, maxWakesPerDay, asleepMotd, maintenanceText }, also) {
      const policy = { mode, maxWakesPerDay, asleepMotd, maintenanceText };
      await policies.set(serverId, policy, async (tx) => {
        await saveWakePolicy(tx, { serverId, ...policy });
        await also(tx);
      });
    },
    forget: (serverId) => policies.forget(serverId),
  };
}
