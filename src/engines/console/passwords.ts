import { randomBytes } from 'node:crypto';
import type { Secret } from '../../store/secret.ts';
import type { Store } from '../../store/store.ts';
import { deleteConsoleSalt, listConsoleSalts, setConsoleSalt } from './salt-rows.ts';

/**
 * The passwords of games' consoles. Each start has its own: who has read one, in a file or a log, can do nothing with it
 * behind the next start. None is stored, but what makes it of the installation's secret, so that a running game can be talked
 * to by the next service too.
 */
export interface ConsolePasswords {
  /** That of the game that runs, or ran last. A game that an earlier version started has one of its server's id alone. */
  of(serverId: string): string;
  /** Another one from now on, for a game that is about to start. */
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
