import type { ClientConnection } from '../client-connection.ts';
import { ProtocolError, readFrame } from '../codec.ts';
import type { Clock } from '../deadlines.ts';
import { PeerGone } from '../inbox.ts';
import { Kick } from '../kick.ts';
import type { Player } from '../ports.ts';
import type { Timings } from '../settings.ts';
import { LEAVE } from './dialogs.ts';
import type { NbtCompound } from './nbt.ts';
import {
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

/** The longest payload a client sends, and some room for its name. */
const FRAME_BYTES = 33 * 1024;
/** Most bytes a waiting client may send: brand and settings, channels of its mods, a few answers a minute. */
const MOST_BYTES = 64 * 1024;
const BRAND = 'Dormouse';

export interface WaitingClientOptions {
  connection: ClientConnection;
  player: Player;
  timings: Timings;
  clock: Clock;
  /** Called once: with Kick where the player has pressed the button, else with PeerGone or ProtocolError. */
  onGone: (reason: unknown) => void;
}

/**
 * A client in the configuration state, where it shows dialogs and stays for as long as it is sent keep-alives. Only its
 * answers to them and its button count; whatever else it sends is dropped.
 */
export class WaitingClient {
  readonly #options: WaitingClientOptions;
  #hasBegun = false;
  #timer: NodeJS.Timeout | undefined;
  #dialog: (() => NbtCompound) | undefined;
  #shown: Buffer | undefined;
  #lastId = 0n;
  /** Keep-alives without an answer, the oldest first. */
  readonly #unanswered: { id: bigint; at: number }[] = [];
  #lastKeepAliveAt = -Infinity;

  constructor(options: WaitingClientOptions) {
    this.#options = options;
  }

  /** The login is complete: from now on the client gets packets of the configuration state. */
  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  /** Lets the client in and shows it the dialog, each second anew. Rejects with PeerGone or ProtocolError. */
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

  /** Shows another dialog from now on. */
  show(dialog: () => NbtCompound): void {
    this.#dialog = dialog;
    this.#tick();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** The client goes to `host` and `port` by itself. */
  sendOn(host: string, port: number): void {
    this.#options.connection.sendAndAwaitEnd(Buffer.concat([clearDialog(), transfer(host, port)]));
  }

  /** The client shows `text` and is no longer here. */
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
    // A client that does not keep up is shown the newest once it does.
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
      throw new ProtocolError('a keep-alive that nobody sent');
  }
}
