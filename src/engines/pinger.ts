import type { Address } from '../kernel/address.ts';

/** The status a running game reports about itself. */
export interface GameStatus {
  playersOnline: number;
  playersMax: number;
  versionName: string;
  protocol: number;
  /** The status JSON as the game sent it. */
  raw: string;
  /** The bytes that a mod put behind the JSON, in the same packet. */
  tail?: Buffer;
}

/** Asks running games for their status, as the server list of a client does. */
export interface Pinger {
  /** Rejects when there is no complete answer within `timeoutMs`. */
  status(address: Address, timeoutMs: number): Promise<GameStatus>;
}
