import type { Socket } from 'node:net';
import { readBalancerHeader } from './balancer-header.ts';
import { encodeFrame, encodeString } from './codec.ts';
import type { Context } from './context.ts';
import { readForwarded } from './forwarding.ts';
import { FRAME_LIMIT, type Handshake, readLoginStart, readOpening, readStatusPacket } from './handshake.ts';
import { lookupKey } from './hostname.ts';
import { join } from './join.ts';
import { disconnectFrame } from './kick.ts';
import { encodeLegacyKick, encodeLegacyStatus, readLegacyLogin, readLegacyPing } from './legacy.ts';
import type { Route } from './ports.ts';
import { toComponent } from './text.ts';
import { TEXTS } from './texts.ts';
import { ClientConnection } from './client-connection.ts';

/** The host looked up for clients before 1.6, which send no host. A server may be reachable without a name. */
const THIS_MACHINE = 'localhost';

const ignore = (): void => undefined;

/**
 * Serves one accepted socket: opening, host, then status, legacy ping or login. Settles when the socket is closed, has
 * been handed to a pipe, or its last message is in flight. Never rejects. A refused socket gets no bytes. `key`: the
 * lookup key of the server behind a private port, where host names don't count.
 */
export async function serve(
  socket: Socket,
  context: Context,
  connections: Set<ClientConnection>,
  key?: string,
): Promise<void> {
  socket.on('error', ignore);
  // A socket that was reset before accept has no address.
  if (!socket.remoteAddress) {
    socket.destroy();
    return;
  }
  const connection = new ClientConnection(socket, context.timings, context.clock);
  const isBalancer = key === undefined && context.isBalancer(connection.ip);
  const place = isBalancer ? context.limiter.enterUnnamed() : context.limiter.enter(connection.ip);
  if (!place) {
    socket.destroy();
    return;
  }
  connection.occupy(place);
  enroll(connection, context, connections);
  try {
    if (isBalancer) await readClientAddress(connection, context);
    const opening = await connection.inbox.take((bytes) =>
      readOpening(bytes, (host) => mayForward(key ?? (host && lookupKey(host)), connection, context)),
    );
    if (opening.kind === 'legacyPing') return await answerLegacyPing(connection, context, key);
    if (opening.kind === 'legacyLogin') return await answerLegacyLogin(connection, context, key);
    if (isBalancer && opening.raw.length <= FRAME_LIMIT.handshake) connection.refuseForwarded();
    if (context.isFront(connection.ip)) believe(connection, opening.serverAddress, context);
    // Players at a private port come through a front: they need neither the waiting room nor a check of the account.
    if (key !== undefined) connection.forwarded ??= {};
    const host = key ?? lookupKey(opening.serverAddress);
    const route = context.routes.lookup(host);
    if (!route) await answerUnknown(connection, opening, context);
    else if (opening.intent === 'status') await answerStatus(connection, opening, host, context);
    else await join(connection, opening, host, context);
  } catch (error) {
    context.log.debug(
      { ip: connection.ip, reason: error instanceof Error ? error.message : String(error) },
      'socket closed',
    );
    socket.destroy();
  }
}

/**
 * Reports whether the connection may send forwarded data after the host: it comes from a trusted proxy, or the key
 * leads to a server. If so, the connection accepts the longer handshake.
 */
function mayForward(key: string | undefined, connection: ClientConnection, { routes, isFront }: Context): boolean {
  const isServed = key !== undefined && routes.lookup(key) !== undefined;
  if (!isServed && !isFront(connection.ip)) return false;
  connection.acceptForwarded();
  return true;
}

/** Reads the client's address from the balancer's header. */
async function readClientAddress(connection: ClientConnection, context: Context): Promise<void> {
  // The handshake may arrive together with the header, before its host is known.
  connection.acceptForwarded();
  const { ip } = await connection.inbox.take(readBalancerHeader);
  moveTo(ip ?? connection.ip, connection, context);
}

/** Takes over the player's identity from a trusted proxy in front. */
function believe(connection: ClientConnection, serverAddress: string, context: Context): void {
  connection.forwarded = readForwarded(serverAddress, context.floodgateKey);
  if (connection.forwarded.ip !== undefined) moveTo(connection.forwarded.ip, connection, context);
}

/** Sets the player's address. From then on, limits apply to that address. */
function moveTo(ip: string, connection: ClientConnection, { limiter }: Context): void {
  connection.ip = ip;
  connection.occupy(undefined);
  const place = limiter.enter(connection.ip);
  if (!place) throw new Error('too many connections');
  connection.occupy(place);
}

function enroll(
  connection: ClientConnection,
  { counters, deadlines }: Context,
  connections: Set<ClientConnection>,
): void {
  counters.accepted++;
  counters.unrouted++;
  connections.add(connection);
  deadlines.add(connection);
  connection.onceOver(() => {
    counters.unrouted--;
    connections.delete(connection);
    deadlines.delete(connection);
  });
}

/**
 * Explains an unknown server name to neighbours, who may have mistyped it or used an address shared by several servers.
 * Scanners elsewhere get no answer.
 */
async function answerUnknown(connection: ClientConnection, handshake: Handshake, context: Context): Promise<void> {
  const { intent, protocol } = handshake;
  if (!context.isNeighbour(connection.ip) || !context.limiter.status(connection.ip)) throw new Error('unknown host');
  connection.allow(context.timings.statusMs);
  if (intent !== 'status') {
    await connection.inbox.take((bytes) => readLoginStart(bytes, protocol));
    connection.sendAndClose(disconnectFrame(TEXTS.unknown, protocol));
    return;
  }
  await connection.inbox.take(readStatusPacket);
  const description = toComponent(`§c${TEXTS.unknown}`, protocol);
  const status = { version: { name: '', protocol }, players: { max: 0, online: 0 }, description };
  connection.sendAndClose(encodeFrame(0, encodeString(JSON.stringify(status))));
}

async function answerStatus(
  connection: ClientConnection,
  handshake: Handshake,
  host: string,
  context: Context,
): Promise<void> {
  const { socket, inbox } = connection;
  connection.allow(context.timings.statusMs);
  if (!context.limiter.status(connection.ip)) throw new Error('too many status requests');
  for (let packets = 0; packets < 2; packets++) {
    const packet = inbox.ready(readStatusPacket) ?? (await inbox.take(readStatusPacket));
    if (packet.kind === 'ping') {
      // Destroys the socket without a shutdown, to save a system call: the client already has its answer.
      if (socket.write(encodeFrame(0x01, packet.payload))) socket.destroy();
      else socket.once('drain', () => socket.destroy());
      return;
    }
    const route = context.routes.lookup(host);
    if (!route) throw new Error('unknown host');
    const { protocol } = handshake;
    socket.write(context.statuses.ready(route, protocol) ?? (await context.statuses.frame(route, host, protocol)));
    context.counters.statusAnswers++;
  }
  throw new Error('second status request');
}

async function answerLegacyPing(connection: ClientConnection, context: Context, key?: string): Promise<void> {
  let ping = readLegacyPing(connection.inbox.bytes);
  await connection.inbox.take((bytes) => {
    ping = readLegacyPing(bytes);
    return ping.complete ? { value: ping, size: bytes.length } : undefined;
  }, context.timings.legacyTailMs);
  if (!context.limiter.status(connection.ip)) throw new Error('too many status requests');
  const asked = key ?? keyOf(ping.serverAddress);
  if (asked === undefined && !context.routes.lookup(THIS_MACHINE)) {
    const nowhere = { motd: TEXTS.anywhere, versionName: '', online: 0, max: 0 };
    connection.sendAndClose(encodeLegacyStatus(ping.form, nowhere));
    return;
  }
  const { route, host } = find(asked ?? THIS_MACHINE, context);
  connection.sendAndClose(encodeLegacyStatus(ping.form, await context.statuses.legacy(route, host)));
  context.counters.statusAnswers++;
}

async function answerLegacyLogin(connection: ClientConnection, context: Context, key?: string): Promise<void> {
  const { serverAddress } = await connection.inbox.take(readLegacyLogin);
  const asked = key ?? keyOf(serverAddress);
  if (asked !== undefined) find(asked, context);
  connection.sendAndClose(encodeLegacyKick(TEXTS.outdated));
}

/** Clients before 1.6 send no address. */
function keyOf(serverAddress: string | null): string | undefined {
  return serverAddress === null ? undefined : lookupKey(serverAddress);
}

function find(host: string, { routes }: Context): { route: Route; host: string } {
  const route = routes.lookup(host);
  if (!route) throw new Error('unknown host');
  return { route, host };
}
