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
  /** The only servers the key reaches; null: all that its account does. */
  serverIds: string[] | null;
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
  sftpEnabled: boolean;
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

/** A failure of one server; the newest 50 are kept. */
export interface DiagnosticRow {
  serverId: string;
  seq: number;
  at: number;
  kind: 'install' | 'start' | 'crash' | 'stop';
  code: string;
  summary: string;
  suggestion: string;
  /** The lines that show it. */
  evidence: string;
  /** Everything that was found, weightiest first: {@link StoredInsight}s as JSON. */
  insights: string;
}

/** One of the things that explain a failure. */
export interface StoredInsight {
  code: string;
  subject: string;
  summary: string;
  suggestion: string;
  evidence: string[];
}

/** A failure that is to be stored: the store gives it its server and its number. */
export type NewDiagnostic = Omit<DiagnosticRow, 'serverId' | 'seq'>;

/** One minute of one server. */
export interface MetricSampleRow {
  serverId: string;
  at: number;
  /** JSON text of `Figures` (metrics.ts). */
  figures: string;
}

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
  /** Another one with each renewal, by which it is seen; nobody compares it with a clock. */
  expiresAt: number;
}

/** A browser that somebody is signed in with. */
export interface SessionRow {
  /** SHA-256 of the cookie, hex. */
  id: string;
  userId: string;
  createdAt: number;
  seenAt: number;
  expiresAt: number;
  ip: string;
  userAgent: string;
  /** When the user last gave the password. */
  provedAt: number;
}

/** A link sent to an address, to show that mail to it arrives. */
export interface EmailTokenRow {
  /** SHA-256 of the token, hex. */
  hash: string;
  userId: string;
  email: string;
  expiresAt: number;
}

/** A third-party app that an operator has registered. */
export interface ClientRow {
  /** The `client_id`. No secret. */
  id: string;
  name: string;
  homepage: string;
  scopes: string[];
  createdAt: number;
  disabledAt: number | null;
}

/** A device grant; its life is its actor's snapshot. */
export interface GrantRow {
  id: string;
  /** SHA-256 of the device code, hex. */
  deviceHash: string;
  /** HMAC of the user code: too short for a plain hash. */
  userHmac: string;
  clientId: string | null;
  /** Who approved it. */
  userId: string | null;
  /** Who asked for it: shown to whoever is to approve. */
  ip: string;
  userAgent: string;
  /** The answer to the last poll, or to the next. */
  state: string;
  createdAt: number;
  expiresAt: number;
  snapshot: string;
  /** When it entered its state; 0 where that was not noted yet. */
  changedAt: number;
  /** The newest changes of its state, oldest first: JSON text of `Change[]` (grant-history.ts). */
  history: string;
}

/** One accepted start of a device grant by an address; the limit per hour counts them. */
export interface GrantStartRow {
  address: string;
  at: number;
  /** Tells starts of the same millisecond apart. */
  nth: number;
}

export interface AppTokenRow {
  id: string;
  /** SHA-256 of the token, hex. */
  hash: string;
  clientId: string;
  userId: string;
  scope: string;
  createdAt: number;
  lastUsedAt: number | null;
  revokedAt: number | null;
  /** Moves on with each use. */
  expiresAt: number;
}

/** `limited` may look and start; `member` may all but delete, bill and invite. The owner is the server's account. */
export type MemberRole = 'member' | 'limited';

export interface MemberRow {
  id: string;
  serverId: string;
  /** As invited, in lower case. */
  email: string;
  /** Null until a user with this address has signed up. */
  userId: string | null;
  role: MemberRole;
  invitedBy: string;
  createdAt: number;
  /** Null: the invitation is pending. */
  acceptedAt: number | null;
}

/** Who did what, through what, when. Never holds a secret. */
export interface AuditRow {
  /** Sorts by time. */
  id: string;
  accountId: string;
  /** '' where it is not about a server. */
  serverId: string;
  /** '' where no user did it: a player, a schedule, the system. */
  userId: string;
  /** `server.start`, `key.mint`, … */
  action: string;
  detail: string;
  createdAt: number;
}

/** What an account has, and what it may spend. */
export interface WalletRow {
  accountId: string;
  /** The sum of the account's ledger at every moment. */
  balanceMicros: number;
  /** Per calendar month (UTC); 0: none. */
  spendCapMicros: number;
  spendCapAction: SpendCapAction;
  /** The month `spentMicros` counts, as `2026-11`; '' before anything was spent. */
  spentMonth: string;
  spentMicros: number;
  /** The last month in which the cap was said to be reached; '' for none. */
  capNotifiedMonth: string;
  createdAt: number;
}

/** What happens when the spend cap is reached. */
export type SpendCapAction = 'notify' | 'stop';

/** `usage` of the metered plan and `flat` for a period of the other are spent; the others are given or corrected. */
export type LedgerKind = 'usage' | 'flat' | 'topup' | 'credit' | 'refund' | 'adjustment';

/** One movement of money. Never changes once closed; corrections are new entries. */
export interface LedgerRow {
  /** Grows with time. */
  id: number;
  accountId: string;
  /** '' where it is not about a server. */
  serverId: string;
  kind: LedgerKind;
  /** Negative where it is spent. */
  amountMicros: number;
  note: string;
  /** What it was for: one entry of a kind each. */
  ref: string;
  ts: number;
  /** Null while a usage entry still grows. */
  closedAt: number | null;
}

/** One time a server was awake, from the wish to its end. */
export interface AwakeSessionRow {
  id: string;
  serverId: string;
  accountId: string;
  /** Who or what woke it, as JSON text of machines' `Cause`. */
  cause: string;
  plan: string;
  /** RAM and price per GB and hour at its start; the price is 0 on the flat plan. */
  ramMb: number;
  rateMicros: number;
  startedAt: number;
  /** Null until the game was ready: until then it is free. */
  readyAt: number | null;
  endedAt: number | null;
  /** '' while it lasts; then `stopped`, `idle`, `false_wake`, `crashed`, `start_failed`, `funds`, … */
  ending: string;
  /** 0 while nobody has come in who was waited for: a false wake is free. */
  billable: number;
  /** Up to when it is known to have been up, on the meter's steady clock. */
  provenAt: number;
  /** How long it is known to have been up. */
  awakeMs: number;
  /** How many minutes are charged, what they cost, and the part of a micro that is carried on (61 440ths). */
  ticks: number;
  remainder: number;
  amountMicros: number;
  /** Tells its server from those of the same name that were there before. */
  serverCreatedAt: number;
}

/** One charged minute: the n-th of its session. */
export interface TickRow {
  serverId: string;
  sessionId: string;
  n: number;
  ramMb: number;
  rateMicros: number;
  amountMicros: number;
  at: number;
}

/** Where an account's limits are not the installation's. */
export interface AccountLimitsRow {
  accountId: string;
  /** Null: as the installation's; 0: unlimited. */
  maxServers: number | null;
  /** Null: as the installation's. */
  maxRamMb: number | null;
}

/** One hosted payment. */
export interface CheckoutRow {
  id: string;
  accountId: string;
  provider: 'stripe' | 'test';
  amountUsd: number;
  amountMicros: number;
  state: 'open' | 'paid' | 'expired';
  /** The provider's name for it; null until it has one. */
  providerRef: string | null;
  createdAt: number;
  paidAt: number | null;
}
