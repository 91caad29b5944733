import type { ClientConnection, Clock } from '../client-connection.ts';
import { ProtocolError, readFrame } from '../codec.ts';
import { PeerGone } from '../inbox.ts';
import { Kick } from '../kick.ts';
import type { Player } from '../ports.ts';
import type { Timings } from '../settings.ts';
import { LEAVE } from './dialogs.ts';
import {
  type NbtCompound,
  brand,
  clearDialog,
  disconnect,
  isAcknowledgement,
  keepAlive,
  loginSuccess,
  readClientPacket,
  showDialog,
  transfer,
} from './packets.ts';

/** Limit of a frame: the longest payload of a client, with room for its channel's name. */
const FRAME_BYTES = 33 * 1024;
/** Most bytes a waiting client may send: brand, settings, channels of its mods, and a few answers a minute. */
const MOST_BYTES = 64 * 1024;
const BRAND = 'Dormouse';

export interface WaitingClientOptions {
  connection: ClientConnection;
  player: Player;
  timings: Timings;
  clock: Clock;
  /**
   * Called with Kick if the player pressed the button, else with PeerGone or ProtocolError. Only the first call counts.
   */
  onGone: (reason: unknown) => void;
}

/**
 * A client in the configuration state. It shows dialogs, and stays connected while it receives keep-alives. The proxy
 * reads only its answers and its button, and drops all other packets.
 */
export class WaitingClient {
  readonly #options: WaitingClientOptions;
  #hasBegun = false;
  #timer: NodeJS.Timeout | undefined;
  #dialog: (() => NbtCompound) | undefined;
  #shown: Buffer | undefined;
  #lastId = 0n;
  /** Unanswered keep-alives, the oldest first. */
  readonly #unanswered: { id: bigint; at: number }[] = [];
  #lastKeepAliveAt = -Infinity;

  constructor(options: WaitingClientOptions) {
    this.#options = options;
  }

  /** Whether Login Success was sent, after which the client accepts configuration packets. */
  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  /** Completes the login and shows the dialog, updated each second. Rejects with PeerGone or ProtocolError. */
  async begin(uuid: string, dialog: () => NbtCompound): Promise<void> {
    const { connection, player, timings } = this.#options;
    const { socket, inbox } = connection;
    inbox.raiseLimit(MOST_BYTES);
    this.#hasBegun = true;
    socket.write(loginSuccess(uuid, player.name, player.protocol));
    this.#timer = setTimeout(() => this.#options.onGone(new PeerGone()), timings.answerMs);
    const answer = await inbox.take((bytes) => readFrame(bytes, FRAME_BYTES));
    clearTimeout(this.#timer);
    if (!isAcknowledgement(answer)) throw new ProtocolError('not an acknowledgement of the login');
    socket.write(brand(BRAND));
    void this.#read();
    this.show(dialog);
    this.#timer = setInterval(() => this.#tick(), timings.dialogMs);
  }

  /** Replaces the dialog. */
  show(dialog: () => NbtCompound): void {
    this.#dialog = dialog;
    this.#tick();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Transfers the client to `host` and `port`. */
  sendOn(host: string, port: number): void {
    this.#options.connection.sendAndAwaitEnd(Buffer.concat([clearDialog(), transfer(host, port)]));
  }

  /** Disconnects the client and shows `text`. */
  sendAway(text: string): void {
    const { connection, player } = this.#options;
    connection.sendAndClose(disconnect(text, player.protocol));
  }

  #tick(): void {
    const { timings, connection, clock } = this.#options;
    const at = clock.now();
    const [oldest] = this.#unanswered;
    if (oldest && at - oldest.at >= timings.answerMs) {
      this.stop();
      this.#options.onGone(new PeerGone());
      return;
    }
    if (at - this.#lastKeepAliveAt >= timings.beatMs) this.#sendKeepAlive(at);
    // A client that falls behind gets the newest dialog once it has caught up.
    if (connection.socket.writableLength > 0 || !this.#dialog) return;
    const frame = showDialog(this.#dialog());
    if (this.#shown?.equals(frame)) return;
    this.#shown = frame;
    connection.socket.write(frame);
  }

  #sendKeepAlive(at: number): void {
    this.#lastKeepAliveAt = at;
    const id = ++this.#lastId;
    this.#unanswered.push({ id, at });
    this.#options.connection.socket.write(keepAlive(id));
  }

  async #read(): Promise<void> {
    const { inbox } = this.#options.connection;
    try {
      for (;;) this.#accept(await inbox.take((bytes) => readFrame(bytes, FRAME_BYTES)));
    } catch (error) {
      this.stop();
      this.#options.onGone(error);
    }
  }

  #accept(body: Buffer): void {
    const packet = readClientPacket(body);
    if (packet.kind === 'click' && packet.id === LEAVE) throw new Kick('left');
    if (packet.kind === 'keepAlive' && this.#unanswered.shift()?.id !== packet.id)
      throw new ProtocolError('unexpected keep-alive');
  }
}
