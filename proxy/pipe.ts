import type { Socket } from 'node:net';
import type { GameSocket } from './game-socket.ts';

export interface PipeOptions {
  /** Bytes of the client that came before, for the game. */
  first: Buffer;
  /** The client has ended its side already. */
  ended: boolean;
  /** Once one side has ended: how long the other may go without moving a byte. */
  lingerMs: number;
}

/** Two joined sockets. */
export interface Pipe {
  /** Settles when both sockets are closed. */
  closed: Promise<void>;
  /** Bytes from the client to the game, and back. */
  bytesUp(): number;
  bytesDown(): number;
  destroy(): void;
}

const KEEP_ALIVE_MS = 30_000;

/**
 * Joins a client and a game until both have ended: bytes as they come, no faster than the slower side reads, and each
 * side's end passed on without cutting what is still under way to it. `client` must have no other reader.
 */
export function pipe(client: Socket, game: GameSocket, options: PipeOptions): Pipe {
  const server = game.socket;
  client.setNoDelay(true).setKeepAlive(true, KEEP_ALIVE_MS);

  let waiting = false;
  const onFlushed = (): void => {
    if (!waiting || client.writableLength > 0) return;
    waiting = false;
    server.resume();
  };
  game.consume((chunk) => {
    client.write(chunk, onFlushed);
    // Written to the kernel in the call, as nearly always; or else the chunk is in use until the client has taken it.
    waiting = client.writableLength > 0;
    return !waiting;
  });
  if (options.first.length > 0) server.write(options.first);
  client.on('data', (chunk) => {
    if (!server.write(chunk)) client.pause();
  });
  server.on('drain', () => client.resume());
  client.resume();

  const moved = (): number => client.bytesRead + server.bytesRead + client.bytesWritten + server.bytesWritten;
  const destroy = (): void => {
    client.destroy();
    server.destroy();
  };
  let linger: NodeJS.Timeout | undefined;
  const oneSideIsOver = (): void => {
    let before = moved() - client.writableLength - server.writableLength;
    linger ??= setInterval(() => {
      const at = moved() - client.writableLength - server.writableLength;
      if (at === before) destroy();
      before = at;
    }, options.lingerMs);
  };
  const endServer = (): void => {
    server.end();
    oneSideIsOver();
  };
  const endClient = (): void => {
    client.end();
    oneSideIsOver();
  };
  server.once('end', endClient);
  // Never destroySoon() here: closing with bytes of the client unread would reset the connection, and the reset would
  // overtake the game's last words.
  server.once('close', endClient);
  client.once('close', () => {
    server.destroySoon();
    oneSideIsOver();
  });
  if (options.ended || client.readableEnded) endServer();
  else client.once('end', endServer);
  if (client.destroyed) server.destroySoon();
  if (server.readableEnded || server.closed) endClient();

  return {
    closed: Promise.all([closed(client), closed(server)]).then(() => clearInterval(linger)),
    bytesUp: () => server.bytesWritten,
    bytesDown: () => server.bytesRead,
    destroy,
  };
}

function closed(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    if (socket.closed) resolve();
    else socket.once('close', () => resolve());
  });
}
