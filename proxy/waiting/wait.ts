import { setTimeout as delay } from 'node:timers/promises';
import type { ClientConnection } from '../client-connection.ts';
import type { Context } from '../context.ts';
import { type Handshake, NEWEST_KNOWN, PROTOCOL } from '../handshake.ts';
import type { Hold } from '../hold.ts';
import { Kick, noteKick } from '../kick.ts';
import type { Player, Route } from '../ports.ts';
import { failureDialog, waitingDialog } from './dialogs.ts';
import type { NbtCompound } from './packets.ts';
import { WaitingClient } from './waiting-client.ts';

/** A login and the address that the client used. */
interface Arrival {
  connection: ClientConnection;
  handshake: Handshake;
  host: string;
  player: Player;
}

/** Mod loaders and other proxies append data after this mark. The data belongs to the connection used for playing. */
const MARK = '\0';

/**
 * Reports whether the player waits in the waiting room. This requires that the room is enabled for the server, the
 * server is not up and does not refuse joins, the client has a known version that shows dialogs (since 1.21.6), and its
 * login needs nothing from the game.
 */
export function isForWaitingRoom(route: Route | undefined, { handshake, player }: Arrival): route is Route {
  if (!route?.waitingRoom || route.refusal !== '' || (route.state === 'running' && route.address)) return false;
  const { protocol, serverAddress } = handshake;
  const showsDialogs = protocol >= PROTOCOL.V1_21_6 && protocol <= NEWEST_KNOWN;
  return showsDialogs && player.uuid !== null && !serverAddress.includes(MARK);
}

/**
 * Wakes the server and shows the player its progress. Then transfers the player back to the same address, because the
 * game needs a fresh connection. Resolves with true if the server is up, or with false after showing the player the
 * reason. Rejects with Kick while the client is still logging in, later with PeerGone or ProtocolError.
 */
export async function waitInRoom(hold: Hold, route: Route, arrival: Arrival, context: Context): Promise<boolean> {
  const { connection, handshake, host, player } = arrival;
  const { timings, waitingList, log } = context;
  const client = new WaitingClient(connection, player, context, (reason) => hold.leave(reason));
  const view = new View(route, arrival, context);
  let leaveList: (() => void) | undefined;
  const begin = (): Promise<void> => {
    leaveList = waitingList.add(route.serverId, player);
    return hold.during(client.begin(player.uuid ?? '', () => view.dialog()));
  };
  try {
    await hold.wake(route, begin, (place) => view.notify(place));
    waitingList.expect(host, player);
    client.sendOn(host, handshake.serverPort);
    log.info(
      { server: route.serverId, player: player.name },
      `${player.name} is transferred to the game of ${route.serverId}`,
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

/** Shows the reason for a while, then disconnects. Skips the dialog if the wait is already over. */
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

/** The content of one player's dialog. */
class View {
  readonly #arrival: Arrival;
  readonly #context: Context;
  #route: Route;
  /** Monotonic ms: when the current route was first seen, and when the wait for the start began. */
  #routeSince: number;
  #since: number;
  #place: number | null = null;

  constructor(route: Route, arrival: Arrival, context: Context) {
    this.#arrival = arrival;
    this.#context = context;
    this.#route = route;
    this.#routeSince = this.#since = context.clock.now();
  }

  /** Same as `InLine.notify`. */
  notify(place: number | null): void {
    // The time in the queue does not count as start-up time.
    if (place !== this.#place) this.#since = this.#context.clock.now();
    this.#place = place;
  }

  /** Returns the current dialog. Called each second. */
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
