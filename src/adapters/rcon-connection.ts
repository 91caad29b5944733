import { type Socket, createConnection } from 'node:net';
import { PacketType, decodePacket, encodePacket } from 'rcon-client/lib/packet.js';
import { type Address, ConsoleError } from '../ports.ts';

/** A packet as the server announces it may hold id, type and two NULs (10) to 4 KiB of characters of up to 3 bytes. */
const MIN_PACKET = 10;
const MAX_PACKET = 16 * 1024;
const AUTH_RESPONSE: number = PacketType.AuthResponse;
const MAX_REPLY = 1024 * 1024;

interface Packet {
  id: number;
  type: number;
  payload: Buffer;
}

/**
 * One RCON connection (Source RCON protocol, developer.valvesoftware.com; minecraft.wiki "RCON"). A game server reads one
 * packet at a time and hangs up on two that arrive together, so there is never more than one of ours on the way.
 */
export class RconConnection {
  readonly #socket: Socket;
  #received: Buffer = Buffer.alloc(0);
  #packets: Packet[] = [];
  #failure: Error | undefined;
  #wake: () => void = () => undefined;
  #lastId = 0;

  constructor({ host, port }: Address) {
    this.#socket = createConnection({ host, port, noDelay: true });
    this.#socket.unref();
    this.#socket.on('data', (chunk) => this.#receive(chunk));
    this.#socket.on('error', (error) =>
      this.#fail(new ConsoleError('unavailable', 'The console is not there.', error)),
    );
    this.#socket.on('close', () => this.#fail(new ConsoleError('unavailable', 'The game closed its console.')));
  }

  get closed(): boolean {
    return this.#failure !== undefined;
  }

  close(): void {
    this.#fail(new ConsoleError('unavailable', 'The connection to the console was released.'));
  }

  /** Signs in. Rejects with `refused` for a wrong password. */
  async authenticate(password: string): Promise<void> {
    const id = this.#send(PacketType.Auth, password);
    for (;;) {
      const packet = await this.#next();
      // Some servers send an empty reply packet before the answer.
      if (packet.type !== AUTH_RESPONSE) continue;
      if (packet.id === id) return;
      throw this.#refused();
    }
  }

  /**
   * Gives a command and resolves with its whole reply. A long reply comes in several packets of which none says it is the
   * last, so behind the first one a packet is sent that every server answers in its turn: what comes before is the reply.
   */
  async run(command: string): Promise<string> {
    const id = this.#send(PacketType.Command, command);
    const parts: Buffer[] = [];
    let length = 0;
    let end: number | undefined;
    for (;;) {
      const packet = await this.#next();
      if (packet.id === -1) throw this.#refused();
      if (packet.id === end) return Buffer.concat(parts).toString('utf8');
      if (packet.id !== id) continue;
      parts.push(packet.payload);
      length += packet.payload.length;
      if (length > MAX_REPLY) throw this.#fail(new ConsoleError('unavailable', 'The reply of the console has no end.'));
      end ??= this.#send(PacketType.CommandResponse, '');
    }
  }

  #send(type: number, text: string): number {
    this.#lastId = (this.#lastId % 0x7fff_ffff) + 1;
    this.#socket.write(encodePacket({ id: this.#lastId, type, payload: Buffer.from(text, 'utf8') }));
    return this.#lastId;
  }

  async #next(): Promise<Packet> {
    for (;;) {
      const packet = this.#packets.shift();
      if (packet) return packet;
      if (this.#failure) throw this.#failure;
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#wake = resolve;
      await promise;
    }
  }

  #receive(chunk: Buffer): void {
    if (this.#failure) return;
    this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk]);
    let offset = 0;
    while (this.#received.length - offset >= 4) {
      const length = this.#received.readInt32LE(offset);
      if (length < MIN_PACKET || length > MAX_PACKET) {
        this.#fail(new ConsoleError('unavailable', 'What answers there is no console.'));
        return;
      }
      if (this.#received.length - offset - 4 < length) break;
      this.#packets.push(decodePacket(this.#received.subarray(offset, offset + 4 + length)));
      offset += 4 + length;
    }
    this.#received = this.#received.subarray(offset);
    this.#wake();
  }

  #refused(): Error {
    return this.#fail(new ConsoleError('refused', 'The game refused the password of its console.'));
  }

  /** Ends the connection; the first cause stays. */
  #fail(error: Error): Error {
    this.#failure ??= error;
    this.#socket.destroy();
    this.#wake();
    return this.#failure;
  }
}
