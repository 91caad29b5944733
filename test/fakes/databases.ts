import type { Databases } from '../../src/databases/databases.ts';
import { StatusError } from '../../src/kernel/status.ts';

export interface FakeDatabases extends Databases {
  /** The current password of each database, by name. */
  passwords: Map<string, string>;
  /** Makes the server unavailable while it is set. */
  away: boolean;
  /** Called before each change, so that a test can make the change fail. */
  before: () => Promise<void>;
}

/** Creates a database server in memory. */
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
