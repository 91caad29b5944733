import * as z from 'zod';
import type { Address } from '../../kernel/address.ts';
import type { Clock } from '../../kernel/clock.ts';
import { KIB, MIB } from '../../kernel/units.ts';
import { ManagementError } from './management-port.ts';
import { WebSocketClient } from './websocket.ts';

/** Enough for about 3 000 players, each with about 80 bytes of an answer. */
const MAX_MESSAGE_BYTES = 256 * KIB;
/** Games send notifications without a request, so their rate is bounded too. */
const MAX_BYTES_PER_SECOND = MIB;
const MAX_PENDING = 16;
/** Time limit for connecting and one answer together. */
const TIMEOUT_MS = 3_000;
const CHANGES = /^minecraft:notification\/(?:players\/(?:joined|left)|server\/status)$/;

const Message = z.object({
  id: z.number().nullish(),
  method: z.string().optional(),
  result: z.unknown().optional(),
  error: z.object({ code: z.number(), message: z.string() }).optional(),
});

interface PendingCall {
  text: string;
  resolve: (result: unknown) => void;
  reject: (error: Error) => void;
}

export interface ManagementConnectionOptions {
  /** The port's bearer token. */
  secret: string;
  clock: Clock;
  /** Called when players joined or left, or when the game reports its status. */
  changed: () => void;
  /** Called when the connection has ended, for any reason. */
  ended: () => void;
}

/**
 * One connection to a game's management port: JSON-RPC 2.0 over WebSocket. A malformed or oversized message, too many
 * messages, or a late answer end it and reject all calls in flight. It does not keep this process alive.
 */
export class ManagementConnection {
  readonly #socket: WebSocketClient;
  readonly #options: ManagementConnectionOptions;
  readonly #pending = new Map<number, PendingCall>();
  #failure: Error | undefined;
  #lastId = 0;

  constructor(address: Address, options: ManagementConnectionOptions) {
    this.#options = options;
    this.#socket = new WebSocketClient(address, {
      headers: { Authorization: `Bearer ${options.secret}` },
      maxMessageBytes: MAX_MESSAGE_BYTES,
      maxBytesPerSecond: MAX_BYTES_PER_SECOND,
      clock: options.clock,
      opened: () => this.#pending.forEach(({ text }) => this.#socket.send(text)),
      text: (message) => this.#receive(message),
      ended: (cause) => this.#fail('The management port does not respond or refuses the connection.', cause),
    });
  }

  close(): void {
    this.#fail('The connection to the management port was released.');
  }

  /**
   * Calls a method without parameters and returns its result. Rejects with ManagementError. A late answer ends the
   * connection.
   */
  async call(method: string): Promise<unknown> {
    if (this.#failure) throw this.#failure;
    if (this.#pending.size >= MAX_PENDING) throw new ManagementError('Too many requests are waiting for the game.');
    const id = ++this.#lastId;
    const text = JSON.stringify({ jsonrpc: '2.0', id, method });
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const { clock } = this.#options;
    const late = () => this.#fail(`The game did not answer within ${TIMEOUT_MS} ms.`);
    const cancel = clock.at(clock.now() + TIMEOUT_MS, late);
    this.#pending.set(id, { text, resolve, reject });
    if (this.#socket.isOpen) this.#socket.send(text);
    try {
      return await promise;
    } finally {
      cancel();
      this.#pending.delete(id);
    }
  }

  #receive(text: string): void {
    const message = readMessage(text);
    if (message === undefined)
      return this.#fail('The game sent something that is not a message of the management protocol.');
    if (message.method !== undefined) {
      if (CHANGES.test(message.method)) this.#options.changed();
      return;
    }
    const pending = this.#pending.get(message.id ?? 0);
    if (message.error === undefined) pending?.resolve(message.result);
    else pending?.reject(new ManagementError(`The game answered with error ${message.error.code}.`));
  }

  /** Ends the connection and keeps the first cause. */
  #fail(message: string, cause?: unknown): void {
    if (this.#failure) return;
    this.#failure = new ManagementError(message, cause);
    this.#socket.destroy();
    for (const { reject } of this.#pending.values()) reject(this.#failure);
    this.#options.ended();
  }
}

function readMessage(text: string): z.infer<typeof Message> | undefined {
  try {
    return Message.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
