import { GRANT_ANSWERS, grantState } from '../../machines/device-grant.ts';
import { SERVER_STATES } from '../../machines/server-types.ts';
import { isTagged, serverMachine } from '../../machines/server.ts';
import { ENTERS } from '../servers/machine-rows.ts';
import { type Sql, containing } from '../store/writer.ts';

/** A server or a device grant in the operators' list, read from the store, so that listing loads no actors. */
export interface MachineRow {
  kind: 'server' | 'grant';
  id: string;
  name: string;
  /** '' for a grant. */
  accountId: string;
  /** The wire state, or `maintaining`. */
  state: string;
  /** When the state was entered. */
  since: number;
  /** The persisted snapshot, JSON text. */
  snapshot: string;
  /** A grant's changes, JSON text. */
  history: string;
  /** The sort key: 0 is transitional, 1 failed, 2 runs, 3 waits for a person, 4 sleeps, 5 is over. */
  urgency: number;
  sortedBy: number;
}

/** The filter of the list; '' and undefined: all. */
export interface MachineFilter {
  kind: '' | 'server' | 'grant';
  state: string;
  /** Part of an id, a name or an account's id. */
  search: string;
  /** Only those in a transitional state entered before this instant. */
  stuckSince?: number | undefined;
  /** Decides which waiting grants have expired. */
  now: number;
}

/** The place in the list after which the next page begins. */
export interface MachineCursor {
  urgency: number;
  sortedBy: number;
  id: string;
}

const SINCE = `COALESCE((SELECT t."at" FROM "transitions" t WHERE t."serverId" = s."id" AND ${ENTERS}
  ORDER BY t."seq" DESC LIMIT 1), s."createdAt")`;

/**
 * A failed server is at rest once its failed run is cleaned up. Text within the snapshot cannot match, because its
 * quotes are escaped.
 */
const CLEARED = ['server.installFailed.cleared', 'server.startFailed.cleared']
  // The chart throws for unknown states.
  .map((id) => serverMachine.getStateNodeById(id).path)
  .map(([state, within]) => `s."snapshot" LIKE '%"value":{"${state}":"${within}"}%'`)
  .join(' OR ');

/** A job works on the server's files; players see it asleep. */
const WORKED_ON = `s."state" = 'hibernated' AND EXISTS (SELECT 1 FROM "maintenance" j WHERE j."serverId" = s."id")`;

const [PASSING, AT_REST] = (['passing', 'at-rest'] as const).map((tag) =>
  SERVER_STATES.filter((state) => isTagged(state, tag))
    .map((state) => `'${state}'`)
    .join(', '),
);

/** Sleeping servers, which may be many, are ordered by id alone, which saves a query for each. */
const SERVERS = `SELECT 'server' AS "kind", s."id", s."name", s."accountId",
    CASE WHEN ${WORKED_ON} THEN 'maintaining' ELSE s."state" END AS "state",
    CASE WHEN s."state" IN (${PASSING}) OR (${WORKED_ON}) THEN 0
      WHEN s."state" = 'hibernated' THEN 4
      WHEN s."state" IN (${AT_REST}) THEN CASE WHEN ${CLEARED} THEN 1 ELSE 0 END
      ELSE 2 END AS "urgency",
    CASE WHEN s."state" = 'hibernated' AND NOT (${WORKED_ON}) THEN 0 ELSE ${SINCE} END AS "sortedBy"
  FROM "servers" s`;

const GRANT_STATE = `CASE g."state" ${GRANT_ANSWERS.map((each) => `WHEN '${each}' THEN '${grantState(each)}'`).join(' ')} END`;

const grantsAt = (now: string) => `SELECT 'grant' AS "kind", g."id", COALESCE(c."name", 'The command line') AS "name",
    '' AS "accountId", ${GRANT_STATE} AS "state",
    CASE WHEN g."state" IN ('authorization_pending', 'slow_down', 'approved') AND g."expiresAt" > ${now}
      THEN 3 ELSE 5 END AS "urgency",
    CASE WHEN g."changedAt" = 0 THEN g."createdAt" ELSE g."changedAt" END AS "sortedBy"
  FROM "grants" g LEFT JOIN "clients" c ON c."id" = g."clientId"`;

/** Returns up to `limit` machines after `after`: transitional states first, oldest at the top. */
export async function listMachines(
  db: Sql,
  filter: MachineFilter,
  after: MachineCursor | undefined,
  limit: number,
): Promise<MachineRow[]> {
  const { sql, parameters, add } = found(filter);
  const afterCursor = after
    ? `AND ("urgency", "sortedBy", "id") > (${add(after.urgency)}, ${add(after.sortedBy)}, ${add(after.id)})`
    : '';
  return db.query<MachineRow>(
    `SELECT m.*, COALESCE(s."snapshot", g."snapshot") AS "snapshot", COALESCE(g."history", '[]') AS "history",
       CASE WHEN m."state" = 'hibernated' THEN ${SINCE} ELSE m."sortedBy" END AS "since"
     FROM (${sql} ${afterCursor} ORDER BY "urgency", "sortedBy", "id" LIMIT ${add(limit)}) m
     LEFT JOIN "servers" s ON m."kind" = 'server' AND s."id" = m."id"
     LEFT JOIN "grants" g ON m."kind" = 'grant' AND g."id" = m."id"
     ORDER BY m."urgency", m."sortedBy", m."id"`,
    parameters,
  );
}

/** Returns the number of machines in each state; the filter's own state is ignored. */
export async function countMachines(db: Sql, filter: MachineFilter): Promise<{ state: string; count: number }[]> {
  const { sql, parameters } = found({ ...filter, state: '' });
  const rows = await db.query<{ state: string; count: number | string }>(
    `SELECT "state", COUNT(*) AS "count" FROM (${sql}) x GROUP BY "state"`,
    parameters,
  );
  return rows.map(({ state, count }) => ({ state, count: Number(count) }));
}

/** Returns one machine; undefined if it does not exist. */
export async function findMachine(db: Sql, id: string, now: number): Promise<MachineRow | undefined> {
  const [row] = await db.query<MachineRow>(
    `SELECT m.*, COALESCE(s."snapshot", g."snapshot") AS "snapshot", COALESCE(g."history", '[]') AS "history",
       CASE WHEN m."kind" = 'server' THEN ${SINCE} ELSE m."sortedBy" END AS "since"
     FROM (${SERVERS} WHERE s."id" = $1 UNION ALL ${grantsAt('$2')} WHERE g."id" = $1) m
     LEFT JOIN "servers" s ON m."kind" = 'server' AND s."id" = m."id"
     LEFT JOIN "grants" g ON m."kind" = 'grant' AND g."id" = m."id"`,
    [id, now],
  );
  return row;
}

function found({ kind, state, search, stuckSince, now }: MachineFilter) {
  const parameters: unknown[] = [];
  const add = (value: unknown) => `$${parameters.push(value)}`;
  const grants = grantsAt(kind === 'server' ? '' : add(now));
  const machines = kind === 'server' ? SERVERS : kind === 'grant' ? grants : `${SERVERS} UNION ALL ${grants}`;
  const conditions = ['1 = 1'];
  if (state !== '') conditions.push(`"state" = ${add(state)}`);
  if (search !== '') conditions.push(containing(['"id"', '"name"', '"accountId"'], search, add));
  if (stuckSince !== undefined) conditions.push(`"urgency" IN (0, 3) AND "sortedBy" <= ${add(stuckSince)}`);
  return { sql: `SELECT * FROM (${machines}) u WHERE ${conditions.join(' AND ')}`, parameters, add };
}
