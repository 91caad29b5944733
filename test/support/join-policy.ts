import type { JoinPolicy } from '../../src/joining/join-policy.ts';

/** A policy that admits every player and lets every player wake a server. */
export const OPEN_POLICY: JoinPolicy = {
  admit: async () => {},
  mayWake: async () => {},
  mayWakeUnnamed: async () => {},
  bannedAddresses: async () => [],
  wakeCap: async () => () => {},
  policyOf: () => ({ mode: 'anyone', maxWakesPerDay: 0, asleepMotd: '', maintenanceText: '' }),
};
