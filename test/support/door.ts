import type { Door } from '../../src/joining/bans.ts';

/** Lets everybody in, and anyone wake. */
export const OPEN_DOOR: Pick<Door, 'admit' | 'mayWake' | 'policyOf'> = {
  admit: async () => {},
  mayWake: async () => {},
  policyOf: () => ({ mode: 'anyone', maxWakesPerDay: 0, asleepMotd: '', maintenanceText: '' }),
};
