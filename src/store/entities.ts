import { EntitySchema } from 'typeorm';
import type { EntitySchemaColumnOptions } from 'typeorm';
import { tpsIncidents, webhookMessages } from './alerts-table.ts';
import { backupEntities } from './backups-table.ts';
import { exact } from './exact.ts';
import { publicStatuses, wakePolicies } from './settings-tables.ts';
import type {
  AccountLimitsRow,
  AccountRow,
  ApiKeyRow,
  AppTokenRow,
  AuditRow,
  AwakeSessionRow,
  CheckoutRow,
  ClientRow,
  DiagnosticRow,
  EmailTokenRow,
  GrantRow,
  GrantStartRow,
  LeaseRow,
  LedgerRow,
  MemberRow,
  MetaRow,
  MetricSampleRow,
  ServerRow,
  SessionRow,
  TickRow,
  TransitionRow,
  UserRow,
  WalletRow,
} from './rows.ts';
import { schedules } from './schedules-table.ts';
import { serverDatabases } from './server-databases-table.ts';
import { serverMods } from './server-mods-table.ts';
import { serverPorts } from './server-ports-table.ts';
import { templates } from './templates-table.ts';
import { serverDisks } from './server-disks-table.ts';
import { suspensions } from './suspensions-table.ts';
import { sftpUsers } from './sftp-users-table.ts';
import { signInPlaces } from './sign-in-places-table.ts';
import { consoleSalts } from './console-salts-table.ts';
import { sshKeys } from './ssh-keys-table.ts';
import { sealedTokens } from './sealed-tokens-table.ts';

const text: EntitySchemaColumnOptions = { type: 'text' };
/** On SQLite a query builder writes numbers into the SQL itself, past the check of parameters. */
const transformer = { to: exact, from: <T>(value: T): T => value };
const integer: EntitySchemaColumnOptions = { type: 'integer', transformer };
const bigint: EntitySchemaColumnOptions = { type: 'bigint', transformer };
const boolean: EntitySchemaColumnOptions = { type: 'boolean' };
/** Stored as text; a row holds the value itself. */
const json: EntitySchemaColumnOptions = { type: 'simple-json' };
const id: EntitySchemaColumnOptions = { type: 'text', primary: true };
const maybeAt: EntitySchemaColumnOptions = { ...bigint, nullable: true };

const ofAccount = { target: 'accounts', columnNames: ['accountId'], referencedColumnNames: ['id'] };

export const accounts = new EntitySchema<AccountRow>({
  name: 'accounts',
  columns: { id, name: text, createdAt: bigint },
});

export const users = new EntitySchema<UserRow>({
  name: 'users',
  columns: {
    id,
    email: text,
    emailVerified: boolean,
    passwordHash: text,
    accountId: text,
    operator: boolean,
    createdAt: bigint,
  },
  uniques: [{ columns: ['email'] }],
  indices: [{ columns: ['accountId'] }],
  foreignKeys: [ofAccount],
});

export const apiKeys = new EntitySchema<ApiKeyRow>({
  name: 'api_keys',
  columns: {
    id,
    hash: text,
    name: text,
    last4: text,
    userId: text,
    accountId: text,
    scopes: json,
    createdAt: bigint,
    lastUsedAt: maybeAt,
    expiresAt: maybeAt,
    revokedAt: maybeAt,
    serverIds: { ...json, nullable: true },
  },
  uniques: [{ columns: ['hash'] }],
  indices: [{ columns: ['accountId'] }, { columns: ['userId'] }],
  foreignKeys: [{ target: 'users', columnNames: ['userId'], referencedColumnNames: ['id'] }, ofAccount],
});

export const servers = new EntitySchema<ServerRow>({
  name: 'servers',
  columns: {
    id,
    name: text,
    hostname: text,
    accountId: text,
    container: text,
    type: text,
    version: text,
    ramMb: integer,
    plan: text,
    region: text,
    state: text,
    motd: text,
    properties: json,
    idleTimeoutMinutes: integer,
    alertWebhookUrl: text,
    sftpEnabled: { ...boolean, default: false },
    modpackPlatform: text,
    modpackRef: text,
    modpackVersion: text,
    createdAt: bigint,
    updatedAt: bigint,
    lastStatus: text,
    coldStartsMs: json,
    snapshot: text,
  },
  uniques: [{ columns: ['hostname'] }],
  indices: [{ columns: ['accountId'] }, { columns: ['state', 'id'] }],
  foreignKeys: [ofAccount],
});

const ofServer = {
  target: 'servers',
  columnNames: ['serverId'],
  referencedColumnNames: ['id'],
  onDelete: 'CASCADE' as const,
};
const maybeText: EntitySchemaColumnOptions = { ...text, nullable: true };

export const transitions = new EntitySchema<TransitionRow>({
  name: 'transitions',
  columns: {
    serverId: id,
    seq: { ...bigint, primary: true },
    at: bigint,
    event: text,
    from: text,
    to: text,
    cause: text,
  },
  foreignKeys: [ofServer],
});

export const meta = new EntitySchema<MetaRow>({ name: 'meta', columns: { key: id, value: text } });

export const leases = new EntitySchema<LeaseRow>({
  name: 'leases',
  columns: {
    name: id,
    token: text,
    hostname: text,
    scope: text,
    pid: integer,
    startedAt: text,
    expiresAt: bigint,
  },
});

const ofUser = { target: 'users', columnNames: ['userId'], referencedColumnNames: ['id'] };

export const sessions = new EntitySchema<SessionRow>({
  name: 'sessions',
  columns: {
    id,
    userId: text,
    createdAt: bigint,
    seenAt: bigint,
    expiresAt: bigint,
    ip: text,
    userAgent: text,
    provedAt: { ...bigint, default: 0 },
  },
  indices: [{ columns: ['userId'] }, { columns: ['expiresAt'] }],
  foreignKeys: [ofUser],
});

export const emailTokens = new EntitySchema<EmailTokenRow>({
  name: 'email_tokens',
  columns: { hash: id, userId: text, email: text, expiresAt: bigint },
  indices: [{ columns: ['userId'] }],
  foreignKeys: [ofUser],
});

export const clients = new EntitySchema<ClientRow>({
  name: 'clients',
  columns: { id, name: text, homepage: text, scopes: json, createdAt: bigint, disabledAt: maybeAt },
});

export const grants = new EntitySchema<GrantRow>({
  name: 'grants',
  columns: {
    id,
    deviceHash: text,
    userHmac: text,
    clientId: maybeText,
    userId: maybeText,
    ip: text,
    userAgent: text,
    state: text,
    createdAt: bigint,
    expiresAt: bigint,
    snapshot: text,
    changedAt: { ...bigint, default: 0 },
    history: { ...text, default: '[]' },
  },
  uniques: [{ columns: ['deviceHash'] }, { columns: ['userHmac'] }],
  indices: [{ columns: ['expiresAt'] }],
});

export const grantStarts = new EntitySchema<GrantStartRow>({
  name: 'grant_starts',
  columns: { address: id, at: { ...bigint, primary: true }, nth: { ...bigint, primary: true } },
  indices: [{ columns: ['at'] }],
});

export const appTokens = new EntitySchema<AppTokenRow>({
  name: 'app_tokens',
  columns: {
    id,
    hash: text,
    clientId: text,
    userId: text,
    scope: text,
    createdAt: bigint,
    lastUsedAt: maybeAt,
    revokedAt: maybeAt,
    expiresAt: { ...bigint, default: 0 },
  },
  uniques: [{ columns: ['hash'] }],
  indices: [{ columns: ['userId', 'clientId'] }],
  foreignKeys: [ofUser, { target: 'clients', columnNames: ['clientId'], referencedColumnNames: ['id'] }],
});

export const members = new EntitySchema<MemberRow>({
  name: 'members',
  columns: {
    id,
    serverId: text,
    email: text,
    userId: maybeText,
    role: text,
    invitedBy: text,
    createdAt: bigint,
    acceptedAt: maybeAt,
  },
  uniques: [{ columns: ['serverId', 'email'] }],
  indices: [{ columns: ['userId'] }, { columns: ['email'] }],
  foreignKeys: [ofServer],
});

export const audit = new EntitySchema<AuditRow>({
  name: 'audit',
  columns: {
    id,
    accountId: text,
    serverId: text,
    userId: text,
    action: text,
    detail: text,
    createdAt: bigint,
  },
  indices: [{ columns: ['accountId', 'id'] }, { columns: ['serverId', 'id'] }],
});

export const wallets = new EntitySchema<WalletRow>({
  name: 'wallets',
  columns: {
    accountId: id,
    balanceMicros: bigint,
    spendCapMicros: bigint,
    spendCapAction: text,
    spentMonth: text,
    spentMicros: bigint,
    capNotifiedMonth: text,
    createdAt: bigint,
  },
  foreignKeys: [ofAccount],
});

export const ledger = new EntitySchema<LedgerRow>({
  name: 'ledger',
  columns: {
    id: { ...bigint, primary: true },
    accountId: text,
    serverId: text,
    kind: text,
    amountMicros: bigint,
    note: text,
    ref: text,
    ts: bigint,
    closedAt: maybeAt,
  },
  uniques: [{ columns: ['kind', 'ref'] }],
  indices: [{ columns: ['accountId', 'id'] }, { columns: ['serverId', 'ts'] }],
  foreignKeys: [ofAccount],
});

export const awakeSessions = new EntitySchema<AwakeSessionRow>({
  name: 'awake_sessions',
  columns: {
    id,
    serverId: text,
    accountId: text,
    cause: text,
    plan: text,
    ramMb: integer,
    rateMicros: bigint,
    startedAt: bigint,
    readyAt: maybeAt,
    endedAt: maybeAt,
    ending: text,
    billable: integer,
    provenAt: bigint,
    awakeMs: bigint,
    ticks: integer,
    remainder: integer,
    amountMicros: bigint,
    serverCreatedAt: { ...bigint, default: 0 },
  },
  indices: [{ columns: ['serverId', 'startedAt'] }, { columns: ['endedAt'] }],
  foreignKeys: [ofAccount],
});

export const ticks = new EntitySchema<TickRow>({
  name: 'ticks',
  columns: {
    serverId: id,
    sessionId: id,
    n: { ...integer, primary: true },
    ramMb: integer,
    rateMicros: bigint,
    amountMicros: bigint,
    at: bigint,
  },
  indices: [{ columns: ['at'] }],
});

const maybeInteger: EntitySchemaColumnOptions = { ...integer, nullable: true };

export const accountLimits = new EntitySchema<AccountLimitsRow>({
  name: 'account_limits',
  columns: { accountId: id, maxServers: maybeInteger, maxRamMb: maybeInteger },
  foreignKeys: [ofAccount],
});

export const checkouts = new EntitySchema<CheckoutRow>({
  name: 'checkouts',
  columns: {
    id,
    accountId: text,
    provider: text,
    amountUsd: integer,
    amountMicros: bigint,
    state: text,
    providerRef: maybeText,
    createdAt: bigint,
    paidAt: maybeAt,
  },
  uniques: [{ columns: ['providerRef'] }],
  indices: [{ columns: ['accountId'] }],
  foreignKeys: [ofAccount],
});

export const metricSamples = new EntitySchema<MetricSampleRow>({
  name: 'metric_samples',
  columns: { serverId: id, at: { ...bigint, primary: true }, figures: text },
  indices: [{ columns: ['at'] }],
  foreignKeys: [ofServer],
});

export const diagnostics = new EntitySchema<DiagnosticRow>({
  name: 'diagnostics',
  columns: {
    serverId: id,
    seq: { ...bigint, primary: true },
    at: bigint,
    kind: text,
    code: text,
    summary: text,
    suggestion: text,
    evidence: text,
    insights: { ...text, default: '[]' },
  },
  foreignKeys: [ofServer],
});

/** One per table of `rows.ts`. Migrations make the same tables; a test holds the two together. */
export const entities = [
  accounts,
  users,
  apiKeys,
  servers,
  transitions,
  meta,
  leases,
  sessions,
  emailTokens,
  clients,
  grants,
  grantStarts,
  appTokens,
  members,
  audit,
  wallets,
  ledger,
  awakeSessions,
  ticks,
  accountLimits,
  checkouts,
  metricSamples,
  diagnostics,
  serverDatabases,
  schedules,
  templates,
  serverPorts,
  serverDisks,
  suspensions,
  webhookMessages,
  tpsIncidents,
  publicStatuses,
  wakePolicies,
  ...backupEntities,
  sftpUsers,
  signInPlaces,
  sshKeys,
  consoleSalts,
  sealedTokens,
  serverMods,
];
