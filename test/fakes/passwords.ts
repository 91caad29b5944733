import type { ConsolePasswords } from '../../src/engines/console/passwords.ts';

/** The same password for each game. */
export function fakePasswords(password = 'secret'): ConsolePasswords {
  return { of: () => password, renew: async () => password, forget: async () => {} };
}
