import { EntitySchema } from 'typeorm';
import type { EntitySchemaColumnOptions } from 'typeorm';
import { exact } from './exact.ts';
import type { AccountRow, ApiKeyRow, LeaseRow, MetaRow, ServerRow, TransitionRow, UserRow } from './rows.ts';

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
  foreignKeys: [{ target: 'servers', columnNames: ['serverId'], referencedColumnNames: ['id'], onDelete: 'CASCADE' }],
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

/** One per table of `rows.ts`. Migrations make the same tables; a test holds the two together. */
export const entities = [accounts, users, apiKeys, servers, transitions, meta, leases];
