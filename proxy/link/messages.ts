import type { VerifiedAccount } from '../accounts.ts';
import type { ProxyStats } from '../index.ts';
import type { Nameless } from '../hostname.ts';
import type { Address, Player, Route } from '../ports.ts';

/**
 * The messages between a proxy and the service: JSON texts over one WebSocket. The proxy connects and sends `hello`;
 * the service answers `welcome` or `refused`. Then each side sends its complete state, ends it with `whole`, and sends
 * changes from then on. Messages are not acknowledged or repeated: what a lost connection swallowed is part of the next
 * complete state.
 */
export const LINK_PROTOCOL = 1;

/** Path of the proxy link on the service's HTTP port. */
export const LINK_PATH = '/v1/proxy-link';

/** The longest message, either way. Longer lists come in several. */
export const MAX_MESSAGE_BYTES = 1024 * 1024;

/** Messages are filled up to about this many UTF-16 units, so that reading one does not block for long. */
export const MESSAGE_UNITS = 32 * 1024;

/** Players of one server that a message names: counts are exact all the same. */
export const MOST_PLAYERS = 2_000;

/** How many servers a proxy remembers as recently joined, and for how long. */
export const MOST_REMEMBERED = 10_000;
export const REMEMBERED_MS = 60 * 60_000;

/** Wakes that one proxy may have asked for at a time. */
export const MOST_WAKES = 10_000;

/** A route as it goes over the link: without its last status, mostly the larger part, where the proxy has that already. */
export type LinkedRoute = Omit<Route, 'lastStatus'> & Partial<Pick<Route, 'lastStatus'>>;

/** A banned address in normal form, its end (epoch ms; null if permanent), and the message for its players. */
export type BannedAddress = readonly [ip: string, until: number | null, text: string];

/** The players joined to one server through one proxy. */
export interface Here {
  id: string;
  inside: number;
  knocking: number;
  /** As `Joined` has it: of who came and left between two messages, or while the service was away. */
  insideMsAgo?: number | undefined;
  /** At most MOST_PLAYERS of them. */
  players: Player[];
}

/** The identity of the proxy that connects. */
export interface Hello {
  type: 'hello';
  protocol: number;
  /** Another for each process, by chance. */
  id: string;
  /** The name shown to operators. */
  name: string;
  /** The version of the program, from `version.ts`. */
  version: string;
  /** The start settings whose change requires a new proxy. */
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
  /** `waitedMs`: the player can wait in line, and has been doing so for so long. */
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
  /** `text` is for the player; null: it could not be said why. */
  | { type: 'unwoken'; id: number; text: string | null }
  /** The place of a wake in line, from 1; null: it waits for the start itself. */
  | { type: 'line'; id: number; place: number | null }
  | { type: 'kick'; server: string; ip: string }
  | { type: 'verified'; accounts: VerifiedAccount[] }
  | { type: 'drain' };

/** One connection, as either side sees it. What is sent after its end goes nowhere. */
export interface Channel {
  send(text: string): void;
  /** Resolves when there is room for more, or when it is over. */
  room(): Promise<void>;
  close(): void;
}

/** Cuts a list into parts whose JSON is of some MESSAGE_UNITS. An item that is longer by itself is a part of its own. */
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
