import type { Failure } from '../../machines/server-types.ts';
import type { LostGames } from '../engines/lost-games.ts';
import type { Clock } from '../kernel/clock.ts';
import type { ServerNow } from '../servers/server-now.ts';
import type { Servers } from '../servers/servers.ts';
import type { Told } from '../servers/standing.ts';

/** The kinds of events that a server's watchers are told. */
export type ServerEventType = 'gap' | 'state' | 'progress' | 'players' | 'tick' | 'quota' | 'backup' | 'alert';

/** An event. A watcher who was away goes on after its id. */
export interface TypedEvent {
  /** '' for a `gap`: a watcher who is cut off before the `state` that follows gets the gap again. */
  id: string;
  type: ServerEventType;
  data: object;
}

/** What a watcher is told at first besides the machine's state. */
export interface Besides {
  /** As in its last `quota`. */
  quota: object;
  /** Its open alert. */
  alert: { alert: string; at: string } | null;
}

/** Why a server is suspended, and since when (epoch ms). */
interface Suspended {
  reason: string;
  at: number;
}

/** The events of servers, live and kept for a while for watchers who come back. In memory only. */
export interface ServerEvents {
  /** Publishes an event that does not come from the machine. */
  publish(serverId: string, type: ServerEventType, data: object): void;
  /** Tells from now on of each server whether an operator has suspended it; to be called once. */
  heedSuspensions(suspensions: Told<Suspended>): void;
  /**
   * Replays what came after the event of that id or, where that id is unknown, a `gap` and the server's state with
   * `besides`; then tells everything new, and null once the server is gone. `now` and `besides` may be a moment old.
   * Returns the cancellation.
   */
  follow(
    now: ServerNow,
    besides: Besides,
    lastEventId: string,
    listener: (event: TypedEvent | null) => void,
  ): () => void;
  close(): void;
}

const KEPT_EVENTS = 200;
const KEPT_SERVERS = 2_000;

type Listener = (event: TypedEvent | null) => void;

interface History {
  /** The newest events, with their numbers. */
  events: { nth: number; event: TypedEvent }[];
  /** Events up to this number may have been forgotten. */
  floor: number;
  /** The state last seen; undefined: none yet. */
  now: ServerNow | undefined;
  /** The open alert after the last alert event; undefined: there was no such event. */
  alert: Besides['alert'] | undefined;
}

export interface ServerEventsOptions {
  servers: Pick<Servers, 'observe' | 'get'>;
  /** Of games on several machines: which are on one that does not answer. */
  lostGames?: LostGames | undefined;
  clock: Clock;
}

/** The events of all servers. Ids are of this run of the service: one from an earlier run is not known. */
export function createServerEvents({ servers, lostGames, clock }: ServerEventsOptions): ServerEvents {
  const run = clock.now().toString(36);
  const histories = new Map<string, History>();
  const listeners = new Map<string, Set<Listener>>();
  let newest = 0;
  /** The newest event of all dropped histories. */
  let forgotten = 0;
  const unobserve = servers.observe((id, now) =>
    now === null || now.state === 'deleting' ? remove(id) : compare(now),
  );
  const unfollow = lostGames?.follow(tellAgain);
  let suspensions: Told<Suspended> | undefined;
  let ignoreSuspensions: (() => void) | undefined;

  /** Of a server for which something has changed that its machine does not know. */
  function tellAgain(id: string): void {
    servers.get(id).then(
      (now) => now && publish(id, 'state', stateNow(histories.get(id)?.now ?? now)),
      // Its watchers read it with the next change.
      () => {},
    );
  }

  /** With what the machine does not know: whether its game can be reached at all, and whether it may wake. */
  function stateNow(now: ServerNow): object {
    const lost = lostGames?.of(now.row.id);
    const suspended = suspensions?.of(now.row.id);
    return {
      ...stateOf(now),
      waits: lost === undefined ? null : { node: lost.node, since: instant(lost.since) },
      suspended: suspended === undefined ? null : { reason: suspended.reason, since: instant(suspended.at) },
    };
  }

  /** The history of a server. The one unused for longest is dropped first. */
  function historyOf(id: string): History {
    const history = histories.get(id) ?? { events: [], floor: forgotten, now: undefined, alert: undefined };
    histories.delete(id);
    histories.set(id, history);
    const [oldest] = histories.keys();
    if (oldest !== undefined && histories.size > KEPT_SERVERS) forget(oldest);
    return history;
  }

  function forget(id: string): void {
    forgotten = Math.max(forgotten, histories.get(id)?.events.at(-1)?.nth ?? 0);
    histories.delete(id);
  }

  function publish(id: string, type: ServerEventType, data: object): void {
    const history = historyOf(id);
    newest += 1;
    const event = { id: `${run}.${newest}`, type, data: { at: instant(clock.now()), ...data } };
    // Only the newest tick is kept; hours of them would push out other events.
    if (type === 'tick') history.events = history.events.filter((kept) => kept.event.type !== 'tick');
    if (type === 'alert') history.alert = openAlert(event.data);
    history.events.push({ nth: newest, event });
    if (history.events.length > KEPT_EVENTS) history.floor = history.events.shift()!.nth;
    for (const listener of listeners.get(id) ?? []) listener(event);
  }

  function compare(now: ServerNow): void {
    const { id } = now.row;
    const history = historyOf(id);
    const before = history.now;
    history.now = now;
    const { phase, percent, players } = now.context.live;
    const seen = before?.context.live;
    if (before?.state !== now.state || failureOf(before) !== failureOf(now)) publish(id, 'state', stateNow(now));
    else if (seen?.phase !== phase || seen.percent !== percent) publish(id, 'progress', { phase, percent });
    if (seen?.players !== players && players !== null) publish(id, 'players', { online: players });
  }

  function remove(id: string): void {
    forget(id);
    for (const listener of listeners.get(id) ?? []) listener(null);
  }

  /** The events after one; undefined where some may be missing. */
  function after(id: string, lastEventId: string): TypedEvent[] | undefined {
    const [, ofRun, number] = EVENT_ID.exec(lastEventId) ?? [];
    const history = histories.get(id);
    const last = Number(number);
    if (ofRun !== run || last > newest || last < (history?.floor ?? forgotten)) return undefined;
    return (history?.events ?? []).filter(({ nth }) => nth > last).map(({ event }) => event);
  }

  return {
    publish,
    heedSuspensions(given) {
      suspensions = given;
      ignoreSuspensions = given.follow(tellAgain);
    },
    follow(given, besides, lastEventId, listener) {
      const { id } = given.row;
      const history = historyOf(id);
      const now = (history.now ??= given);
      // An alert published since `besides` was read is newer.
      const { alert = besides.alert } = history;
      const data = { at: instant(clock.now()), ...stateNow(now), quota: besides.quota, alert };
      const whole = [{ id: `${run}.${newest}`, type: 'state' as const, data }];
      const first =
        after(id, lastEventId) ??
        (lastEventId === '' ? whole : [{ id: '', type: 'gap' as const, data: { at: data.at } }, ...whole]);
      for (const event of first) listener(event);
      const ofServer = listeners.get(id) ?? new Set();
      listeners.set(id, ofServer.add(listener));
      return () => {
        ofServer.delete(listener);
        if (ofServer.size === 0 && listeners.get(id) === ofServer) listeners.delete(id);
      };
    },
    close() {
      unobserve();
      unfollow?.();
      ignoreSuspensions?.();
    },
  };
}

const EVENT_ID = /^(\w{1,16})\.(\d{1,15})$/;

function failureOf(now: ServerNow | undefined): Failure | null {
  if (now?.state === 'start_failed') return now.context.startFailure;
  return now?.state === 'install_failed' ? now.context.installFailure : null;
}

function stateOf(now: ServerNow): object {
  const failure = failureOf(now);
  const { cause, live } = now.context;
  return {
    state: now.state,
    cause,
    phase: now.state === 'starting' ? live.phase : '',
    percent: now.state === 'starting' ? live.percent : 0,
    players: now.state === 'running' ? live.players : null,
    error: failure && { code: failure.code, summary: failure.summary, suggestion: failure.suggestion },
  };
}

/** The alert that is open after this event: any other kind ends it. */
function openAlert({ at, alert }: { at: string; alert?: unknown }): Besides['alert'] {
  return alert === 'tps.low' ? { alert, at } : null;
}

function instant(at: number): string {
  return new Date(at).toISOString();
}
