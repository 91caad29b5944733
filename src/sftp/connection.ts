import type { Socket } from 'node:net';
import type { AuthContext, Connection as SshConnection, ServerChannel } from 'ssh2';
import type { Clock } from '../kernel/clock.ts';
import type { Log } from '../kernel/log.ts';
import { MINUTE_MS } from '../kernel/units.ts';
import type { SftpLimits } from './limits.ts';
import { SftpSessionEnded } from './sftp-session.ts';
import type { AcceptedLogin, Guest } from './sign-in.ts';
import { BadPacket } from './wire.ts';

/** A session's view of its connection. */
interface Link {
  socket: Socket;
  signal: AbortSignal;
  onRequest: () => void;
}

/** Called when a client has proved that it may sign in to the server. Returns false if no place is left for it. */
type Admit = (serverId: string, keyId: string | undefined) => boolean;

/** Serves SFTP on the channel of a signed-in client, until the client ends it or the signal fires. */
export type Serve = (serverId: string, channel: ServerChannel, link: Link) => Promise<void>;

/**
 * Interval between two checks of a login. If the database connection breaks during a COMMIT, the change may be stored
 * although the service reported a failure and ended no session.
 */
const RECHECK_MS = MINUTE_MS;
/** How long a client may take to read the last packets. */
const LAST_WORDS_MS = 1_000;
/** Limit of sessions in the lifetime of a connection. Clients that share a connection open one after the other. */
const MOST_SESSIONS = 1_000;

/** A client's connection, from accept to close. It ends when the client is late or idle, or stops reading. */
export class Connection implements Guest {
  readonly address: string;
  readonly #socket: Socket;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #limits: SftpLimits;
  readonly #admit: Admit;
  readonly #serve: Serve;
  readonly #ending = new AbortController();
  #ssh: SshConnection | undefined;
  #serverId: string | undefined;
  #login: AcceptedLogin | undefined;
  #signingIn = false;
  #signedIn = false;
  #late = false;
  #cancelTimer: () => void;
  #lastRequestAt = 0;
  #channel: ServerChannel | undefined;
  #serving: Promise<void> | undefined;
  #sessions = 0;

  /** `address`: the key of limits by address. */
  constructor(socket: Socket, address: string, clock: Clock, log: Log, limits: SftpLimits, admit: Admit, serve: Serve) {
    this.#socket = socket;
    this.address = address;
    this.#clock = clock;
    this.#log = log;
    this.#limits = limits;
    this.#admit = admit;
    this.#serve = serve;
    this.#cancelTimer = clock.at(clock.now() + limits.helloMs, () => {
      this.#late = true;
      socket.destroy();
    });
    socket.setNoDelay(true);
    // TCP keepalive detects a dead peer at lower cost than requests over SSH.
    socket.setKeepAlive(true, 30_000);
    socket.once('close', () => {
      this.#cancelTimer();
      this.#ending.abort();
    });
  }

  /** The server that the client has signed in to, or is signing in to. */
  get serverId(): string | undefined {
    return this.#serverId;
  }

  /** The public key used to sign in; undefined after a password. */
  get keyId(): string | undefined {
    return this.#login?.keyId;
  }

  get signedIn(): boolean {
    return this.#signedIn;
  }

  /** Whether the client has completed the key exchange and requested to sign in. */
  get signingIn(): boolean {
    return this.#signingIn;
  }

  /** Whether the connection ended because the client was late. */
  get late(): boolean {
    return this.#late;
  }

  claim(serverId: string): void {
    this.#serverId = serverId;
  }

  admit(login: AcceptedLogin): boolean {
    this.#login = login;
    return !this.#ending.signal.aborted && this.#admit(login.serverId, login.keyId);
  }

  /**
   * Call it once the client has identified itself. `ssh` reports all further requests of the client; `answer` answers
   * its sign-in.
   */
  greet(ssh: SshConnection, answer: (context: AuthContext) => Promise<void>): void {
    const [socket, clock, log, limits] = [this.#socket, this.#clock, this.#log, this.#limits];
    this.#ssh = ssh;
    ssh.on('error', (error: Error) => {
      log.debug({ err: error }, 'an SSH client broke off');
      // After an error, the library would keep using objects that it has released.
      socket.destroy();
    });
    ssh.on('authentication', (context) => {
      this.#signingIn = true;
      answer(context).catch((error: unknown) => {
        log.debug({ err: error }, 'could not check an SFTP sign-in');
        void this.end();
      });
    });
    ssh.on('ready', () => this.#ready());
    ssh.on('session', (accept, reject) => {
      if (this.#sessions++ >= MOST_SESSIONS || this.#ending.signal.aborted) return reject();
      accept().on('subsystem', (accept, reject, { name }) => {
        const isFree = this.#serving === undefined && !this.#ending.signal.aborted;
        if (name === 'sftp' && isFree) this.#open(accept());
        else reject();
      });
    });
    socket.on('data', () => this.#checkWaiting());
    this.#cancelTimer();
    this.#cancelTimer = clock.at(clock.now() + limits.signInMs, () => {
      this.#late = true;
      void this.end();
    });
  }

  /** Ends the connection. Resolves once all its requests have ended. */
  async end(): Promise<void> {
    const [socket, clock] = [this.#socket, this.#clock];
    if (!this.#ending.signal.aborted) {
      this.#ending.abort();
      this.#cancelTimer();
      this.#cancelTimer = clock.at(clock.now() + LAST_WORDS_MS, () => socket.destroy());
      try {
        this.#ssh?.end();
      } catch (error) {
        this.#log.debug({ err: error }, 'could not notify an SSH client of the end of its connection');
      }
      if (this.#ssh === undefined) socket.destroy();
    }
    await this.#serving;
  }

  destroy(): void {
    this.#socket.destroy();
  }

  #ready(): void {
    this.#signedIn = true;
    this.#lastRequestAt = this.#clock.now();
    this.#cancelTimer();
    this.#watch();
  }

  /** Ends the connection when it is idle, or when its login is no longer valid although `end` was not called. */
  #watch(): void {
    const [clock, log] = [this.#clock, this.#log];
    const idleAt = this.#lastRequestAt + this.#limits.idleMs;
    if (idleAt <= clock.now()) return void this.end();
    this.#cancelTimer = clock.at(Math.min(idleAt, clock.now() + RECHECK_MS), () => {
      this.#watch();
      this.#login!.isValid().then(
        (isValid) => void (isValid || this.end()),
        (error: unknown) => log.warn({ err: error, server: this.#serverId }, 'could not check an SFTP login again'),
      );
    });
  }

  #open(channel: ServerChannel): void {
    const [socket, clock, log] = [this.#socket, this.#clock, this.#log];
    const { signal } = this.#ending;
    const onRequest = (): void => void (this.#lastRequestAt = clock.now());
    this.#channel = channel;
    channel.on('error', (error: Error) => log.debug({ err: error }, 'an SFTP channel broke off'));
    this.#serving = this.#serve(this.#serverId!, channel, { socket, signal, onRequest })
      .then(() => {
        channel.exit(0);
        channel.close();
      })
      .catch((error: unknown) => {
        if (!(error instanceof SftpSessionEnded || error instanceof BadPacket)) {
          log.error({ err: error, server: this.#serverId }, 'an SFTP session failed');
        }
        void this.end();
      })
      .finally(() => {
        this.#serving = undefined;
        this.#channel = undefined;
      });
  }

  /**
   * Disconnects a client with too many waiting bytes. The library does not enforce the limits it announces, and answers
   * some requests at once.
   */
  #checkWaiting(): void {
    const waiting = Math.max(this.#channel?.readableLength ?? 0, this.#socket.writableLength);
    if (waiting > this.#limits.waitingBytes) this.#socket.destroy();
  }
}
