import type { Parse } from './codec.ts';
import type { Context } from './context.ts';
import { isVerified } from './forwarding.ts';
import { GameSocket } from './game-socket.ts';
import { type Handshake, type LoginStart, asLogin, readLoginStart } from './handshake.ts';
import { Hold } from './hold.ts';
import { Kick, disconnectFrame, noteKick } from './kick.ts';
import { Pipe } from './pipe.ts';
import { ACCOUNT_NAME, type Address, JoinRefused, type Player, type Route } from './ports.ts';
import { versionText } from './texts.ts';
import { verify } from './verify.ts';
import type { ClientConnection } from './client-connection.ts';
import { isForWaitingRoom, waitInRoom } from './waiting/wait.ts';

/**
 * Serves a login for the server named by `host`: wakes the server if necessary, holds the player until the game is
 * ready, and connects client and game with the client's own bytes. Kicks players who cannot join, with a reason.
 * Rejects with PeerGone or ProtocolError if there is no client to kick.
 */
export async function join(
  connection: ClientConnection,
  handshake: Handshake,
  host: string,
  context: Context,
): Promise<void> {
  const { log, limiter, counters, timings } = context;
  const { protocol } = handshake;
  const parse: Parse<LoginStart> = (bytes) => readLoginStart(bytes, protocol);
  const login = connection.inbox.ready(parse) ?? (await connection.inbox.take(parse));
  connection.allow(Infinity);
  const { forwarded } = connection;
  const player: Player = {
    name: forwarded?.name ?? login.name,
    uuid: forwarded?.uuid ?? login.uuid,
    ip: connection.ip,
    protocol,
  };
  if (isVerified(forwarded) || context.accounts.knows(player)) player.verified = true;
  const hold = new Hold(connection, player, context);
  let served = false;
  try {
    // A player returning from the waiting room has already been counted. If the server is not up, the player is held
    // here.
    const comesBack = handshake.intent === 'transfer' && context.waitingList.takeBack(host, player);
    if (!comesBack && !limiter.login(connection.ip)) throw new Kick('tooFast');
    const route = context.routes.lookup(host);
    if (route && cannotPlay(route, protocol)) throw new Kick('refused', { text: versionText(route.versionName) });
    if (route?.verifies && !player.verified) {
      // A proxy in front does not let its backends verify accounts.
      if (forwarded) throw new Kick('unverified');
      await verifyOnce(connection, player, { handshake, host }, context);
      return;
    }
    const arrival = { connection, handshake, host, player };
    if (!comesBack && !forwarded && isForWaitingRoom(route, arrival)) {
      await admit(route, player, context);
      served = await waitInRoom(hold, route, arrival, context);
      return;
    }
    const opening = Buffer.concat([asLogin(handshake), login.raw]);
    const { game, serverId } = await handOver(hold, { host, opening, player }, context);
    const { rest, ended } = connection.inbox.release();
    connection.over();
    context.keep(
      serverId,
      player,
      new Pipe(connection.socket, game, { first: rest, ended, lingerMs: timings.lingerMs, stallMs: timings.stallMs }),
    );
    served = true;
    counters.joins++;
    log.debug({ server: serverId, player: player.name, protocol }, 'player joined');
  } catch (error) {
    if (!(error instanceof Kick)) throw error;
    noteKick(error, { host, player }, context);
    connection.sendAndClose(disconnectFrame(error.text, protocol));
  } finally {
    hold.end(served);
  }
}

/**
 * Reports whether the client's version cannot play on this server. False for a running game, which refuses other
 * versions itself.
 */
function cannotPlay({ state, protocol: only }: Route, protocol: number): boolean {
  return state !== 'running' && only !== null && only !== protocol;
}

/** Finds the game and connects to it. Repeats up to `handOvers` times, because the state may change in between. */
async function handOver(
  hold: Hold,
  { host, opening, player }: { host: string; opening: Buffer; player: Player },
  context: Context,
): Promise<{ game: GameSocket; serverId: string }> {
  let woken: Address | undefined;
  for (let attemptsLeft = context.limits.handOvers; ;) {
    const route = context.routes.lookup(host);
    if (!route) throw new Kick('gone');
    if (route.refusal !== '') throw new Kick('refused', { text: route.refusal });
    const address = (route.state === 'running' ? route.address : null) ?? woken;
    if (!address) {
      woken = await hold.wake(route);
      continue;
    }
    await hold.settle();
    await admit(route, player, context);
    attemptsLeft--;
    const game = await open(address, {
      opening,
      hold,
      context,
      mayRefuse: attemptsLeft === 0 || !isYoung(route, context),
    });
    if (game) return { game, serverId: route.serverId };
    if (attemptsLeft === 0) throw new Kick('unreachable');
    await hold.pause(context.timings.redialMs);
  }
}

/** Checks the account. The check occupies one of the limited hold places of its address and server. */
async function verifyOnce(
  connection: ClientConnection,
  player: Player,
  way: Parameters<typeof verify>[2],
  context: Context,
) {
  if (!ACCOUNT_NAME.test(player.name)) throw new Kick('badName');
  const serverId = context.routes.lookup(way.host)?.serverId ?? '';
  const release = context.limiter.hold(connection.ip, serverId);
  if (!release) throw new Kick('busy');
  connection.onClosing = () => connection.expire();
  try {
    await verify(connection, player, way, context);
  } finally {
    release();
  }
}

async function admit({ serverId }: Route, player: Player, { wake }: Context): Promise<void> {
  try {
    await wake.admit(serverId, player);
  } catch (error) {
    if (error instanceof JoinRefused) throw new Kick('refused', { text: error.text, cause: error });
    throw new Kick('failed', { cause: error });
  }
}

/**
 * Reports whether the game started so recently that it may still turn players away. A game woken for this player counts
 * as young even if its route does not show it running yet.
 */
function isYoung(route: Route, { now, timings }: Context): boolean {
  return route.readyAt === null || now() - route.readyAt < timings.youngMs;
}

/**
 * Resolves with a connection to the game; undefined if the game does not answer yet or turns the player away. With
 * `mayRefuse`, a refusal by the game is passed to the client instead.
 */
async function open(
  address: Address,
  { opening, hold, context, mayRefuse }: { opening: Buffer; hold: Hold; context: Context; mayRefuse: boolean },
): Promise<GameSocket | undefined> {
  const { dialMs, firstPacketMs } = context.timings;
  let game: GameSocket | undefined;
  try {
    game = new GameSocket(address);
    await hold.during(game.connected(dialMs));
    game.socket.write(opening);
    const first = mayRefuse ? 'other' : await hold.during(game.firstPacket(firstPacketMs));
    hold.throwIfOver();
    if (first !== 'disconnect' && first !== 'closed') return game;
  } catch (error) {
    game?.destroy();
    hold.throwIfOver();
    context.log.debug({ err: error }, 'could not reach the game');
  }
  game?.destroy();
  return undefined;
}
