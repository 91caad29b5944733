import { randomBytes } from 'node:crypto';
import type { Secret } from '../../store/secret.ts';
import type { Store } from '../../store/store.ts';
import { deleteConsoleSalt, listConsoleSalts, setConsoleSalt } from './salt-rows.ts';

/**
 * The passwords of games' consoles. Each start gets a new one, so a password read in a file or a log is worthless after
 * the next start. Only a salt is stored. The password is derived from it and the installation's secret, so the next
 * service process can also talk to a running game.
 */
export interface ConsolePasswords {
  /**
   * Returns the password of the game that runs or ran last. Before the first start, it is derived from the server's id
   * alone.
   */
  of(serverId: string): string;
  /** Sets a new password, for a game that is about to start. */
  renew(serverId: string): Promise<string>;
  forget(serverId: string): Promise<void>;
}

const SALT_BYTES = 16;

export async function openConsolePasswords(store: Store, secret: Secret): Promise<ConsolePasswords> {
  const salts = await listConsoleSalts(store);

  function of(serverId: string): string {
    const salt = salts.get(serverId);
    return secret.derive('rcon', salt === undefined ? serverId : `${serverId}\0${salt}`);
  }

  return {
    of,
    async renew(serverId) {
      const salt = randomBytes(SALT_BYTES).toString('base64url');
      await store.write((tx) => setConsoleSalt(tx, serverId, salt));
      salts.set(serverId, salt);
      return of(serverId);
    },
    async forget(serverId) {
      await store.write((tx) => deleteConsoleSalt(tx, serverId));
      salts.delete(serverId);
    },
  };
}
