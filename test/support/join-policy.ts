import type { JoinPolicy } from '../../src/joining/join-policy.ts';

/** Lets everybody in, and anyone wake. */
export const OPEN_POLICY: Pick<JoinPolicy, 'admit' | 'mayWake' | 'policyOf'> = {
  admit: async () => {},
  mayWake: async () => {},
  policyOf: () => ({ mode: 'anyone', maxWakesPerDay: 0, asleepMotd: '', maintenanceText: '' }),
};
