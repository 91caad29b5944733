import type { ClientConnection, Clock } from '../client-connection.ts';
import { ProtocolError, readFrame } from '../codec.ts';
import type { Context } from '../context.ts';
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

/**
 * A client in the configuration state. It shows dialogs, and stays connected while it receives keep-alives. The proxy
 * reads only its answers and its button, and drops all other packets.
 */
export class WaitingClient {
  readonly #connection: ClientConnection;
  readonly #player: Player;
  readonly #timings: Timings;
  readonly #clock: Clock;
  readonly #onGone: (reason: unknown) => void;
  #hasBegun = false;
  #timer: NodeJS.Timeout | undefined;
  #dialog: (() => NbtCompound) | undefined;
  #shown: Buffer | undefined;
  #lastId = 0n;
  /** Unanswered keep-alives, the oldest first. */
  readonly #unanswered: { id: bigint; at: number }[] = [];
  #lastKeepAliveAt = -Infinity;

  /**
   * `onGone` is called with Kick if the player pressed the button, else with PeerGone or ProtocolError. Only the first
   * call counts.
   */
  constructor(
    connection: ClientConnection,
    player: Player,
    { timings, clock }: Context,
    onGone: (reason: unknown) => void,
  ) {
    this.#connection = connection;
    this.#player = player;
    this.#timings = timings;
    this.#clock = clock;
    this.#onGone = onGone;
  }

  /** Whether Login Success was sent, after which the client accepts configuration packets. */
  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  /** Completes the login and shows the dialog, updated each second. Rejects with PeerGone or ProtocolError. */
  async begin(uuid: string, dialog: () => NbtCompound): Promise<void> {
    const { socket, inbox } = this.#connection;
    const player = this.#player;
    inbox.setLimit(MOST_BYTES);
    this.#hasBegun = true;
    socket.write(loginSuccess(uuid, player.name, player.protocol));
    this.#timer = setTimeout(() => this.#onGone(new PeerGone()), this.#timings.answerMs);
    const answer = await inbox.take((bytes) => readFrame(bytes, FRAME_BYTES));
    clearTimeout(this.#timer);
    if (!isAcknowledgement(answer)) throw new ProtocolError('not an acknowledgement of the login');
    socket.write(brand(BRAND));
    void this.#read();
    this.show(dialog);
    this.#timer = setInterval(() => this.#tick(), this.#timings.dialogMs);
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
    this.#connection.sendAndAwaitEnd(Buffer.concat([clearDialog(), transfer(host, port)]));
  }

  /** Disconnects the client and shows `text`. */
  sendAway(text: string): void {
    this.#connection.sendAndClose(disconnect(text, this.#player.protocol));
  }

  #tick(): void {
    const { socket } = this.#connection;
    const at = this.#clock.now();
    const [oldest] = this.#unanswered;
    if (oldest && at - oldest.at >= this.#timings.answerMs) {
      this.stop();
      this.#onGone(new PeerGone());
      return;
    }
    if (at - this.#lastKeepAliveAt >= this.#timings.beatMs) this.#sendKeepAlive(at);
    // A client that falls behind gets the newest dialog once it has caught up.
    if (socket.writableLength > 0 || !this.#dialog) return;
    const frame = showDialog(this.#dialog());
    if (this.#shown?.equals(frame)) return;
    this.#shown = frame;
    socket.write(frame);
  }

  #sendKeepAlive(at: number): void {
    this.#lastKeepAliveAt = at;
    const id = ++this.#lastId;
    this.#unanswered.push({ id, at });
    this.#connection.socket.write(keepAlive(id));
  }

  async #read(): Promise<void> {
    const { inbox } = this.#connection;
    try {
      for (;;) this.#accept(await inbox.take((bytes) => readFrame(bytes, FRAME_BYTES)));
    } catch (error) {
      this.stop();
      this.#onGone(error);
    }
  }

  #accept(body: Buffer): void {
    const packet = readClientPacket(body);
    if (packet.kind === 'click' && packet.id === LEAVE) throw new Kick('left');
    if (packet.kind === 'keepAlive' && this.#unanswered.shift()?.id !== packet.id)
      throw new ProtocolError('unexpected keep-alive');
  }
}
