import { type Socket, createConnection } from 'node:net';
import { PacketType, decodePacket, encodePacket } from 'rcon-client/lib/packet.js';
import type { Address } from '../../kernel/address.ts';
import type { Clock } from '../../kernel/clock.ts';
import { KIB, MIB } from '../../kernel/units.ts';
import { ConsoleError } from './console.ts';

/**
 * Limits of a packet's announced length: from id, type and two NULs (10 bytes) to 4 KiB of characters of up to 3 bytes.
 */
const MIN_PACKET = 10;
const MAX_PACKET = 16 * KIB;
const AUTH_RESPONSE: number = PacketType.AuthResponse;
const MAX_REPLY = MIB;
/** Maximum number of bytes that a game may send between two commands. They are discarded. */
const MAX_UNASKED = 64 * KIB;
/** Extra bytes counted for each packet, so that empty packets are limited too. */
const PACKET_COST = 64;
/**
 * Servers split a long reply into packets of 4 096 characters or bytes. Some count the header, and some do not cut a
 * character. So a packet shorter than this is the last of its reply.
 */
const FULL_PACKET = 4_000;
/** A reply is complete after this silence if the server does not answer the request that marks its end. */
const QUIET_MS = 1_000;

interface Packet {
  id: number;
  type: number;
  payload: Buffer;
}

/**
 * One RCON connection (Source RCON protocol, developer.valvesoftware.com; minecraft.wiki "RCON"). A game server reads
 * one packet at a time and disconnects if two arrive together, so at most one of our packets is in flight. Packets
 * without a request are discarded, and a game that keeps sending them is disconnected.
 */
export class RconConnection {
  readonly #socket: Socket;
  readonly #clock: Clock;
  #received: Buffer = Buffer.alloc(0);
  #packets: Packet[] = [];
  #failure: Error | undefined;
  #wake: () => void = () => undefined;
  #lastId = 0;
  /** Whether a reply is awaited. */
  #asked = false;
  /** Number of bytes that may still arrive: of the reply, or without a request. */
  #left = MAX_UNASKED;
  /** Whether the game has closed the connection. */
  #gone = false;

  constructor({ host, port }: Address, clock: Clock) {
    this.#clock = clock;
    this.#socket = createConnection({ host, port, noDelay: true });
    this.#socket.unref();
    this.#socket.on('data', (chunk) => this.#receive(chunk));
    this.#socket.on('error', (error) => this.#hungUp('The console is not available.', error));
    this.#socket.on('close', () => this.#hungUp('The game closed its console.'));
  }

  get closed(): boolean {
    return this.#failure !== undefined;
  }

  close(): void {
    this.#fail(new ConsoleError('unavailable', 'The connection to the console was released.'));
  }

  /** Signs in. Rejects with `refused` for a wrong password. */
  async authenticate(password: string): Promise<void> {
    const id = this.#ask(PacketType.Auth, password);
    for (;;) {
      const packet = await this.#next();
      // Some servers send an empty reply packet before the answer.
      if (packet.type !== AUTH_RESPONSE) continue;
      if (packet.id !== id) throw this.#refused();
      return this.#answered();
    }
  }

  /**
   * Sends a command and resolves with its whole reply. A long reply arrives in several packets, without a mark on the
   * last one. So a full first packet is followed by a second request, which most servers answer in order: everything
   * before that answer is the reply. If a server disconnects or does not answer, the reply is everything that has
   * arrived.
   */
  async run(command: string): Promise<string> {
    const id = this.#ask(PacketType.Command, command);
    const parts: Buffer[] = [];
    let end: number | undefined;
    for (;;) {
      const packet = end === undefined ? await this.#next() : await this.#nextOrQuiet();
      if (packet === undefined) break;
      if (packet.id === -1) throw this.#refused();
      if (packet.id === end) break;
      if (packet.id !== id) continue;
      parts.push(packet.payload);
      if (packet.payload.length < FULL_PACKET && end === undefined) break;
      end ??= this.#send(PacketType.CommandResponse, '');
    }
    this.#answered();
    return Buffer.concat(parts).toString('utf8');
  }

  #answered(): void {
    this.#asked = false;
    this.#left = MAX_UNASKED;
    this.#packets = [];
  }

  #ask(type: number, text: string): number {
    this.#asked = true;
    this.#left = MAX_REPLY;
    return this.#send(type, text);
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

  /**
   * Returns the next packet; undefined if the game has disconnected, or has been silent for a while. Silence also ends
   * the connection.
   */
  async #nextOrQuiet(): Promise<Packet | undefined> {
    let ours = false;
    const cancel = this.#clock.at(this.#clock.now() + QUIET_MS, () => {
      ours = true;
      this.close();
    });
    try {
      return await this.#next();
    } catch (error) {
      if (ours || this.#gone) return undefined;
      throw error;
    } finally {
      cancel();
    }
  }

  #receive(chunk: Buffer): void {
    if (this.#failure) return;
    this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk]);
    let offset = 0;
    while (this.#received.length - offset >= 4) {
      const length = this.#received.readInt32LE(offset);
      if (length < MIN_PACKET || length > MAX_PACKET) {
        this.#fail(new ConsoleError('unavailable', 'The program at the address of the console does not speak RCON.'));
        return;
      }
      if (this.#received.length - offset - 4 < length) break;
      this.#left -= length + PACKET_COST;
      if (this.#left < 0) {
        this.#fail(new ConsoleError('unavailable', 'The game sent too much data without a request.'));
        return;
      }
      if (this.#asked) this.#packets.push(decodePacket(this.#received.subarray(offset, offset + 4 + length)));
      offset += 4 + length;
    }
    this.#received = this.#received.subarray(offset);
    this.#wake();
  }

  #refused(): Error {
    return this.#fail(new ConsoleError('refused', 'The game refused the password of its console.'));
  }

  #hungUp(sentence: string, cause?: Error): void {
    this.#gone ||= this.#failure === undefined;
    const nobody = cause !== undefined && 'code' in cause && cause.code === 'ECONNREFUSED';
    this.#fail(new ConsoleError(nobody ? 'absent' : 'unavailable', sentence, cause));
  }

  /** Ends the connection and keeps the first cause. */
  #fail(error: Error): Error {
    this.#failure ??= error;
    this.#socket.destroy();
    this.#wake();
    return this.#failure;
  }
}
