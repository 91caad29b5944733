/**
 * A queue of players whose servers have no room on the nodes. They join as soon as there is room, and see their place
 * until then. Stores nothing, and changes a server only as its waiting players would.
 */
import { isTagged } from '../../machines/server.ts';
import type { Clock } from '../kernel/clock.ts';
import { every } from '../kernel/every.ts';
import { StatusError } from '../kernel/status.ts';
import type { ServerNow } from '../servers/server-now.ts';
import type { Servers } from '../servers/servers.ts';
import { MINUTE_MS } from '../kernel/units.ts';

/** A player in the queue, or a server that queues for itself. */
export interface Waiter {
  serverId: string;
  /** When the player came (epoch ms); determines the place. */
  since: number;
  /** Longest wait; default: ten minutes. Infinity: the caller ends the wait. */
  patienceMs?: number;
  /** Aborted when the player has gone. */
  signal: AbortSignal;
  /**
   * Wakes the server for this player. Rejects with NODE_CAPACITY while there is no room, and with any other refusal.
   */
  wake: () => Promise<void>;
  /** Called with the place, from 1, whenever it changes; null once the player has left the queue or needs no place. */
  notify: (place: number | null) => void;
}

/** A player in the queue. */
interface Ticket extends Waiter {
  /** The refusal to reject with when the time is up. */
  refusal: StatusError;
  notified: number | null;
  leave(outcome?: unknown): void;
}

/** One server in the queue. All its waiting players join together when the first of them does. */
interface Place {
  ramMb: number;
  /** Capacity in another region does not count. */
  region: string | undefined;
  /** When its first player came, even if that player has gone since. */
  since: number;
  tickets: Ticket[];
}

const MOST_PLAYERS = 1_000;
const PATIENCE_MS = 10 * MINUTE_MS;
/** Freed disk space is not reported, so room is also checked at this interval. */
const LOOK_MS = 15_000;

/**
 * The queue for the nodes, with players of all proxies, first come, first served. If the free room is too small for one
 * server, a smaller one behind it goes first. Room is checked when a server comes to rest, and every 15 s.
 */
export class Line {
  readonly #clock: Clock;
  readonly #servers: Servers;
  /** Servers in the queue, by id. */
  readonly #places = new Map<string, Place>();
  readonly #unobserve: () => void;
  #players = 0;
  /** Counts the moments at which there may have been room. */
  #chances = 0;
  #round: Promise<void> | undefined;
  #isTelling = false;
  #stopLooking: (() => void) | undefined;

  constructor(servers: Servers, clock: Clock) {
    this.#clock = clock;
    this.#servers = servers;
    this.#unobserve = servers.observe((id, now) => this.#observed(id, now));
  }

  /**
   * Resolves once the server is woken for this player, or is already awake. Rejects with the refusal: NODE_CAPACITY if
   * the server is larger than the node, the queue is full, or the ten minutes are over; or with the reason of `signal`.
   */
  async enter(waiter: Waiter): Promise<void> {
    // Keeps newcomers from taking a freed place before those in the queue.
    while (this.#round) await this.#round;
    waiter.signal.throwIfAborted();
    const seen = this.#chances;
    try {
      await waiter.wake();
      waiter.notify(null);
    } catch (error) {
      waiter.signal.throwIfAborted();
      if (!isFull(error) || this.#players >= MOST_PLAYERS) throw error;
      const { ramMb = 0, region } = (await this.#servers.get(waiter.serverId))?.row ?? {};
      waiter.signal.throwIfAborted();
      const waiting = this.#wait(waiter, { ramMb, region }, error);
      if (seen !== this.#chances) this.#look();
      await waiting;
    }
  }

  close(): void {
    this.#unobserve();
    this.#stopLooking?.();
  }

  #wait(waiter: Waiter, needs: { ramMb: number; region: string | undefined }, refusal: StatusError): Promise<void> {
    const { serverId, signal, since, patienceMs = PATIENCE_MS } = waiter;
    const place = this.#places.get(serverId) ?? { ...needs, since, tickets: [] };
    place.since = Math.min(place.since, since);
    this.#places.set(serverId, place);
    return new Promise((resolve, reject) => {
      const onAbort = (): void => ticket.leave(signal.reason);
      const ticket: Ticket = {
        ...waiter,
        refusal,
        notified: null,
        leave: (outcome) => {
          if (!this.#remove(serverId, ticket)) return;
          cancel();
          signal.removeEventListener('abort', onAbort);
          waiter.notify(null);
          if (outcome === undefined) resolve();
          else reject(outcome);
        },
      };
      const expire = (): void => ticket.leave(ticket.refusal);
      const cancel = patienceMs === Infinity ? () => {} : this.#clock.at(since + patienceMs, expire);
      signal.addEventListener('abort', onAbort, { once: true });
      place.tickets.push(ticket);
      this.#players++;
      this.#stopLooking ??= every(this.#clock, LOOK_MS, () => this.#look());
      this.#tell();
    });
  }

  #remove(serverId: string, ticket: Ticket): boolean {
    const place = this.#places.get(serverId);
    const at = place?.tickets.indexOf(ticket) ?? -1;
    if (!place || at < 0) return false;
    place.tickets.splice(at, 1);
    if (place.tickets.length === 0) this.#places.delete(serverId);
    this.#players--;
    if (this.#players === 0) {
      this.#stopLooking?.();
      this.#stopLooking = undefined;
    }
    this.#tell();
    return true;
  }

  #observed(id: string, now: ServerNow | null): void {
    if (this.#players === 0) return;
    const place = this.#places.get(id);
    if (place && now) place.ramMb = now.row.ramMb;
    const holdsPlace = now !== null && isTagged(now.state, 'holds-place');
    if (!holdsPlace) this.#look();
    // Another player has woken it, or it is gone.
    if (place && (holdsPlace || !now)) void this.#admit(place);
  }

  #look(): void {
    this.#chances++;
    this.#round ??= this.#letIn().finally(() => (this.#round = undefined));
  }

  async #letIn(): Promise<void> {
    for (let seen = -1; seen !== this.#chances;) {
      seen = this.#chances;
      const tooLargeMb = new Map<string | undefined, number>();
      for (const place of this.#inOrder()) {
        const { ramMb, region } = place;
        if (ramMb < (tooLargeMb.get(region) ?? Infinity) && !(await this.#admit(place))) tooLargeMb.set(region, ramMb);
      }
    }
  }

  /** Returns false if there is no room for this server. */
  async #admit(place: Place): Promise<boolean> {
    for (const ticket of place.tickets.slice()) {
      if (ticket.signal.aborted) continue;
      try {
        await ticket.wake();
        ticket.leave();
      } catch (error) {
        if (isFull(error)) return false;
        ticket.leave(error);
      }
    }
    return true;
  }

  #inOrder(): Place[] {
    return [...this.#places.values()].toSorted((one, other) => one.since - other.since);
  }

  /** Sends changed places, once at the end of this turn of the event loop. */
  #tell(): void {
    if (this.#isTelling) return;
    this.#isTelling = true;
    setImmediate(() => {
      this.#isTelling = false;
      const last = new Map<string | undefined, number>();
      for (const { region, tickets } of this.#inOrder()) {
        // Queues of other regions do not count.
        const place = (last.get(region) ?? 0) + 1;
        last.set(region, place);
        for (const ticket of tickets) if (ticket.notified !== place) ticket.notify((ticket.notified = place));
      }
    });
  }
}

/** Whether there is no room now, but may be later. */
function isFull(error: unknown): error is StatusError {
  return (
    error instanceof StatusError && error.reason === 'NODE_CAPACITY' && error.options.metadata?.['fits'] !== 'never'
  );
}
