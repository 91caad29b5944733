import { EntitySchema } from 'typeorm';
import { HUNG } from '../../machines/server-reasons.ts';
import type { Cause, Job } from '../../machines/server-types.ts';
import type { Principal } from '../http/principal.ts';
import { timeOrderedId } from '../kernel/ids.ts';
import { DAY_MS } from '../kernel/units.ts';
import { addNotice } from '../notices/rows.ts';
import { bigint, id, text } from '../store/columns.ts';
import { type Sql, type Tx, containing, likeText } from '../store/writer.ts';

/** The actor of an entry. */
export interface AuditActor {
  /** '' if the actor is not a user. */
  userId: string;
  /**
   * The credential or origin: `key key_…`, `app <client id>`, `session`, `player Steve`, `schedule …`, `system idle`.
   */
  through: string;
}

/** The content of an entry. Must not contain secrets. */
export interface AuditEntry {
  /** `server.start`, `key.mint`, … */
  action: string;
  /** The account whose audit log gets the entry: for a server, its owner's. */
  accountId: string;
  /** Absent unless the entry is about a server. */
  serverId?: string;
  /** Details in a few words. */
  detail?: string;
  /** Details for webhooks; null: webhooks are not notified. Default: `detail`. */
  notice?: string | null;
  at: number;
}

/** One stored step of a server's machine. */
export interface ServerStep {
  at: number;
  /** The event's name; `CREATE` for the first step. */
  event: string;
  from: string;
  to: string;
  cause: Cause;
  /** The event was sent by the actor named in `cause`. */
  sent?: boolean;
  /** The step carries out a stop that players were warned of. Its announcement has an entry. */
  isAnnounced?: boolean;
  /** The job that is queued or running on the sleeping server. */
  job?: Job | null;
  /** The code of the failure that caused the step. */
  failure?: string | undefined;
}

/** Limit of `through` and of `detail`. */
const WORDS_CHARS = 512;
/** Chance per entry of deleting old entries. */
const PRUNE_CHANCE = 1 / 500;

/** Adds an audit entry, and notifies the webhooks that want it. Call it in the write of the change. */
export async function recordAudit(tx: Tx, actor: AuditActor, entry: AuditEntry): Promise<void> {
  const { action, accountId, serverId = '', detail = '', notice = detail, at } = entry;
  const row = {
    id: timeOrderedId('aud', at),
    accountId,
    serverId,
    userId: actor.userId,
    through: plain(actor.through).slice(0, WORDS_CHARS),
    action,
    detail: plain(detail).slice(0, WORDS_CHARS),
    createdAt: at,
  };
  await insertAudit(tx, row);
  if (notice !== null) await addNotice(tx, { event: action, accountId, serverId, detail: notice, at });
  if (Math.random() < PRUNE_CHANCE) await pruneAudit(tx, row);
}

/** Returns a text without control characters. Player names, for example, come from outside. */
function plain(words: string): string {
  return words.replaceAll(/\p{Cc}/gu, ' ').toWellFormed();
}

/**
 * Adds the audit entry of a machine's step if it was requested or failed. Also notifies the webhooks of a server that is
 * awake, asleep or hung.
 */
export async function recordStep(tx: Tx, server: { id: string; accountId: string }, step: ServerStep): Promise<void> {
  await noticeStep(tx, server, step);
  const job = step.event === 'MAINTAIN' ? step.job : undefined;
  const commanded = job?.kind ?? COMMANDS[step.event];
  const sent = commanded !== undefined || step.sent === true;
  const action = commanded ?? (sent ? SENT : consequence(step));
  if (action === undefined || step.isAnnounced === true) return;
  const actor = sent ? await auditActorOfCause(tx, step.cause) : systemOf(step.cause);
  const change = step.from === '' ? '' : step.from !== step.to ? `${step.from} → ${step.to}` : warning(step);
  const reason = sent && step.cause.kind === 'operator' ? step.cause.note : '';
  const words = [change, reason].filter((part) => part !== '').join(': ');
  const detail = [job?.target ?? '', words].filter((part) => part !== '').join(', ');
  // A server that waits for room starts by itself.
  const notice = step.failure === 'no_room' ? null : (step.failure?.replaceAll('_', ' ') ?? '');
  const about = { accountId: server.accountId, serverId: server.id, at: step.at };
  await recordAudit(tx, actor, { ...about, action, detail, notice });
}

/** Returns the detail of a stop or restart that only warns players for now. */
function warning({ event, from }: ServerStep): string {
  return from === 'running' && (event === 'STOP' || event === 'RESTART') ? 'after a warning to players' : '';
}

/** Notifies webhooks of a server that is awake, asleep or hung. Other failures have audit entries. */
async function noticeStep(tx: Tx, { id, accountId }: { id: string; accountId: string }, step: ServerStep) {
  const { from, to, cause, at } = step;
  if (from === to || from === '') return;
  const about = { accountId, serverId: id, at };
  if (to === 'running') {
    const detail = cause.kind === 'player' ? `Woken by ${cause.id}` : '';
    await addNotice(tx, { ...about, event: 'server.started', detail });
  } else if (from === 'running' && to === 'stopping' && cause.id === HUNG.id) {
    await addNotice(tx, { ...about, event: 'server.hung', detail: '' });
  } else if (to === 'hibernated' && from === 'stopping') {
    const detail = cause.kind === 'system' ? cause.note : '';
    await addNotice(tx, { ...about, event: 'server.asleep', detail });
  }
}

/** Returns the detail, with the reason if there is one: `app_1 Launcher: it asks for passwords`. */
export function withReason(detail: string, reason: string | undefined): string {
  return reason === undefined ? detail : `${detail}: ${reason}`;
}

/** Returns the caller as the actor of an audit entry. */
export function auditActorOf(principal: Principal): AuditActor {
  const { userId } = principal;
  switch (principal.kind) {
    case 'key':
      return { userId, through: `key ${principal.keyId}` };
    case 'app':
      return { userId, through: `app ${principal.clientId}` };
    case 'session':
      return { userId, through: 'session' };
    default:
      return principal satisfies never;
  }
}

const COMMANDS: Record<string, string> = {
  CREATE: 'server.create',
  START: 'server.start',
  JOIN: 'server.wake',
  STOP: 'server.stop',
  RESTART: 'server.restart',
  KILL: 'server.kill',
  REINSTALL: 'server.install',
  RETRY_INSTALL: 'server.retryInstall',
  KEEP_AWAKE: 'server.keepAwake',
  DELETE: 'server.delete',
};

/** The action of an event sent by an operator. */
const SENT = 'server.alarm';

/**
 * Returns the action of a step without a command: the service's own decision, or a failure. Undefined for plain
 * progress.
 */
function consequence({ from, to, cause }: ServerStep): string | undefined {
  if (from === to) return undefined;
  if (to === 'stopping') return cause.id === 'crash' ? 'server.crash' : 'server.stop';
  if (to === 'install_failed') return 'server.installFailed';
  if (to === 'start_failed') return from === 'running' ? 'server.crash' : 'server.startFailed';
  if (from !== 'running') return undefined;
  return cause.id === 'crash' ? 'server.crash' : 'server.restart';
}

/** Returns the actor of a step without a request. A cause of another kind names the person whose action led to it. */
function systemOf({ kind, id }: Cause): AuditActor {
  return { userId: '', through: kind === 'system' ? `system ${id}` : 'system' };
}

async function auditActorOfCause(db: Sql, { kind, id }: Cause): Promise<AuditActor> {
  if (kind === 'user') return { userId: id, through: 'session' };
  if (kind === 'key') return { userId: await userOfKey(db, id), through: `key ${id}` };
  if (kind === 'operator' && id.startsWith('usr_')) return { userId: id, through: 'operator' };
  return { userId: kind === 'operator' ? await userOfKey(db, id) : '', through: `${kind} ${id}` };
}

/** Returns a function that adds audit entries of the service itself. `through` names the responsible part. */
export function recordThrough(through: string): (tx: Tx, entry: AuditEntry) => Promise<void> {
  return (tx, entry) => recordAudit(tx, { userId: '', through }, entry);
}

/** One audit entry: actor, credential, action and time. Must not contain secrets. */
export interface AuditRow {
  /** Ids sort by time. */
  id: string;
  accountId: string;
  /** '' unless the entry is about a server. */
  serverId: string;
  /** '' if the actor is not a user, but a player, a schedule or the system. */
  userId: string;
  /** The credential or origin; see `AuditActor`. */
  through: string;
  /** `server.start`, `key.mint`, … */
  action: string;
  detail: string;
  createdAt: number;
}

export const audit = new EntitySchema<AuditRow>({
  name: 'audit',
  columns: {
    id,
    accountId: text,
    serverId: text,
    userId: text,
    through: text,
    action: text,
    detail: text,
    createdAt: bigint,
  },
  indices: [{ columns: ['accountId', 'id'] }, { columns: ['serverId', 'id'] }],
});

export async function insertAudit(tx: Tx, row: AuditRow): Promise<void> {
  const { id, accountId, serverId, userId, through, action, detail, createdAt } = row;
  await tx.run(
    `INSERT INTO "audit" ("id", "accountId", "serverId", "userId", "through", "action", "detail", "createdAt")
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
    [id, accountId, serverId, userId, through, action, detail, createdAt],
  );
}

/**
 * Limit of entries per action and account, so that a flood of one action does not displace others, and their lifetime.
 */
const MOST_OF_ACTION = 5_000;
const KEPT_MS = 400 * DAY_MS;
/** Limit of entries deleted in one write. */
const STEP = 2_000;

/**
 * Deletes the oldest entries of this action beyond the limit, and the account's oldest expired entries of any action.
 */
export async function pruneAudit(
  tx: Tx,
  { accountId, action, createdAt }: AuditRow,
  most = MOST_OF_ACTION,
): Promise<void> {
  await tx.run(
    `DELETE FROM "audit" WHERE "id" IN (SELECT "id" FROM "audit" WHERE "accountId" = $1 AND "action" = $2
       AND "id" <= (SELECT "id" FROM "audit" WHERE "accountId" = $1 AND "action" = $2 ORDER BY "id" DESC LIMIT 1 OFFSET $3)
       ORDER BY "id" LIMIT ${STEP})`,
    [accountId, action, most],
  );
  await tx.run(
    `DELETE FROM "audit" WHERE "id" IN (SELECT "id" FROM "audit" WHERE "accountId" = $1 ORDER BY "id" LIMIT ${STEP})
       AND "createdAt" < $2`,
    [accountId, createdAt - KEPT_MS],
  );
}

/** The selection of entries. Absent and '': all. */
export interface AuditFilter {
  limit: number;
  /** The id of the previous page's last entry. */
  after?: string;
  /** Part of the detail, the credential or the action. */
  search?: string;
  /** An action, or the part before its dot. */
  action?: string;
  /** A user's id, a credential or origin, or its first word: `player`. */
  actor?: string;
}

/**
 * Returns the entries of an account: those of its keys, apps, members and sessions, newest first. Includes only the
 * creation and deletion of its servers, and imports.
 */
export async function listAccountAudit(db: Sql, accountId: string, filter: AuditFilter): Promise<AuditRow[]> {
  const sql = `"accountId" = $1
    AND ("serverId" = '' OR "action" LIKE 'member.%' OR "action" IN ('server.create', 'server.import', 'server.delete'))`;
  return listAudit(db, sql, [accountId], filter);
}

/**
 * Returns the entries of a server, newest first; with `members` also those of its invitations. Excludes those of an
 * earlier server with the same id, which may have belonged to another account.
 */
export async function listServerAudit(
  db: Sql,
  server: { id: string; accountId: string; createdAt: number },
  members: boolean,
  filter: AuditFilter,
): Promise<AuditRow[]> {
  const sql = `"serverId" = $1 AND "accountId" = $2 AND "createdAt" >= $3
    ${members ? '' : `AND "action" NOT LIKE 'member.%'`}`;
  return listAudit(db, sql, [server.id, server.accountId, server.createdAt], filter);
}

async function listAudit(db: Sql, sql: string, parameters: unknown[], filter: AuditFilter): Promise<AuditRow[]> {
  const { limit, after = '', search = '', action = '', actor = '' } = filter;
  const add = (value: unknown) => `$${parameters.push(value)}`;
  const begins = (column: string, text: string) => `${column} LIKE ${add(`${likeText(text)}%`)} ESCAPE '\\'`;
  const conditions = [sql];
  if (after !== '') conditions.push(`"id" < ${add(after)}`);
  if (action !== '') conditions.push(`("action" = ${add(action)} OR ${begins('"action"', `${action}.`)})`);
  if (actor !== '') {
    const exact = add(actor);
    conditions.push(`("userId" = ${exact} OR "through" = ${exact} OR ${begins('"through"', `${actor} `)})`);
  }
  if (search !== '') conditions.push(containing(['"detail"', '"through"', '"action"'], search, add));
  const where = conditions.join(' AND ');
  return db.query<AuditRow>(`SELECT * FROM "audit" WHERE ${where} ORDER BY "id" DESC LIMIT ${add(limit)}`, parameters);
}

/** Returns the user of a key; '' for an unknown one. */
async function userOfKey(db: Sql, keyId: string): Promise<string> {
  const [row] = await db.query<{ userId: string }>('SELECT "userId" FROM "api_keys" WHERE "id" = $1', [keyId]);
  return row?.userId ?? '';
}
