import * as z from 'zod';
import { message, pageLimit, reply, rfc3339 } from '../../http/fields.ts';
import { operation } from '../../http/operation.ts';
import { type Served, serve } from '../../http/serve.ts';
import { AccountParams } from '../../accounts/fields.ts';
import { type AuditRow, auditText, listAccountAudit, listServerAudit } from '../../audit/audit.ts';
import { wholeAccount } from '../../access/caller.ts';
import type { Store } from '../../store/store.ts';
import { ServerParams } from './messages.ts';
import type { ServeServer } from './operation.ts';

const DEFAULT_LIMIT = 100;
const MOST = 1_000;

const AuditEntry = z
  .object({
    accountId: reply.text.describe('The account that the log belongs to.'),
    userId: reply.text.describe('Empty if the actor is not a user but a player, a schedule or the service itself.'),
    action: reply.text.describe(
      '`server.start`, `server.wake`, `key.mint`, `member.invite`, …. New actions may be added.',
    ),
    detail: reply.text.describe('How it was done (`key key_…`, `session`, `player Steve`), then the details.'),
    createdAt: reply.text.describe('RFC 3339.'),
  })
  .meta({ id: 'AuditEntry' });

const AuditQuery = message({
  limit: pageLimit({ fallback: DEFAULT_LIMIT, most: MOST }),
});

export const ListAccountAudit = operation({
  id: 'ListAccountAudit',
  method: 'get',
  path: '/v1/accounts/{accountId}/audit',
  expensive: true,
  scope: 'account:read',
  auth: 'key',
  section: 'Account and wallet',
  summary: "Read the account's audit log",
  description:
    'Entries about keys, apps, members, sign-ins and billing, newest first. For servers, only their creation, ' +
    "deletion and members are included. `detail` of an entry about a server ends with the server's id.",
  params: AccountParams,
  query: AuditQuery,
  reply: z.object({ entries: z.array(AuditEntry).default([]) }).meta({ id: 'AccountAuditList' }),
});

export const ListServerAudit = operation({
  id: 'ListServerAudit',
  method: 'get',
  path: '/v1/servers/{id}/audit',
  expensive: true,
  scope: 'servers:read',
  role: 'limited',
  auth: 'key',
  section: 'Console, logs and insight',
  summary: "Read a server's audit log",
  description: 'The server’s audit log, newest first. Only the owner sees entries about members.',
  params: ServerParams,
  query: AuditQuery,
  reply: z.object({ entries: z.array(AuditEntry).default([]) }).meta({ id: 'ServerAuditList' }),
});

function entryView(row: AuditRow): z.input<typeof AuditEntry> {
  const { accountId, userId, action, createdAt } = row;
  return { accountId, userId, action, detail: auditText(row), createdAt: rfc3339(createdAt) ?? '' };
}

/** Also names the server, which a server's own log omits. */
function accountEntryView(row: AuditRow): z.input<typeof AuditEntry> {
  const view = entryView(row);
  return row.serverId === '' ? view : { ...view, detail: `${view.detail}; ${row.serverId}` };
}

/** The audit log of an account. */
export const accountAuditOperations = ({ store }: { store: Store }): readonly Served[] => [
  serve(ListAccountAudit, async ({ params, query, principal }) => {
    const accountId = wholeAccount(principal, params.accountId);
    const entries = await listAccountAudit(store, accountId, query.limit);
    return { entries: entries.map(accountEntryView) };
  }),
];

/** The audit log of a server. */
export const serverAuditOperations = ({
  serveServer,
  store,
}: {
  serveServer: ServeServer;
  store: Store;
}): readonly Served[] => [
  serveServer(ListServerAudit, async ({ server, role, query }) => {
    const entries = await listServerAudit(store, server.row, { limit: query.limit, members: role === 'owner' });
    return { entries: entries.map(entryView) };
  }),
];
