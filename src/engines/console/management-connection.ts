import { z } from 'zod';
import type { Address } from '../../kernel/address.ts';
import { KIB, MIB } from '../../kernel/units.ts';
import { ManagementError } from './management-port.ts';
import { WebSocketClient } from './websocket.ts';

/** A player takes some 80 bytes of an answer. */
const MAX_MESSAGE_BYTES = 256 * KIB;
/** Games speak unasked. */
const MAX_BYTES_PER_SECOND = MIB;
const MAX_WAITING = 16;
const CHANGES = /^minecraft:notification\/(?:players\/(?:joined|left)|server\/status)$/;

const Message = z.object({
  id: z.number().nullish(),
  method: z.string().optional(),
  result: z.unknown().optional(),
  error: z.object({ code: z.number(), message: z.string() }).optional(),
});

interface Question {
  text: string;
  resolve: (result: unknown) => void;
  reject: (error: Error) => void;
}

export interface ManagementConnectionOptions {
  /** Opens the port, as a bearer token. */
  secret: string;
  /** Players came or left. */
  changed: () => void;
  /** It is over, for whatever reason. */
  ended: () => void;
}

/**
 * One connection to a game's management port: JSON-RPC 2.0 over WebSocket. What is no message of that protocol, too big, too
 * much or too late ends it, and with it all questions on the way. It does not keep this process alive.
 */
export class ManagementConnection {
  readonly #socket: WebSocketClient;
  readonly #options: ManagementConnectionOptions;
  readonly #questions = new Map<number, Question>();
  #failure: Error | undefined;
  #lastId = 0;

  constructor(address: Address, options: ManagementConnectionOptions) {
    this.#options = options;
    this.#socket = new WebSocketClient(address, {
      headers: { Authorization: `Bearer ${options.secret}` },
      maxMessageBytes: MAX_MESSAGE_BYTES,
      maxBytesPerSecond: MAX_BYTES_PER_SECOND,
      opened: () => this.#questions.forEach(({ text }) => this.#socket.send(text)),
      text: (message) => this.#receive(message),
      ended: (cause) => this.#fail('The management port is not there, or not ours to use.', cause),
    });
  }

  close(): void {
    this.#fail('The connection to the management port was released.');
  }

  /** The result of a method without parameters. Rejects with ManagementError; no answer in time ends the connection. */
  async call(method: string, timeoutMs: number): Promise<unknown> {
    if (this.#failure) throw this.#failure;
    if (this.#questions.size >= MAX_WAITING) throw new ManagementError('Too many questions wait for the game.');
    const id = ++this.#lastId;
    const text = JSON.stringify({ jsonrpc: '2.0', id, method });
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const timer = setTimeout(() => this.#fail(`The game did not answer within ${timeoutMs} ms.`), timeoutMs);
    this.#questions.set(id, { text, resolve, reject });
    if (this.#socket.isOpen) this.#socket.send(text);
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      this.#questions.delete(id);
    }
  }

  #receive(text: string): void {
    const message = readMessage(text);
    if (message === undefined) return this.#fail('What the game sent is no message of a management port.');
    if (message.method !== undefined) {
      if (CHANGES.test(message.method)) this.#options.changed();
      return;
    }
    const question = this.#questions.get(message.id ?? 0);
    if (message.error === undefined) question?.resolve(message.result);
    else question?.reject(new ManagementError(`The game answered with error ${message.error.code}.`));
  }

  /** Ends the connection; the first cause stays. */
  #fail(message: string, cause?: unknown): void {
    if (this.#failure) return;
    this.#failure = new ManagementError(message, cause);
    this.#socket.destroy();
    for (const { reject } of this.#questions.values()) reject(this.#failure);
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
