import { auditActorOf, recordAudit, withReason } from '../audit/audit.ts';
import type { Principal } from '../http/principal.ts';
import { APP_SCOPES, type Scope } from '../http/scopes.ts';
import type { Clock } from '../kernel/clock.ts';
import { randomBase62 } from '../kernel/ids.ts';
import { StatusError } from '../kernel/status.ts';
import type { Sql, Store } from '../store/store.ts';
import { type ClientRow, getClient, insertClient, setClientDisabledAt } from './app-rows.ts';
import { forgetTokensOf } from './app-tokens.ts';

/** The fields of a new app. Users see `name` and `homepage` before they approve it. */
export interface NewClient {
  name: string;
  homepage: string;
  /** The scopes its grants may request, of `APP_SCOPES`. */
  scopes: readonly Scope[];
}

/** The scope of a grant that requests no scope. */
const DEFAULT_SCOPE: Scope = 'servers:list';
const CLIENT_ID = /^[\w-]{1,64}$/;
/** RFC 6749 §3.3 separates scopes by blanks. */
const SEPARATOR = / +/;

/** Registers a third-party app. The row's id is its `client_id`, which is not secret. */
export async function registerClient(
  { store, clock }: { store: Store; clock: Clock },
  operator: Principal,
  { name, homepage, scopes }: NewClient,
): Promise<ClientRow> {
  const at = clock.now();
  const row = { id: `app_${randomBase62(16)}`, name, homepage, scopes: [...scopes], createdAt: at, disabledAt: null };
  await store.write(async (tx) => {
    await insertClient(tx, row);
    const entry = { action: 'client.register', accountId: operator.accountId, detail: `${row.id} ${name}`, at };
    await recordAudit(tx, auditActorOf(operator), entry);
  });
  return row;
}

/** Disables an app: once this resolves, it gets no grants and its tokens are refused. NOT_FOUND CLIENT_NOT_FOUND. */
export async function disableClient(
  services: { store: Store; clock: Clock },
  operator: Principal,
  id: string,
  reason?: string,
): Promise<ClientRow> {
  return setDisabled(services, operator, id, { disabled: true, reason });
}

/** Enables an app again, along with its existing tokens. NOT_FOUND CLIENT_NOT_FOUND. */
export async function enableClient(
  services: { store: Store; clock: Clock },
  operator: Principal,
  id: string,
  reason?: string,
): Promise<ClientRow> {
  return setDisabled(services, operator, id, { disabled: false, reason });
}

/** Returns the app with this `client_id`; undefined if it is malformed, not registered, or disabled. */
export async function findClient(db: Sql, id: string): Promise<ClientRow | undefined> {
  const client = CLIENT_ID.test(id) ? await getClient(db, id) : undefined;
  return client?.disabledAt === null ? client : undefined;
}

/** Whether grants of this client can proceed; always true for the command-line client (null). */
export async function isAdmitted(db: Sql, clientId: string | null): Promise<boolean> {
  return clientId === null || (await findClient(db, clientId)) !== undefined;
}

/**
 * Returns a grant's scope without duplicates: the requested one, or the default if empty. Undefined if the app is not
 * registered for all of it.
 */
export function scopeOf(client: ClientRow, requested: string): string | undefined {
  const names = new Set(requested.split(SEPARATOR).filter((name) => name !== ''));
  if (names.size === 0) names.add(DEFAULT_SCOPE);
  const allowed = new Set<string>(APP_SCOPES.filter((scope) => client.scopes.includes(scope)));
  return [...names].every((name) => allowed.has(name)) ? [...names].join(' ') : undefined;
}

async function setDisabled(
  { store, clock }: { store: Store; clock: Clock },
  operator: Principal,
  id: string,
  { disabled, reason }: { disabled: boolean; reason: string | undefined },
): Promise<ClientRow> {
  const client = await store.write(async (tx) => {
    const row = await getClient(tx, id);
    if (!row) throw clientNotFound(id);
    if ((row.disabledAt !== null) === disabled) return row;
    const at = clock.now();
    const disabledAt = disabled ? at : null;
    await setClientDisabledAt(tx, id, disabledAt);
    const action = disabled ? 'client.disable' : 'client.enable';
    await recordAudit(tx, auditActorOf(operator), {
      action,
      accountId: operator.accountId,
      detail: withReason(`${id} ${row.name}`, reason),
      at,
    });
    return { ...row, disabledAt };
  });
  forgetTokensOf(store, id);
  return client;
}

function clientNotFound(id: string): StatusError {
  return new StatusError('NOT_FOUND', 'CLIENT_NOT_FOUND', 'There is no such app.', { metadata: { clientId: id } });
}
