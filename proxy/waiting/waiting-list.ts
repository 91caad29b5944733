import { ExpiringMap } from '../expiring-map.ts';
import { prefixesOf } from '../limits.ts';
import type { Player } from '../ports.ts';

const MOST_NAMES = 5;
const MOST_EXPECTED = 10_000;

/** The players waiting for each server, and the transferred players expected to come back to a ready server. */
export class WaitingList {
  readonly #returnMs: number;
  /** By server, in order of arrival. */
  readonly #waiting = new Map<string, Set<Player>>();
  readonly #expected: ExpiringMap<true>;

  /** `returnMs`: how long a transferred player may take to come back. `now`: monotonic ms. */
  constructor(returnMs: number, now: () => number) {
    this.#returnMs = returnMs;
    this.#expected = new ExpiringMap(MOST_EXPECTED, now);
  }

  /** Adds a waiting player. Returns a function that removes it. */
  add(serverId: string, player: Player): () => void {
    const players = this.#waiting.get(serverId) ?? new Set();
    this.#waiting.set(serverId, players.add(player));
    return () => {
      players.delete(player);
      if (players.size === 0) this.#waiting.delete(serverId);
    };
  }

  /** Returns the other players waiting for the same server. */
  others(serverId: string, player: Player): { names: string[]; more: number } {
    const names: string[] = [];
    const players = this.#waiting.get(serverId);
    for (const other of players ?? []) {
      if (other !== player) names.push(other.name);
      if (names.length === MOST_NAMES) break;
    }
    const others = (players?.size ?? 0) - (players?.has(player) ? 1 : 0);
    return { names, more: others - names.length };
  }

  /** Expects the player to come back to `host` soon. */
  expect(host: string, player: Player): void {
    this.#expected.set(keyOf(host, player), true, this.#returnMs);
  }

  /** Reports whether this player was expected, and removes the expectation. */
  takeBack(host: string, player: Player): boolean {
    const key = keyOf(host, player);
    const isExpected = this.#expected.has(key);
    this.#expected.delete(key);
    return isExpected;
  }
}

function keyOf(host: string, { ip, name }: Player): string {
  return `${prefixesOf(ip)[0]} ${name} ${host}`;
}
