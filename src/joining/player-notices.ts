import { addNotice, listListeners } from '../notices/rows.ts';
import type { Presence } from '../servers/presence.ts';
import type { Shared } from '../servers/shared.ts';

/**
 * Notifies webhooks of players who join and leave. Players who are on a game when the service starts are not announced.
 * Returns a function that stops this.
 */
export function noticePlayers(
  { store, servers, clock, log }: Pick<Shared, 'store' | 'servers' | 'clock' | 'log'>,
  presence: Pick<Presence, 'follow' | 'isKnown' | 'of'>,
  playersOf: (serverId: string) => readonly { name: string }[],
): () => void {
  const online = new Map<string, ReadonlySet<string>>();

  async function notice(serverId: string, joined: string[], left: string[], at: number): Promise<void> {
    const accountId = (await servers.get(serverId))?.row.accountId;
    // Joins are frequent, so they cost no write without a listener.
    if (accountId === undefined || (await listListeners(store, accountId, serverId, 'players')).length === 0) return;
    await store.write(async (tx) => {
      const about = { accountId, serverId, at };
      for (const detail of joined) await addNotice(tx, { ...about, event: 'player.join', detail });
      for (const detail of left) await addNotice(tx, { ...about, event: 'player.leave', detail });
    });
  }

  return presence.follow((serverId) => {
    const before = online.get(serverId) ?? new Set<string>();
    const connected = new Set(playersOf(serverId).map(({ name }) => name));
    // While players log in, it is unknown which of them the game has accepted.
    const isSettled = presence.of(serverId).knocking === 0;
    const now = isSettled ? connected : new Set([...before].filter((name) => connected.has(name)));
    if (now.size === 0) online.delete(serverId);
    else online.set(serverId, now);
    if (!presence.isKnown()) return;
    const joined = [...now].filter((name) => !before.has(name));
    const left = [...before].filter((name) => !now.has(name));
    if (joined.length + left.length === 0) return;
    notice(serverId, joined, left, clock.now()).catch((err: unknown) =>
      log.warn({ server: serverId, err }, 'webhooks were not notified of players'),
    );
  });
}
