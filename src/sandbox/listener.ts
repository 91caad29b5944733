import type { Server as NetServer } from 'node:net';
import { type Client, type Server, type ServerClient, createServer } from 'minecraft-protocol';
import type { Game } from './game.ts';
import { guard } from './guard.ts';
import { sendFeatures } from './join-packets.ts';
import { disconnect } from './messages.ts';
import { Player, gameMode, remoteIp } from './player.ts';
import { attend } from './session.ts';

const LOGIN_TIMEOUT_MS = 30_000;
const CONNECTIONS_BEYOND_PLAYERS = 100;

/** The game's port. */
export interface Listener {
  /** Resolves with the port once it is open. Rejects if it cannot be opened. */
  opened: Promise<number>;
  /** Starts answering pings and accepting players. */
  ready(): void;
  close(): void;
}

/** Opens the game's port. Until `ready()`, closes pings without an answer and refuses logins. */
export function listen(game: Game): Listener {
  const { properties, protocol, log } = game;
  const refused = new WeakSet<Client>();
  let isReady = false;
  const refuse = (client: ServerClient, reason: string) => {
    refused.add(client);
    const who = `${client.username} (/${remoteIp(client)}:${client.socket.remotePort})`;
    log.info(`Disconnecting ${printable(who)}: ${reason.split('\n')[0]}`);
    disconnect(client, protocol, reason);
  };
  const server = createServer({
    // The library treats the number 0 as missing. It keeps the string, which the operating system reads as 0.
    port: (properties.number('server-port', 0, 65_535) || '0') as number,
    host: properties.get('server-ip') || undefined,
    version: String(protocol.version.protocol),
    'online-mode': properties.is('online-mode'),
    motd: properties.get('motd'),
    maxPlayers: game.maxPlayers,
    kickTimeout: LOGIN_TIMEOUT_MS,
    hideErrors: true,
    enforceSecureProfile: false,
    errorHandler: (client) => client.socket.destroy(),
    // Only the callback allows leaving a ping unanswered.
    beforePing: (answer: object, _client, done) => {
      done?.(null, isReady && properties.is('enable-status') ? status(game, answer) : false);
    },
    beforeLogin: (client) => {
      const reason = isReady
        ? reasonToRefuse(game, client as ServerClient)
        : 'Server is still starting! Please wait before reconnecting.';
      if (reason) refuse(client as ServerClient, reason);
    },
  });
  const { socketServer } = server as Server & { socketServer: NetServer };
  socketServer.maxConnections = game.maxPlayers + CONNECTIONS_BEYOND_PLAYERS;
  server.on('connection', (client) => {
    guard(client, (reason) => log.warn(`Disconnecting /${remoteIp(client)}: ${printable(reason)}`));
    if (!isReady) client.removeAllListeners('legacy_server_list_ping');
    client.on('state', (state) => {
      if ((state as string) === 'configuration' && !refused.has(client)) sendFeatures(client);
    });
    client.once('set_protocol', ({ protocolVersion, nextState }: { protocolVersion: number; nextState: number }) => {
      if (nextState === 1 || protocolVersion === protocol.version.protocol) return;
      client.removeAllListeners('login_start');
      const age = protocolVersion < protocol.version.protocol ? 'client! Please use' : "server! I'm still on";
      disconnect(client, protocol, `Outdated ${age} ${protocol.version.name}`);
    });
  });
  server.on('login', (client) => {
    // Signed chat is not checked here, and the library's checks expect state that only signing servers keep.
    for (const packet of ['chat_message', 'chat_session_update', 'message_acknowledgement'])
      client.removeAllListeners(packet);
  });
  server.on('playerJoin', (client) => {
    if (!refused.has(client)) enter(game, client);
  });
  const opened = new Promise<number>((resolve, reject) => {
    server.once('error', reject);
    server.once('listening', () => {
      const address = socketServer.address();
      resolve(typeof address === 'object' && address ? address.port : 0);
    });
  });
  return {
    opened,
    ready: () => {
      isReady = true;
    },
    close: () => {
      socketServer.close();
      for (const client of Object.values(server.clients)) disconnect(client, protocol, 'Server closed');
    },
  };
}

function enter(game: Game, client: ServerClient): void {
  // Since the login, other players may have joined, or a list may have changed.
  const reason = reasonToRefuse(game, client);
  if (reason) return disconnect(client, game.protocol, reason);
  const player = new Player(client, game.protocol, game.nextEntityId(), gameMode(game.properties.get('gamemode')));
  attend(game, player);
  client.on('end', () => game.leave(player));
  game.join(player);
}

/** Returns why a player may not join, as a text for the player; undefined if they may. */
function reasonToRefuse(game: Game, client: ServerClient): string | undefined {
  const { lists, properties } = game;
  if (!/^[\x21-\x7e]{1,16}$/.test(client.username)) return 'Invalid characters in username';
  lists.dropExpired();
  const profile = { name: client.username, uuid: client.uuid };
  const ban = lists.banOf(profile);
  if (ban) return `You are banned from this server.\nReason: ${ban.reason}${until(ban.expires)}`;
  if (properties.is('white-list') && !lists.isWhitelisted(profile)) return 'You are not white-listed on this server!';
  const ipBan = lists.ipBanOf(remoteIp(client));
  if (ipBan) return `Your IP address is banned from this server.\nReason: ${ipBan.reason}${until(ipBan.expires)}`;
  const isFull = game.players.size >= game.maxPlayers && !game.players.has(client.uuid);
  if (isFull && !lists.operator(profile)?.bypassesPlayerLimit) return 'The server is full!';
  return undefined;
}

function until(expires: string): string {
  return expires === 'forever' ? '' : `\nYour ban will be removed on ${expires}`;
}

function status(game: Game, answer: object): object {
  const players = [...game.players.values()];
  const sample = game.properties.is('hide-online-players')
    ? []
    : players.slice(0, 12).map(({ name, uuid }) => ({ name, id: uuid }));
  return {
    ...answer,
    version: { name: game.protocol.version.name, protocol: game.protocol.version.protocol },
    description: { text: game.properties.get('motd') },
    players: { max: game.maxPlayers, online: players.length, sample },
  };
}

function printable(text: string): string {
  return text.slice(0, 200).replaceAll(/[^\x20-\x7e]/g, '?');
}
