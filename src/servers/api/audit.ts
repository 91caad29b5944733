import * as z from 'zod';
import { message, pageLimit, reply, rfc3339, text } from '../../http/fields.ts';
import { operation } from '../../http/operation.ts';
import { type Served, serve } from '../../http/serve.ts';
import { AccountParams } from '../../accounts/fields.ts';
import { type AuditFilter, type AuditRow, listAccountAudit, listServerAudit } from '../../audit/audit.ts';
import { wholeAccount } from '../../access/caller.ts';
import type { Store } from '../../store/store.ts';
import { ServerParams } from './messages.ts';
import type { ServeServer } from './operation.ts';

const DEFAULT_LIMIT = 100;
const MOST = 1_000;

const AuditEntry = z
  .object({
    id: reply.text.describe('Entries sort by their id.'),
    accountId: reply.text.describe('The account that the log belongs to.'),
    userId: reply.text.describe('Empty if the actor is not a user but a player, a schedule or the service itself.'),
    through: reply.text.describe(
      'How it was done: `key key_…`, `app <client id>`, `session`, `player Steve`, `system idle`.',
    ),
    action: reply.text.describe(
      '`server.start`, `server.wake`, `key.mint`, `member.invite`, …. New actions may be added.',
    ),
    detail: reply.text.describe('For example, the changed fields or paths.'),
    serverId: reply.text.describe('Empty unless the entry is about a server.'),
    createdAt: reply.text.describe('RFC 3339.'),
  })
  .meta({ id: 'AuditEntry' });

const AuditQuery = message({
  limit: pageLimit({ fallback: DEFAULT_LIMIT, most: MOST }),
  after: text(64).default('').describe('`next` of the previous page.'),
  search: text(100).default('').describe('Part of the detail, of `through` or of the action. Empty: all.'),
  action: text(64).default('').describe('An action, or the part before its dot: `file`. Empty: all.'),
  actor: text(100)
    .default('')
    .describe("A user's id, a `through`, or its first word: `key`, `player`, `schedule`, `system`. Empty: all."),
});

const AuditPage = {
  entries: z.array(AuditEntry).default([]),
  next: reply.text.describe('Pass it as `after` for the next page. Empty on the last page.'),
};

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
    'Entries about keys, apps, members, sign-ins and billing, newest first, in pages. For servers, only their ' +
    'creation, deletion and members are included.',
  params: AccountParams,
  query: AuditQuery,
  reply: z.object(AuditPage).meta({ id: 'AccountAuditList' }),
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
  description: 'The server’s audit log, newest first, in pages. Only the owner sees entries about members.',
  params: ServerParams,
  query: AuditQuery,
  reply: z.object(AuditPage).meta({ id: 'ServerAuditList' }),
});

function entryView({ createdAt, ...row }: AuditRow): z.input<typeof AuditEntry> {
  return { ...row, createdAt: rfc3339(createdAt) ?? '' };
}

/** Reads one entry more than the page has, to detect another page. */
async function pageOf({ limit, ...filter }: AuditFilter, list: (filter: AuditFilter) => Promise<AuditRow[]>) {
  const rows = await list({ ...filter, limit: limit + 1 });
  const shown = rows.slice(0, limit);
  return { entries: shown.map(entryView), next: rows.length > limit ? shown.at(-1)?.id : '' };
}

/** The audit log of an account. */
export const accountAuditOperations = ({ store }: { store: Store }): readonly Served[] => [
  serve(ListAccountAudit, async ({ params, query, principal }) => {
    const accountId = wholeAccount(principal, params.accountId);
    return await pageOf(query, (filter) => listAccountAudit(store, accountId, filter));
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
  serveServer(ListServerAudit, ({ server, role, query }) =>
    pageOf(query, (filter) => listServerAudit(store, server.row, role === 'owner', filter)),
  ),
];
