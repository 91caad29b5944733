import type { Socket } from 'node:net';
import type { GameSocket } from './game-socket.ts';

export interface PipeOptions {
  /** Bytes of the client that came before, for the game. */
  first: Buffer;
  /** The client has ended its side already. */
  ended: boolean;
  /** Once one side has ended: how long the other may go without moving a byte. */
  lingerMs: number;
  /** How long a side may take nothing although there is something for it. */
  stallMs: number;
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

  const watch = watchOver(client, server, options);

  let waiting = false;
  const onFlushed = (): void => {
    if (!waiting || client.writableLength > 0) return;
    waiting = false;
    server.resume();
  };
  game.consume((chunk) => {
    client.write(chunk, onFlushed);
    // The kernel nearly always takes the chunk within the call. Otherwise it is in use until the client has taken it.
    waiting = client.writableLength > 0;
    if (waiting) watch.start();
    return !waiting;
  });
  if (options.first.length > 0) server.write(options.first);
  client.on('data', (chunk) => {
    if (server.write(chunk)) return;
    client.pause();
    watch.start();
  });
  server.on('drain', () => client.resume());
  client.resume();

  const endServer = (): void => {
    server.end();
    watch.oneSideIsOver();
  };
  const endClient = (): void => {
    client.end();
    watch.oneSideIsOver();
  };
  server.once('end', endClient);
  // Never destroySoon() here: closing with bytes of the client unread would reset the connection, and the reset would
  // overtake the game's last words.
  server.once('close', endClient);
  client.once('close', () => {
    server.destroySoon();
    watch.oneSideIsOver();
  });
  if (options.ended || client.readableEnded) endServer();
  else client.once('end', endServer);
  if (client.destroyed) server.destroySoon();
  if (server.readableEnded || server.closed) endClient();

  return {
    closed: Promise.all([closed(client), closed(server)]).then(watch.stop),
    bytesUp: () => server.bytesWritten,
    bytesDown: () => server.bytesRead,
    destroy() {
      client.destroy();
      server.destroy();
    },
  };
}

/**
 * Destroys both sockets when bytes should move and none do. It runs only while something is awaited: under
 * back-pressure nobody reads, so nobody would notice that the other side has gone.
 */
function watchOver(
  client: Socket,
  server: Socket,
  { lingerMs, stallMs }: PipeOptions,
): { start(): void; stop: () => void; oneSideIsOver(): void } {
  let timer: NodeJS.Timeout | undefined;
  let isOver = false;
  let before = 0;
  let idleSince = 0;
  const pending = (): number => client.writableLength + server.writableLength;
  const moved = (): number =>
    client.bytesRead + server.bytesRead + client.bytesWritten + server.bytesWritten - pending();
  const stop = (): void => {
    clearInterval(timer);
    timer = undefined;
  };
  const check = (): void => {
    if (!isOver && pending() === 0) return stop();
    const at = performance.now();
    const hasMoved = moved() !== before;
    before = moved();
    if (hasMoved) {
      idleSince = at;
    } else if (at - idleSince >= (isOver ? lingerMs : stallMs)) {
      client.destroy();
      server.destroy();
    }
  };
  const start = (): void => {
    if (timer) return;
    before = moved();
    idleSince = performance.now();
    timer = setInterval(check, Math.min(lingerMs, stallMs));
  };
  const oneSideIsOver = (): void => {
    isOver = true;
    if (!client.closed || !server.closed) start();
  };
  return { start, stop, oneSideIsOver };
}

function closed(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    if (socket.closed) resolve();
    else socket.once('close', () => resolve());
  });
}
