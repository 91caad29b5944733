import type { Address } from '../kernel/address.ts';

/** The status a running game reports about itself. */
export interface GameStatus {
  playersOnline: number;
  playersMax: number;
  versionName: string;
  protocol: number;
  /** The status JSON as the game sent it. */
  raw: string;
  /** Bytes that a mod appended to the JSON in the same packet. */
  tail?: Buffer;
}

/** Requests the status of running games, like the server list of a client. */
export interface Pinger {
  /** Rejects if no complete answer arrives within `timeoutMs`. */
  status(address: Address, timeoutMs: number): Promise<GameStatus>;
}
