/**
 * Updates the server-list lines of sleeping servers that a rule prevents from waking. Never wakes a server, and makes
 * at most a few checks per second, however many servers sleep.
 */
import { isTagged } from '../../machines/server.ts';
import type { Clock } from '../kernel/clock.ts';
import { every } from '../kernel/every.ts';
import type { Log } from '../kernel/log.ts';
import type { StatusError } from '../kernel/status.ts';
import { waitsForRoom } from '../servers/server-now.ts';
import type { Servers } from '../servers/servers.ts';
import { refusalLine } from './refusals.ts';

export type Wakeability = ReturnType<typeof watchWakeability>;

const LOOK_MS = 15_000;
/** Servers checked per round. Few installations have more, and a large one must not be slowed down. */
const MOST_A_ROUND = 50;

/** Checks each sleeping server in turn, and at once when it falls asleep or changes. */
export function watchWakeability(
  servers: Servers,
  clock: Clock,
  log: Log,
  {
    sleepers,
    changed,
    look,
  }: {
    /** Returns the ids of all sleeping servers. */
    sleepers: () => readonly string[];
    /** Called when the line of a server has changed. */
    changed: (serverId: string) => void;
    /** Another check of each server in the same rounds. */
    look: (serverId: string) => Promise<void>;
  },
) {
  const lines = new Map<string, string>();
  /** Servers to be checked next, ahead of their turn. */
  const soon = new Set<string>();
  let nextIndex = 0;
  let isLooking = false;
  let closed = false;

  function set(id: string, line: string | undefined): void {
    if (lines.get(id) === line) return;
    if (line === undefined) lines.delete(id);
    else lines.set(id, line);
    changed(id);
  }

  async function ask(id: string): Promise<void> {
    try {
      await look(id);
      const refusal = await servers.refusal(id);
      if (!closed) set(id, refusal && refusalLine(refusal));
    } catch (err) {
      log.debug({ server: id, err }, 'could not check whether a sleeping server can wake');
    }
  }

  async function check(ids: Iterable<string>): Promise<void> {
    if (isLooking) return;
    isLooking = true;
    for (const id of ids) if (!closed) await ask(id);
    for (const id of soon) {
      soon.delete(id);
      if (!closed) await ask(id);
    }
    isLooking = false;
  }

  /** Returns the next servers to check. Servers with a line come first, because it may be outdated. */
  function nextRound(): string[] {
    const all = sleepers();
    const notified = [...lines.keys()].slice(0, MOST_A_ROUND / 2);
    const rest = Math.min(all.length, MOST_A_ROUND - notified.length);
    const next = Array.from({ length: rest }, (_, index) => all[(nextIndex + index) % all.length]!);
    nextIndex = all.length === 0 ? 0 : (nextIndex + rest) % all.length;
    return [...new Set([...notified, ...next])];
  }

  const cancel = every(clock, LOOK_MS, () => void check(nextRound()));
  const unobserve = servers.observe((id, now) => {
    if (now === null || isTagged(now.state, 'awake')) return set(id, undefined);
    if (now.state !== 'hibernated' && !waitsForRoom(now)) return;
    if (soon.size < MOST_A_ROUND) soon.add(id);
    void check([]);
  });

  return {
    /** Returns the line that replaces the hint on how to wake the server; undefined if no refusal is known. */
    lineOf: (serverId: string) => lines.get(serverId),
    /** Reports a player's refused wake. */
    refused: (serverId: string, error: StatusError) => set(serverId, refusalLine(error)),
    close(): void {
      closed = true;
      cancel();
      unobserve();
    },
  };
}
