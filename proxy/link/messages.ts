import type { VerifiedAccount } from '../accounts.ts';
import type { ProxyStats } from '../index.ts';
import type { Nameless } from '../hostname.ts';
import type { Address, Player, Route } from '../ports.ts';

/**
 * The messages between a proxy and the service: JSON texts over one WebSocket. The proxy connects and sends `hello`;
 * the service answers `welcome` or `refused`. Each side then sends its complete state, ends it with `whole`, and sends
 * changes from then on. Messages are not acknowledged or repeated: after a lost connection, the next complete state
 * replaces lost messages.
 */
export const LINK_PROTOCOL = 1;

/** Path of the proxy link on the service's HTTP port. */
export const LINK_PATH = '/v1/proxy-link';

/** The longest message in either direction. Longer lists are split. */
export const MAX_MESSAGE_BYTES = 1024 * 1024;

/** Approximate size of a full message in UTF-16 units. Parsing one does not block for long. */
const MESSAGE_UNITS = 32 * 1024;

/** Most players of one server listed in a message. Counts are always exact. */
export const MOST_PLAYERS = 2_000;

/** How many servers a proxy remembers as recently joined, and for how long. */
export const MOST_REMEMBERED = 10_000;
export const REMEMBERED_MS = 60 * 60_000;

/** Most concurrent wakes of one proxy. */
export const MOST_WAKES = 10_000;

/** A route as sent over the link. `lastStatus`, usually the largest part, is absent if the proxy already has it. */
export type LinkedRoute = Omit<Route, 'lastStatus'> & Partial<Pick<Route, 'lastStatus'>>;

/**
 * A banned address in normal form, the end of the ban (epoch ms; null if permanent), and the message for its players.
 */
export type BannedAddress = readonly [ip: string, until: number | null, text: string];

/** The players joined to one server through one proxy. */
export interface Here {
  id: string;
  inside: number;
  knocking: number;
  /** Same as in `Joined`. Covers players who came and left between two messages or while the service was away. */
  insideMsAgo?: number | undefined;
  /** At most MOST_PLAYERS. */
  players: Player[];
}

/** The identity of the proxy that connects. */
export interface Hello {
  type: 'hello';
  protocol: number;
  /** Random, different for each process. */
  id: string;
  /** The name shown to operators. */
  name: string;
  /** The version of the program, from `programVersion`. */
  version: string;
  /** Fingerprint of the start settings. A change requires a new proxy. */
  settings: string;
  pid: number;
  /** Epoch ms. */
  since: number;
  listening: Address | null;
}

export type FromProxy =
  | Hello
  | { type: 'here'; servers: Here[] }
  | { type: 'whole' }
  /** `waitedMs`: how long a player who can wait in the queue has waited already; absent if the player cannot queue. */
  | { type: 'wake'; id: number; server: string; player: Player; waitedMs?: number | undefined }
  | { type: 'cancel'; id: number }
  | { type: 'stats'; stats: ProxyStats; listening: Address | null; draining: boolean }
  | { type: 'verified'; accounts: VerifiedAccount[] }
  | { type: 'log'; level: 'debug' | 'info' | 'warn'; fields: object; message: string };

export type FromService =
  | { type: 'welcome'; logLevel: string }
  | { type: 'refused'; reason: string }
  | { type: 'routes'; list: [host: string, route: LinkedRoute | null][]; nameless?: Nameless | null }
  | { type: 'bans'; server: string; list: BannedAddress[] }
  | { type: 'whole' }
  | { type: 'woken'; id: number; address: Address }
  /** `text` is the message for the player; null if the reason is unknown. */
  | { type: 'unwoken'; id: number; text: string | null }
  /** The wake's place in the queue, from 1; null once the wake waits for the start itself. */
  | { type: 'line'; id: number; place: number | null }
  | { type: 'kick'; server: string; ip: string }
  | { type: 'verified'; accounts: VerifiedAccount[] }
  | { type: 'drain' };

/** One end of a connection. Messages sent after the connection has ended are dropped. */
export interface Channel {
  send(text: string): void;
  /** Resolves when more can be sent, or when the connection has ended. */
  room(): Promise<void>;
  close(): void;
}

/** Splits a list into parts whose JSON has about MESSAGE_UNITS. A longer item becomes its own part. */
export function* inParts<T>(items: Iterable<T>, units = MESSAGE_UNITS): Generator<T[]> {
  let part: T[] = [];
  let size = 0;
  for (const item of items) {
    const length = JSON.stringify(item).length;
    if (part.length > 0 && size + length > units) {
      yield part;
      part = [];
      size = 0;
    }
    part.push(item);
    size += length;
  }
  if (part.length > 0) yield part;
}
