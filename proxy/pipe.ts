import type { Socket } from 'node:net';
import type { GameSocket } from './game-socket.ts';

interface PipeOptions {
  /** Bytes that the client sent before the pipe was created, for the game. */
  first: Buffer;
  /** Whether the client has already ended its side. */
  ended: boolean;
  /** How long one side may stay silent after the other has ended, in ms. */
  lingerMs: number;
  /** How long a side may accept no data while data is pending for it, in ms. */
  stallMs: number;
}

const KEEP_ALIVE_MS = 30_000;

/**
 * Relays bytes between a client and a game until both have ended, no faster than the slower side reads. Passes on each
 * side's end without cutting off data in flight. `client` must have no other reader and a high water mark of 1, so that
 * `write` reports whether the kernel has accepted every byte.
 */
export class Pipe {
  readonly #client: Socket;
  readonly #server: Socket;
  readonly #options: PipeOptions;
  #isOver = false;
  #moved = 0;
  #idleSince = 0;
  #closed: (() => void) | undefined;

  constructor(client: Socket, game: GameSocket, options: PipeOptions) {
    this.#client = client;
    this.#server = game.socket;
    this.#options = options;
    client.setNoDelay(true).setKeepAlive(true, KEEP_ALIVE_MS);
    this.#relay(game);
    this.#passEndsOn();
  }

  /** Bytes from the client to the game. */
  get bytesUp(): number {
    return this.#server.bytesWritten;
  }

  /** Bytes from the game to the client. */
  get bytesDown(): number {
    return this.#server.bytesRead;
  }

  /** Calls `listener` once, when both sockets are closed. */
  onceClosed(listener: () => void): void {
    this.#closed = listener;
    this.#look();
  }

  destroy(): void {
    this.#client.destroy();
    this.#server.destroy();
  }

  /**
   * Destroys both sockets if data is pending and does not move, or if the second side stays silent after the first has
   * ended. Called about once a second, with monotonic ms. This is necessary because back-pressure stops reading, and
   * only reading would reveal that the other side has gone.
   */
  check(at: number): void {
    const client = this.#client;
    const server = this.#server;
    const pending = client.writableLength + server.writableLength;
    const moved = client.bytesRead + server.bytesRead + client.bytesWritten + server.bytesWritten - pending;
    if (moved !== this.#moved || (pending === 0 && !this.#isOver)) {
      this.#moved = moved;
      this.#idleSince = at;
    } else if (at - this.#idleSince >= (this.#isOver ? this.#options.lingerMs : this.#options.stallMs)) {
      this.destroy();
    }
  }

  #relay(game: GameSocket): void {
    const client = this.#client;
    const server = this.#server;
    const resumeServer = (): void => void server.resume();
    game.consume((chunk) => {
      // Nearly always true. If not, the chunk is in use until the client has accepted it.
      if (client.write(chunk)) return true;
      client.once('drain', resumeServer);
      return false;
    });
    const { first } = this.#options;
    if (first.length > 0) server.write(first);
    const resumeClient = (): void => void client.resume();
    client.on('data', (chunk) => {
      if (server.write(chunk)) return;
      client.pause();
      server.once('drain', resumeClient);
    });
    client.resume();
  }

  #passEndsOn(): void {
    const client = this.#client;
    const server = this.#server;
    const endServer = (): void => this.#end(server);
    const endClient = (): void => this.#end(client);
    server.on('end', endClient).on('close', () => {
      // Never destroySoon() here: closing with unread bytes of the client would reset the connection, and the reset
      // would overtake the game's last bytes.
      endClient();
      this.#look();
    });
    client.on('close', () => {
      server.destroySoon();
      this.#sideIsOver();
      this.#look();
    });
    if (this.#options.ended || client.readableEnded) endServer();
    else client.on('end', endServer);
    if (client.destroyed) server.destroySoon();
    if (server.readableEnded || server.closed) endClient();
  }

  /** Passes on the other side's end to `socket`. */
  #end(socket: Socket): void {
    this.#sideIsOver();
    if (socket.writableEnded || socket.destroyed) return;
    // If no bytes are in flight either way, closing has the same effect immediately.
    if (socket.readableEnded && socket.writableLength === 0) socket.destroy();
    else socket.end();
  }

  #look(): void {
    if (!this.#client.closed || !this.#server.closed) return;
    this.#closed?.();
    this.#closed = undefined;
  }

  #sideIsOver(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    // Restarts the idle time at the next check.
    this.#moved = -1;
  }
}
