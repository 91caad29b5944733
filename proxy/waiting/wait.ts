import { setTimeout as delay } from 'node:timers/promises';
import type { ClientConnection } from '../client-connection.ts';
import type { Context } from '../context.ts';
import { type Handshake, NEWEST_KNOWN, PROTOCOL } from '../handshake.ts';
import type { Hold } from '../hold.ts';
import { Kick, noteKick } from '../kick.ts';
import type { Player, Route } from '../ports.ts';
import { failureDialog, waitingDialog } from './dialogs.ts';
import type { NbtCompound } from './nbt.ts';
import { WaitingClient } from './waiting-client.ts';

/** Whose login it is, and where they came. */
export interface Arrival {
  connection: ClientConnection;
  handshake: Handshake;
  host: string;
  player: Player;
}

/** Behind it mod loaders and other proxies write what they need of the very connection on which the client plays. */
const MARK = '\0';

/**
 * Whether the player waits in the waiting room: the server has one and is not up, the client is one of those that show
 * dialogs (since 1.21.6) and whose packets are known, and it needs nothing of the login that only a game can give.
 */
export function isForWaitingRoom(route: Route | undefined, { handshake, player }: Arrival): route is Route {
  if (!route?.waitingRoom || route.refusal !== '' || (route.state === 'running' && route.address)) return false;
  const { protocol, serverAddress } = handshake;
  const showsDialogs = protocol >= PROTOCOL.V1_21_6 && protocol <= NEWEST_KNOWN;
  return showsDialogs && player.uuid !== null && !serverAddress.includes(MARK);
}

/**
 * Wakes the server and shows the player how far it is, then sends them to the same place again: the connection on which
 * they play is one that only the game has read. Resolves with whether the server is up. Who cannot get in reads why.
 * Rejects with Kick where the client is still logging in, else with PeerGone or ProtocolError.
 */
export async function waitInRoom(hold: Hold, route: Route, arrival: Arrival, context: Context): Promise<boolean> {
  const { connection, handshake, host, player } = arrival;
  const { timings, waitingList, clock, log } = context;
  const client = new WaitingClient({ connection, player, timings, clock, onGone: (reason) => hold.leave(reason) });
  const view = new View(route, arrival, context);
  let leaveList: (() => void) | undefined;
  const begin = (): Promise<void> => {
    leaveList = waitingList.add(route.serverId, player);
    return hold.during(client.begin(player.uuid ?? '', () => view.dialog()));
  };
  try {
    await hold.wake(route, begin, (place) => view.tell(place));
    waitingList.expect(host, player);
    client.sendOn(host, handshake.serverPort);
    log.info(
      { server: route.serverId, player: player.name },
      `${player.name} is sent on to the game of ${route.serverId}`,
    );
    return true;
  } catch (error) {
    if (!(error instanceof Kick) || !client.hasBegun) throw error;
    noteKick(error, { host, player }, context);
    await explain(client, hold, { kick: error, route, forMs: timings.explainMs });
    return false;
  } finally {
    leaveList?.();
    client.stop();
  }
}

/** Shows why for a while, unless the waiting has ended by itself: then the player has left, or must. */
async function explain(
  client: WaitingClient,
  hold: Hold,
  { kick, route, forMs }: { kick: Kick; route: Route; forMs: number },
): Promise<void> {
  if (!hold.isOver) {
    client.show(() => failureDialog(route, kick.text));
    const reason: unknown = await hold.during(delay(forMs, kick, { ref: false })).catch((over: unknown) => over);
    if (!(reason instanceof Kick)) throw reason;
  }
  client.sendAway(kick.text);
}

/** The view of one player. */
class View {
  readonly #arrival: Arrival;
  readonly #context: Context;
  #route: Route;
  /** Monotonic ms: of the route as it is, and of the wait for the start. */
  #routeSince: number;
  #since: number;
  #place: number | null = null;

  constructor(route: Route, arrival: Arrival, context: Context) {
    this.#arrival = arrival;
    this.#context = context;
    this.#route = route;
    this.#routeSince = this.#since = context.clock.now();
  }

  /** As `InLine.tell`. */
  tell(place: number | null): void {
    // The time in the queue does not count as start-up time.
    if (place !== this.#place) this.#since = this.#context.clock.now();
    this.#place = place;
  }

  /** As it is to be now; called each second. */
  dialog(): NbtCompound {
    const { host, player } = this.#arrival;
    const { routes, waitingList } = this.#context;
    const at = this.#context.clock.now();
    const current = routes.lookup(host) ?? this.#route;
    if (current !== this.#route) [this.#route, this.#routeSince] = [current, at];
    const route = this.#route;
    const left = route.etaSeconds === null ? 0 : Math.ceil(route.etaSeconds - (at - this.#routeSince) / 1000);
    return waitingDialog({
      route,
      place: this.#place,
      leftSeconds: left > 0 ? left : null,
      waitedSeconds: (at - this.#since) / 1000,
      others: waitingList.others(route.serverId, player),
    });
  }
}
