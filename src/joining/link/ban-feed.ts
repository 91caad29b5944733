import type { BannedAddress } from '../../../proxy/link/messages.ts';
import { every } from '../../kernel/every.ts';
import type { Log } from '../../kernel/log.ts';
import type { Shared } from '../../servers/shared.ts';
import type { JoinPolicy } from '../join-policy.ts';
import type { BanFeed } from './notifier.ts';
import { KIB } from '../../kernel/units.ts';

/** How often the games' files are checked. Checking an unchanged file is one system call. */
const LOOK_MS = 5_000;
/** Limit of one list's text. Bans beyond it still apply, a moment after the player has joined. */
const MOST_UNITS = 256 * KIB;

/** Keeps the banned addresses of all running games in memory, so that proxies can decide without asking. */
export function createBanFeed(
  { servers, clock }: Shared,
  joinPolicy: JoinPolicy,
  log: Log,
): BanFeed & { close(): void } {
  /** `list` is `all`, shortened to the limit. */
  const lists = new Map<string, { all: readonly BannedAddress[]; text: string; list: readonly BannedAddress[] }>();
  const listeners = new Set<(serverId: string) => void>();

  async function refresh(serverId: string): Promise<void> {
    try {
      const all = await joinPolicy.bannedAddresses(serverId);
      const known = lists.get(serverId);
      if (!known || known.all === all) return;
      const list = within(all);
      const text = JSON.stringify(list);
      lists.set(serverId, { all, text, list });
      if (known.text === text) return;
      for (const listener of listeners) listener(serverId);
    } catch (err) {
      log.warn({ server: serverId, err }, 'could not read bans');
    }
  }

  const unobserve = servers.observe((id, now) => {
    const isRunning = now?.state === 'running';
    if (isRunning === lists.has(id)) return;
    if (isRunning) {
      lists.set(id, { all: [], text: '[]', list: [] });
      void refresh(id);
    } else {
      lists.delete(id);
      for (const listener of listeners) listener(id);
    }
  });

  let isLooking = false;
  const cancel = every(clock, LOOK_MS, () => {
    if (isLooking) return;
    isLooking = true;
    void Promise.all([...lists.keys()].map(refresh)).finally(() => (isLooking = false));
  });

  return {
    *all() {
      for (const [id, { list }] of lists) yield [id, list];
    },
    refresh: (serverId) => void refresh(serverId),
    of: (serverId) => lists.get(serverId)?.list ?? [],
    follow(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    close() {
      unobserve();
      cancel();
    },
  };
}

function within(bans: readonly BannedAddress[]): readonly BannedAddress[] {
  let units = 0;
  const cut = bans.findIndex((ban) => (units += JSON.stringify(ban).length) > MOST_UNITS);
  return cut < 0 ? bans : bans.slice(0, cut);
}
