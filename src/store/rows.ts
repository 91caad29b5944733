/** Rows as the rest of the service sees them: plain objects, instants in epoch ms, money in micros. One interface a table. */

export interface AccountRow {
  id: string;
  name: string;
  createdAt: number;
}

export interface UserRow {
  id: string;
  email: string;
  emailVerified: boolean;
  /** PHC string (argon2id). */
  passwordHash: string;
  accountId: string;
  operator: boolean;
  createdAt: number;
}

export interface ApiKeyRow {
  id: string;
  /** SHA-256 of the whole key, hex. */
  hash: string;
  name: string;
  /** The last four characters, for display. */
  last4: string;
  userId: string;
  accountId: string;
  scopes: string[];
  createdAt: number;
  lastUsedAt: number | null;
  expiresAt: number | null;
  revokedAt: number | null;
}

/** What an owner sets, and what runs left behind; the live part of a server is its actor's snapshot. */
export interface ServerRow {
  /** A slug, also the host name's first label; unique in the installation. */
  id: string;
  name: string;
  hostname: string;
  accountId: string;
  container: string;
  type: string;
  version: string;
  ramMb: number;
  plan: string;
  region: string;
  motd: string;
  properties: Record<string, string>;
  idleTimeoutMinutes: number;
  alertWebhookUrl: string;
  modpackPlatform: string;
  modpackRef: string;
  modpackVersion: string;
  createdAt: number;
  updatedAt: number;
  /** Durations of the last ten cold starts, in ms, newest last. */
  coldStartsMs: number[];
  /** The last status JSON the game gave; '' if it never ran. */
  lastStatus: string;
  /** The actor's persisted snapshot (XState), as JSON text. */
  snapshot: string;
  /** The snapshot's wire state, for queries; `deleting` once deletion has begun. */
  state: string;
}

/** One transition of one server's machine; the newest 50 are served. */
export interface TransitionRow {
  serverId: string;
  seq: number;
  at: number;
  event: string;
  from: string;
  to: string;
  /** Who or what caused it, as JSON text of machines' `Cause`. */
  cause: string;
}

/** A transition that is to be stored: the store gives it its server and its number. */
export type NewTransition = Omit<TransitionRow, 'serverId' | 'seq'>;

/** What players may see of a server without its snapshot being read: enough to route to ten thousand at boot. */
export type RouteRow = Pick<
  ServerRow,
  'id' | 'hostname' | 'state' | 'motd' | 'version' | 'properties' | 'lastStatus' | 'createdAt'
>;

/** One fact about the installation itself. */
export interface MetaRow {
  key: string;
  value: string;
}

/** Who may do what only one process may do. `src/access/lease.ts` writes it. */
export interface LeaseRow {
  /** What is leased. */
  name: string;
  /** Random, new with every holder. */
  token: string;
  hostname: string;
  /** The machine's boot and PID namespace: only within the same ones does `pid` mean anything. */
  scope: string;
  pid: number;
  /** When that process started, in its kernel's own unit; '' where the system does not tell. */
  startedAt: string;
  expiresAt: number;
}
