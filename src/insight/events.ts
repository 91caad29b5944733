import type { Failure } from '../../machines/server-types.ts';
import type { LostGames } from '../engines/lost-games.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Observed, ServerNow } from '../servers/server-now.ts';
import type { Servers } from '../servers/servers.ts';

/** The kinds of events for a server's viewers. */
export type ServerEventType = 'gap' | 'state' | 'progress' | 'players' | 'tick' | 'quota' | 'backup' | 'alert';

/** An event. A returning viewer resumes after its id. */
export interface TypedEvent {
  /** '' for a `gap`: a viewer disconnected before the `state` that follows gets the gap again. */
  id: string;
  type: ServerEventType;
  data: object;
}

/** The initial data for a viewer besides the machine's state. */
interface Besides {
  /** As in the server's last `quota` event. */
  quota: object;
  alert: { alert: string; at: string } | null;
}

/** Why a server is suspended, and since when (epoch ms). */
interface Suspended {
  reason: string;
  at: number;
}

const KEPT_EVENTS = 200;
const KEPT_SERVERS = 2_000;

type Listener = (event: TypedEvent | null) => void;

interface History {
  /** The newest events, with their numbers. */
  events: { nth: number; event: TypedEvent }[];
  /** Events up to this number may have been dropped. */
  floor: number;
  /** The last known state; undefined before the first. */
  now: ServerNow | undefined;
  /** The open alert after the last alert event; undefined without such an event. */
  alert: Besides['alert'] | undefined;
}

/**
 * Sends servers' events to viewers, and keeps them for a while for returning viewers. All data is in memory, so an
 * event's id is valid only in this run of the service.
 */
export class ServerEvents {
  readonly #servers: Servers;
  readonly #lostGames: LostGames | undefined;
  readonly #clock: Clock;
  readonly #run: string;
  readonly #histories = new Map<string, History>();
  readonly #listeners = new Map<string, Set<Listener>>();
  #newest = 0;
  /** The newest event of all dropped histories. */
  #forgotten = 0;
  #suspensions: Observed<Suspended> | undefined;
  readonly #cancellations: ((() => void) | undefined)[];

  /** `lostGames`: the games on unresponsive machines, if games run on several. */
  constructor(servers: Servers, clock: Clock, lostGames?: LostGames) {
    this.#servers = servers;
    this.#lostGames = lostGames;
    this.#clock = clock;
    this.#run = clock.now().toString(36);
    this.#cancellations = [
      servers.observe((id, now) => (now === null || now.state === 'deleting' ? this.#remove(id) : this.#compare(now))),
      lostGames?.follow(this.#tellAgain),
    ];
  }

  /** Publishes an event to a server's viewers and keeps it for returning ones. */
  publish(id: string, type: ServerEventType, data: object): void {
    const history = this.#historyOf(id);
    this.#newest += 1;
    const event = { id: `${this.#run}.${this.#newest}`, type, data: { at: instant(this.#clock.now()), ...data } };
    // Only the newest tick is kept, because hours of ticks would push out other events.
    if (type === 'tick') history.events = history.events.filter((kept) => kept.event.type !== 'tick');
    if (type === 'alert') history.alert = openAlert(event.data);
    history.events.push({ nth: this.#newest, event });
    if (history.events.length > KEPT_EVENTS) history.floor = history.events.shift()!.nth;
    for (const listener of this.#listeners.get(id) ?? []) listener(event);
  }

  /** Includes operators' suspensions in servers' states from now on. Call it once. */
  heedSuspensions(suspensions: Observed<Suspended>): void {
    this.#suspensions = suspensions;
    this.#cancellations.push(suspensions.follow(this.#tellAgain));
  }

  /**
   * Replays the events after the given id. If the id is unknown, sends a `gap` and the server's state with `besides`
   * instead. Then reports everything new, and null once the server is gone. `given` and `besides` may be a moment old.
   * Returns a function that removes the listener.
   */
  follow(given: ServerNow, besides: Besides, lastEventId: string, listener: Listener): () => void {
    const { id } = given.row;
    const history = this.#historyOf(id);
    const now = (history.now ??= given);
    // An alert published since `besides` was read is newer.
    const { alert = besides.alert } = history;
    const data = { at: instant(this.#clock.now()), ...this.#stateNow(now), quota: besides.quota, alert };
    const whole = [{ id: `${this.#run}.${this.#newest}`, type: 'state' as const, data }];
    const first =
      this.#after(id, lastEventId) ??
      (lastEventId === '' ? whole : [{ id: '', type: 'gap' as const, data: { at: data.at } }, ...whole]);
    for (const event of first) listener(event);
    const ofServer = this.#listeners.get(id) ?? new Set();
    this.#listeners.set(id, ofServer.add(listener));
    return () => {
      ofServer.delete(listener);
      if (ofServer.size === 0 && this.#listeners.get(id) === ofServer) this.#listeners.delete(id);
    };
  }

  close(): void {
    for (const cancel of this.#cancellations) cancel?.();
  }

  /** Publishes a server's state after a change that its machine does not know: of its node or its suspension. */
  readonly #tellAgain = (id: string): void => {
    this.#servers.get(id).then(
      (now) => now && this.publish(id, 'state', this.#stateNow(this.#histories.get(id)?.now ?? now)),
      // Viewers get it with the next change.
      () => {},
    );
  };

  /**
   * Returns the state with two facts that the machine does not know: whether the game's node responds, and whether the
   * server is suspended.
   */
  #stateNow(now: ServerNow): object {
    const lost = this.#lostGames?.of(now.row.id);
    const suspended = this.#suspensions?.of(now.row.id);
    return {
      ...stateOf(now),
      waits: lost === undefined ? null : { node: lost.node, since: instant(lost.since) },
      suspended: suspended === undefined ? null : { reason: suspended.reason, since: instant(suspended.at) },
    };
  }

  /** Returns a server's history. Drops the least recently used one if there are too many. */
  #historyOf(id: string): History {
    const history = this.#histories.get(id) ?? { events: [], floor: this.#forgotten, now: undefined, alert: undefined };
    this.#histories.delete(id);
    this.#histories.set(id, history);
    const [oldest] = this.#histories.keys();
    if (oldest !== undefined && this.#histories.size > KEPT_SERVERS) this.#forget(oldest);
    return history;
  }

  #forget(id: string): void {
    this.#forgotten = Math.max(this.#forgotten, this.#histories.get(id)?.events.at(-1)?.nth ?? 0);
    this.#histories.delete(id);
  }

  #compare(now: ServerNow): void {
    const { id } = now.row;
    const history = this.#historyOf(id);
    const before = history.now;
    history.now = now;
    const { phase, percent, players } = now.context.live;
    const seen = before?.context.live;
    if (before?.state === 'starting' && now.state === 'running')
      this.publish(id, 'progress', { phase: 'ready', percent: 100 });
    const isAnnounced = before?.context.announced?.at !== now.context.announced?.at;
    if (before?.state !== now.state || isAnnounced || failureOf(before) !== failureOf(now))
      this.publish(id, 'state', this.#stateNow(now));
    else if (seen?.phase !== phase || seen.percent !== percent) this.publish(id, 'progress', { phase, percent });
    if (seen?.players !== players && players !== null) this.publish(id, 'players', { online: players });
  }

  #remove(id: string): void {
    this.#forget(id);
    for (const listener of this.#listeners.get(id) ?? []) listener(null);
  }

  /** Returns the events after the given id; undefined if some may be missing. */
  #after(id: string, lastEventId: string): TypedEvent[] | undefined {
    const [, ofRun, number] = EVENT_ID.exec(lastEventId) ?? [];
    const history = this.#histories.get(id);
    const last = Number(number);
    if (ofRun !== this.#run || last > this.#newest || last < (history?.floor ?? this.#forgotten)) return undefined;
    return (history?.events ?? []).filter(({ nth }) => nth > last).map(({ event }) => event);
  }
}

const EVENT_ID = /^(\w{1,16})\.(\d{1,15})$/;

function failureOf(now: ServerNow | undefined): Failure | null {
  if (now?.state === 'start_failed') return now.context.startFailure;
  return now?.state === 'install_failed' ? now.context.installFailure : null;
}

function stateOf(now: ServerNow): object {
  const failure = failureOf(now);
  const { announced, cause, live } = now.context;
  return {
    state: now.state,
    cause,
    phase: now.state === 'starting' ? live.phase : '',
    percent: now.state === 'starting' ? live.percent : now.state === 'running' ? 100 : 0,
    players: now.state === 'running' ? live.players : null,
    stopsAt: announced ? instant(announced.at) : null,
    error: failure && { code: failure.code, summary: failure.summary, suggestion: failure.suggestion },
  };
}

/** Returns the open alert after this event. Every kind except `tps.low` ends it. */
function openAlert({ at, alert }: { at: string; alert?: unknown }): Besides['alert'] {
  return alert === 'tps.low' ? { alert, at } : null;
}

function instant(at: number): string {
  return new Date(at).toISOString();
}
