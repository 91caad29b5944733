import type { Management } from '../engines/console/management-port.ts';
import type { Engine } from '../engines/engine.ts';
import { type ManagedRow, hasManagement, managementSecret } from '../game/management-settings.ts';
import type { Address } from '../kernel/address.ts';
import type { Clock } from '../kernel/clock.ts';
import { MINUTE_MS } from '../kernel/units.ts';

/** How long a faulty management port is left alone; each attempt writes to the game's log. */
export const REST_MS = MINUTE_MS;

export interface ManagedPlayersOptions {
  engine: Pick<Engine, 'inspect'>;
  management: Management;
  clock: Clock;
  rconPassword: (serverId: string) => string;
}

/** Counts the players of one server through its management port. */
export interface ManagedPlayers {
  /** Returns null if the game has no such port, or the port does not answer. */
  count(row: ManagedRow): Promise<number | null>;
  /** Whether the port reports each change. */
  isFollowed(): boolean;
  end(): void;
}

/**
 * Queries the management port of a running game. Once it has answered, `changed` is called when a player joins or
 * leaves.
 */
export function managedPlayers(options: ManagedPlayersOptions, id: string, changed: () => void): ManagedPlayers {
  const { engine, management, clock, rconPassword } = options;
  let address: Address | null = null;
  let unwatch = () => {};
  let restsUntil = 0;
  let over = false;

  function follow(found: Address): void {
    if (over || address !== null) return;
    address = found;
    unwatch = management.watch(found, changed);
  }

  function unfollow(): void {
    address = null;
    unwatch();
  }

  return {
    async count(row) {
      if (!hasManagement(row) || clock.now() < restsUntil) return null;
      try {
        const asked = address ?? (await engine.inspect(id))?.management ?? null;
        if (asked === null) return null;
        const players = await management.players(asked, managementSecret(rconPassword(id)));
        follow(asked);
        return players.length;
      } catch {
        unfollow();
        restsUntil = clock.now() + REST_MS;
        return null;
      }
    },
    isFollowed: () => address !== null,
    end() {
      over = true;
      unfollow();
    },
  };
}
