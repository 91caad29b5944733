/**
 * Promises: a player who comes for a server that the node has no room for waits in a queue, joins as soon as there is
 * room, and knows the place until then. Never stores anything, and never changes more about a server than its waiting
 * players do.
 */
import { isTagged } from '../../machines/server.ts';
import type { Clock } from '../kernel/clock.ts';
import { every } from '../kernel/every.ts';
import { StatusError } from '../kernel/status.ts';
import type { ServerNow } from '../servers/server-now.ts';
import type { Servers } from '../servers/servers.ts';
import { MINUTE_MS } from '../kernel/units.ts';

/** A player who may wait in line; or a server, for itself. */
export interface Waiter {
  serverId: string;
  /** When the player came, epoch ms; goes by it. */
  since: number;
  /** The longest wait; default: ten minutes. Infinity: somebody else ends it. */
  patienceMs?: number;
  /** The player has gone. */
  signal: AbortSignal;
  /** Wakes the server for this player. Rejects with NODE_CAPACITY as long as there is no room, and with what else refuses it. */
  wake: () => Promise<void>;
  /**
   * Called with the place, from 1, whenever it changes; null once the player is no longer in the queue or needs none.
   */
  tell: (place: number | null) => void;
}

export interface LineOptions {
  servers: Pick<Servers, 'observe' | 'get'>;
  clock: Clock;
}

/** A player in line. */
interface Ticket extends Waiter {
  /** The refusal that applied, and applies again when the time is up. */
  refusal: StatusError;
  told: number | null;
  leave(outcome?: unknown): void;
}

/** One server in line: all who wait for it come in together, when the first of them does. */
interface Place {
  ramMb: number;
  /** Capacity in another region does not count. */
  region: string | undefined;
  /** When the first of them came, even if that one has gone since. */
  since: number;
  tickets: Ticket[];
}

const MOST_PLAYERS = 1_000;
const PATIENCE_MS = 10 * MINUTE_MS;
/** Room on a disk becomes free without a word. */
const LOOK_MS = 15_000;

/**
 * The line for the nodes, of players through all proxies. Who has come first goes first; where the free room is too little for
 * that server, a smaller one behind it takes it. It is looked for only when a server comes to rest, and each 15 s besides.
 */
export class Line {
  readonly #clock: Clock;
  readonly #servers: LineOptions['servers'];
  /** By server. */
  readonly #places = new Map<string, Place>();
  readonly #unobserve: () => void;
  #players = 0;
  /** Times at which there may have been room. */
  #chances = 0;
  #round: Promise<void> | undefined;
  #isTelling = false;
  #stopLooking: (() => void) | undefined;

  constructor({ servers, clock }: LineOptions) {
    this.#clock = clock;
    this.#servers = servers;
    this.#unobserve = servers.observe((id, now) => this.#observed(id, now));
  }

  /**
   * Resolves once the server has been woken for this player, or was awake. Rejects with what refuses that: NODE_CAPACITY where the
   * server is larger than the node, the line is full, or ten minutes were not enough; and with the reason of `signal`.
   */
  async enter(waiter: Waiter): Promise<void> {
    // Keeps newcomers from taking a freed place before those who wait for it.
    while (this.#round) await this.#round;
    waiter.signal.throwIfAborted();
    const seen = this.#chances;
    try {
      await waiter.wake();
      waiter.tell(null);
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

  #wait(waiter: Waiter, needs: Pick<Place, 'ramMb' | 'region'>, refusal: StatusError): Promise<void> {
    const { serverId, signal, since, patienceMs = PATIENCE_MS } = waiter;
    const place = this.#places.get(serverId) ?? { ...needs, since, tickets: [] };
    place.since = Math.min(place.since, since);
    this.#places.set(serverId, place);
    return new Promise((resolve, reject) => {
      const onAbort = (): void => ticket.leave(signal.reason);
      const ticket: Ticket = {
        ...waiter,
        refusal,
        told: null,
        leave: (outcome) => {
          if (!this.#remove(serverId, ticket)) return;
          cancel();
          signal.removeEventListener('abort', onAbort);
          waiter.tell(null);
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
    // Somebody else has woken it, or it is gone.
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

  /** False: there is no room for this server. */
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

  /** After all that happens in this turn. */
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
        for (const ticket of tickets) if (ticket.told !== place) ticket.tell((ticket.told = place));
      }
    });
  }
}

/** There is no room now, but may be soon. */
function isFull(error: unknown): error is StatusError {
  return (
    error instanceof StatusError && error.reason === 'NODE_CAPACITY' && error.options.metadata?.['fits'] !== 'never'
  );
}
