import type { Server } from 'node:net';
import process from 'node:process';
import { WebSocket, WebSocketServer } from 'ws';
import type { Game } from './game.ts';
import type { Player } from './player.ts';
import { equal } from './rcon.ts';

// An ES import of node:http would also load Undici, at every start of a game.
const { createServer } = process.getBuiltinModule('node:http');

const MAX_CONNECTIONS = 16;
const MAX_MESSAGE_BYTES = 64 * 1024;
/** Most unsent bytes for a client that does not read. */
const MAX_UNSENT_BYTES = 4 * 1024 * 1024;
/** The form of secrets that the game requires. It does not start with any other. */
const SECRET_PATTERN = /^[A-Za-z0-9]{40}$/;
/** The first protocol number whose releases (1.21.9, 1.21.10) have a management port. */
const SINCE_PROTOCOL = 773;
const THREAD = 'Management server IO #0';

/** The management port of a game. */
export interface ManagementServer {
  /** Reports the game as started from now on. */
  started(): void;
  close(): void;
}

/** A JSON-RPC 2.0 call. Each field may have any value. */
interface Call {
  jsonrpc?: unknown;
  id?: unknown;
  method?: unknown;
  params?: unknown;
}

/**
 * Opens the management port if the properties enable it and the release has it: JSON-RPC 2.0 over WebSocket for clients
 * with the secret. Supports the methods for state, players and saving, and the notifications of players. A port that
 * cannot be opened does not stop the game.
 */
export async function openManagement(game: Game): Promise<ManagementServer | undefined> {
  const { properties, log, protocol } = game;
  if (protocol.version.protocol < SINCE_PROTOCOL || !properties.is('management-server-enabled')) return undefined;
  const secret = properties.get('management-server-secret');
  if (properties.is('management-server-tls-enabled') || !SECRET_PATTERN.test(secret)) {
    log.warn(
      'The management server needs a secret of 40 letters and digits, and TLS must be off because it is not supported',
    );
    return undefined;
  }
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload: MAX_MESSAGE_BYTES,
    perMessageDeflate: false,
    clientTracking: true,
  });
  let isStarted = false;
  const server = createServer((_, response) => response.writeHead(400).end());
  server.maxConnections = MAX_CONNECTIONS;
  server.on('upgrade', (request, socket, head) => {
    socket.on('error', () => socket.destroy());
    // HTTP sockets stay half open by default.
    socket.on('end', () => socket.end());
    if (!equal(request.headers.authorization ?? '', `Bearer ${secret}`)) {
      socket.end('HTTP/1.1 401 Unauthorized\r\nConnection: close\r\n\r\n');
      return;
    }
    sockets.handleUpgrade(request, socket, head, (client) => {
      client.on('error', () => client.terminate());
      client.on('message', (data: Buffer, isBinary) => {
        // RFC 6455 §7.4.1: only text is accepted.
        if (isBinary) return client.close(1003);
        const found = answerTo(data.toString(), (method) => perform(game, isStarted, method));
        if (found !== undefined) send(client, JSON.stringify(found));
      });
    });
  });
  game.onPlayer = (change, player) => {
    const notice = { jsonrpc: '2.0', method: `minecraft:notification/players/${change}`, params: [playerOf(player)] };
    for (const client of sockets.clients) send(client, JSON.stringify(notice));
  };
  const host = properties.get('management-server-host');
  try {
    await listening(server, properties.number('management-server-port', 0, 65_535), host);
  } catch (error) {
    log.warn(`Unable to start the management server on ${host}: ${String(error)}`, THREAD);
    return undefined;
  }
  const address = server.address();
  log.info(`Json-RPC Management connection listening on ${host}:${typeof address === 'object' ? address?.port : ''}`);
  return {
    started: () => void (isStarted = true),
    close() {
      server.close();
      for (const client of sockets.clients) client.close(1000);
    },
  };
}

function send(client: WebSocket, text: string): void {
  if (client.bufferedAmount > MAX_UNSENT_BYTES) client.terminate();
  else if (client.readyState === WebSocket.OPEN) client.send(text);
}

function listening(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
}

/** Returns the answer to a message; undefined if the message requests none. */
function answerTo(message: string, perform: (method: string) => unknown): object | undefined {
  let call: Call | null;
  try {
    call = JSON.parse(message) as Call | null;
  } catch {
    return failed(null, -32_700, 'Parse error');
  }
  if (typeof call !== 'object' || call?.jsonrpc !== '2.0' || typeof call.method !== 'string')
    return failed(null, -32_600, 'Invalid Request');
  if (call.id === undefined) return undefined;
  try {
    const result = perform(call.method);
    return result === undefined
      ? failed(call.id, -32_601, 'Method not found')
      : { jsonrpc: '2.0', id: call.id, result };
  } catch (error) {
    return failed(call.id, -32_603, `Internal error: ${String(error)}`);
  }
}

function failed(id: unknown, code: number, message: string): object {
  return { jsonrpc: '2.0', id, error: { code, message } };
}

/** Returns the result of a method; undefined if it is unknown. */
function perform(game: Game, started: boolean, method: string): unknown {
  const players = [...game.players.values()].map(playerOf);
  const { name, protocol } = game.protocol.version;
  if (method === 'minecraft:players') return players;
  if (method === 'minecraft:server/status') return { started, players, version: { name, protocol } };
  if (method !== 'minecraft:server/save') return undefined;
  game.save();
  return true;
}

function playerOf({ uuid, name }: Player): { id: string; name: string } {
  return { id: uuid, name };
}
