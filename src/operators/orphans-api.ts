import * as z from 'zod';
import { message, reply, text } from '../http/fields.ts';
import { operation } from '../http/operation.ts';
import { type Served, serve } from '../http/serve.ts';
import type { Clock } from '../kernel/clock.ts';
import { auditActorOf, recordAudit } from '../audit/audit.ts';
import { Reason } from '../accounts/fields.ts';
import type { Orphans } from './orphans.ts';

const Orphan = z
  .object({
    kind: reply.text.describe(
      '`game` (a container or process), `database`, `data` or `backups` (a folder), `offsite` (a backup off site). Further values may be added.',
    ),
    id: reply.text.describe(
      'The id of the server it belonged to, the name of a database, or `<server>/<backup>` off site.',
    ),
    up: reply.flag.describe('Whether it is a running game.'),
    at: reply.timestamp.describe(
      'When the game started, the database was created, the folder last changed, or the backup was uploaded off ' +
        'site; null if unknown.',
    ),
  })
  .meta({ id: 'Orphan' });

const COMMON = { auth: 'key', scope: 'operator' } as const;

export const ListOrphans = operation({
  ...COMMON,
  id: 'ListOrphans',
  method: 'get',
  path: '/v1/operator/orphans',
  summary: 'List orphans',
  description:
    'Lists games, databases, data and backups on this node without a server, and off-site backups that are ' +
    'unknown here, for example after a lost database. The service ends games without a server automatically, and ' +
    'removes databases once their database server responds. Files stay until an operator removes them.',
  reply: z
    .object({
      orphans: z.array(Orphan).default([]),
      unread: z.array(z.string()).default([]).describe('Kinds that could not be listed now.'),
    })
    .meta({ id: 'ListOrphansResponse' }),
});

export const RemoveOrphan = operation({
  ...COMMON,
  id: 'RemoveOrphan',
  method: 'post',
  path: '/v1/operator/orphans:remove',
  summary: 'Remove an orphan',
  description:
    'Permanently removes an orphan of the list. Remove a running game before its files. Databases are removed ' +
    'automatically.',
  body: message({ kind: text(32), id: text(128), reason: Reason }).meta({ id: 'RemoveOrphanRequest' }),
  example: { kind: 'data', id: 'old-lobby', reason: 'Its owner left in 2024' },
  reply: z.object({}).meta({ id: 'RemoveOrphanResponse' }),
});

/** Operations on orphans. */
export const orphanOperations = ({ orphans, clock }: { orphans: Orphans; clock: Clock }): readonly Served[] => [
  serve(ListOrphans, async () => orphans.list()),
  serve(RemoveOrphan, async ({ principal, body: { kind, id, reason } }) => {
    const entry = {
      action: 'orphan.remove',
      accountId: principal.accountId,
      detail: `${kind} ${id}: ${reason}`,
      at: clock.now(),
    };
    await orphans.remove(kind, id, (tx) => recordAudit(tx, auditActorOf(principal), entry));
    return {};
  }),
];
