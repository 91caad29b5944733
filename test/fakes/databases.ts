import type { Databases } from '../../src/databases/database-server.ts';
import { StatusError } from '../../src/kernel/status.ts';

export interface FakeDatabases extends Databases {
  /** By name: the password that holds. */
  passwords: Map<string, string>;
  /** Out of reach while set. */
  away: boolean;
  /** What is called before each change, as a place to fail. */
  before: () => Promise<void>;
}

/** A server of databases in memory. */
export function fakeDatabases(): FakeDatabases {
  const passwords = new Map<string, string>();
  const reach = async () => {
    await fake.before();
    if (fake.away) throw new StatusError('UNAVAILABLE', 'DATABASE_SERVER_UNAVAILABLE', 'away');
  };
  const fake: FakeDatabases = {
    passwords,
    away: false,
    before: async () => {},
    async provide(name, password) {
      await reach();
      passwords.set(name, password);
    },
    async remove(name) {
      await reach();
      passwords.delete(name);
    },
    close: async () => {},
  };
  return fake;
}
