import * as z from 'zod';
import { ServerId, int32, message, reply } from '../http/fields.ts';
import { Nothing } from '../http/nothing.ts';
import { Bytes, operation } from '../http/operation.ts';
import type { Served } from '../http/serve.ts';
import type { StreamSlots } from '../http/stream-slots.ts';
import { auditActorOf } from '../audit/audit.ts';
import { causeOf } from '../access/caller.ts';
import { ServerParams } from '../servers/api/messages.ts';
import type { ServeServer } from '../servers/api/operation.ts';
import type { Backups } from './backups.ts';
import type { BackupRow } from './rows.ts';

/** Dependencies of these operations. */
interface Needs {
  backups: Backups;
  serveServer: ServeServer;
  transferSlots: StreamSlots;
}

const Backup = z
  .object({
    id: reply.text.describe('`previous`: the files from before the last restore, kept until a later start succeeds.'),
    serverId: reply.text,
    createdAt: reply.timestamp,
    sizeBytes: reply.int64.describe('Size of the archive.'),
    addedBytes: reply.int64.describe(
      'The space that it takes: its size, or what it added to a store that keeps only differences. Counts against the quota.',
    ),
    format: reply.text.describe('`tar.zst` (compressed with Zstandard) or `tar`. Further values may be added.'),
    state: reply.text.describe('`queued`, `running`, `ready` or `failed`. Further values may be added.'),
    kind: reply.text.describe(
      '`manual`, `schedule`, `install`, `reset`, `restore` or `previous`. Further values may be added.',
    ),
    label: reply.text.describe('The occasion, such as `before the update to Paper 1.21.11`. Empty if `kind` says it.'),
    error: reply.text.describe('Why it failed.'),
    note: reply.text.describe(
      'A note to read before restoring, for example that a running game did not confirm that it had saved its world.',
    ),
    locked: reply.flag.describe('Cannot be deleted, by hand or by retention.'),
    finishedAt: reply.timestamp,
    percent: reply.int32.describe('Progress while it is being created or restored; else 0.'),
    treeBytes: reply.int64.describe('Total size of the files in it.'),
    sha256: reply.text.describe('Checksum of the archive, in hex.'),
    type: reply.text.describe('The server’s core at the time of the backup; a restore switches back to it.'),
    version: reply.text,
    modpackPlatform: reply.text,
    modpackRef: reply.text,
    modpackVersion: reply.text,
    offSite: reply.flag.describe(
      'Stored in the operator’s off-site store, encrypted. Until the upload is complete, it is on the service’s own disk.',
    ),
    awaitingOffSite: reply.flag.describe(
      'Waiting for its off-site upload, or being uploaded. You can restore and download it already.',
    ),
  })
  .meta({ id: 'Backup' });

const BackupRetention = z
  .object({
    keepLast: reply.int32,
    hourly: reply.int32,
    daily: reply.int32,
    weekly: reply.int32,
    monthly: reply.int32,
  })
  .meta({ id: 'BackupRetention' });

const BackupParams = message({
  id: ServerId.describe('Server id.'),
  backupId: z
    .string()
    .regex(/^\w{1,64}$/)
    .describe('Backup id.'),
});

const COMMON = { auth: 'key', scope: 'backups', role: 'member', section: 'Backups' } as const;

export const ListBackups = operation({
  ...COMMON,
  id: 'ListBackups',
  method: 'get',
  path: '/v1/servers/{id}/backups',
  summary: 'List backups',
  description: 'Newest first, including queued, running and failed ones.',
  params: ServerParams,
  reply: z
    .object({ backups: z.array(Backup).default([]), retention: BackupRetention.describe('How many are kept.') })
    .meta({ id: 'ListBackupsResponse' }),
});

export const CreateBackup = operation({
  ...COMMON,
  id: 'CreateBackup',
  method: 'post',
  path: '/v1/servers/{id}/backups',
  summary: 'Create a backup',
  description:
    'Backs up all files of the server, asleep or running. A running game saves its world first, then pauses ' +
    'saving until the archive is complete. Returns immediately: poll `state`, or follow the events of type ' +
    '`backup`. A server can have one backup in progress at a time.',
  params: ServerParams,
  example: {},
  reply: Backup,
});

export const DeleteBackup = operation({
  ...COMMON,
  id: 'DeleteBackup',
  method: 'post',
  path: '/v1/servers/{id}/backups/{backupId}:delete',
  summary: 'Delete a backup',
  description: 'A backup in progress is cancelled. Unlock a locked one first.',
  params: BackupParams,
  example: {},
  reply: Nothing,
});

export const RestoreBackup = operation({
  ...COMMON,
  id: 'RestoreBackup',
  method: 'post',
  path: '/v1/servers/{id}/backups/{backupId}:restore',
  summary: 'Restore a backup',
  description:
    'Replaces all files of the server with those of the backup, and restores its core, version, mods and mod ' +
    'pack. A running server stops for this and starts again. Returns when the restore is done. If it fails, ' +
    'nothing changes. The replaced files are kept as the backup `previous`, so that you can undo the restore. The ' +
    'next successful start removes them; the start at the end of the restore itself does not count. Until then, ' +
    '`previous` stays unchanged: another restore first backs up the changes made since, if there are any. ' +
    'Restoring `previous` discards these changes, but backs them up first if the server has run since. During a ' +
    'restore, requests that would change the files fail with OPERATION_IN_PROGRESS.',
  precondition: 'the backup must be ready, and no other operation may be in progress on the server.',
  params: BackupParams,
  example: {},
  reply: Nothing,
});

export const DownloadBackup = operation({
  answers: 'bytes',
  reply: Bytes,
  ...COMMON,
  id: 'DownloadBackup',
  method: 'get',
  path: '/v1/servers/{id}/backups/{backupId}:download',
  summary: 'Download a backup',
  description:
    'Returns the archive, a tar compressed with Zstandard, or a plain tar if `format` says so. Supports `Range`, and `If-Range` with the `ETag`. ' +
    '`Repr-Digest` is the SHA-256 of the archive (RFC 9530). Passwords in `server.properties` are masked with ' +
    'asterisks.',
  params: BackupParams,
});

export const SetBackupLocked = operation({
  ...COMMON,
  id: 'SetBackupLocked',
  method: 'post',
  path: '/v1/servers/{id}/backups/{backupId}:setLocked',
  summary: 'Lock or unlock a backup',
  description: 'A locked backup is not deleted, by hand or by retention.',
  params: BackupParams,
  body: message({ locked: z.boolean().default(false) }).meta({ id: 'SetBackupLockedRequest' }),
  example: { locked: true },
  reply: Backup,
});

const count = int32({ min: 0, max: 1_000 });

export const SetBackupRetention = operation({
  ...COMMON,
  id: 'SetBackupRetention',
  method: 'post',
  path: '/v1/servers/{id}/backups:setRetention',
  summary: 'Set how many backups are kept',
  description:
    'Keeps the `keepLast` newest backups, and the newest backup of each hour, day, week and month (UTC), up to ' +
    'the given numbers. All others are deleted after the next backup. Locked backups and the newest good one are ' +
    'always kept. Absent fields stay unchanged. If all are 0, every backup is kept.',
  params: ServerParams,
  body: message({
    keepLast: count.optional(),
    hourly: count.optional(),
    daily: count.optional(),
    weekly: count.optional(),
    monthly: count.optional(),
  }).meta({ id: 'SetBackupRetentionRequest' }),
  example: { keepLast: 10, daily: 7, weekly: 4 },
  reply: BackupRetention,
});

export const backupOperations = ({ serveServer, backups, transferSlots }: Needs): readonly Served[] => [
  serveServer(ListBackups, async ({ params: { id } }) => {
    const awaiting = await backups.awaitingOffSite(id);
    const listed = await backups.list(id);
    return {
      backups: listed.map((row) => backupView(row, awaiting, backups.percentOf(row))),
      retention: await backups.retention(id),
    };
  }),
  serveServer(CreateBackup, async ({ server, principal }) =>
    backupView(await backups.create(server.row, { kind: 'manual', actor: auditActorOf(principal) }), new Set()),
  ),
  serveServer(DeleteBackup, async ({ params, server, principal }) =>
    backups.remove(server.row, params.backupId, auditActorOf(principal)),
  ),
  serveServer(RestoreBackup, async ({ params, principal, signal }) =>
    backups.restore(params.id, params.backupId, causeOf(principal), signal),
  ),
  serveServer(DownloadBackup, async ({ params, principal }) => {
    const release = transferSlots.take(principal, 'transfer');
    try {
      const { backup, read } = await backups.archive(params.id, params.backupId);
      const { format, sizeBytes, sha256, finishedAt, createdAt } = backup;
      return {
        filename: `${params.id}-${new Date(createdAt).toISOString().slice(0, 10)}.${format}`,
        sizeBytes,
        version: sha256,
        modifiedAt: finishedAt ?? createdAt,
        headers: { 'Repr-Digest': `sha-256=:${Buffer.from(sha256, 'hex').toString('base64')}:` },
        open: read,
        close: release,
      };
    } catch (error) {
      release();
      throw error;
    }
  }),
  serveServer(SetBackupLocked, async ({ params, body, server, principal }) => {
    const row = await backups.setLocked(server.row, params.backupId, body.locked, auditActorOf(principal));
    return backupView(row, await backups.awaitingOffSite(params.id));
  }),
  serveServer(SetBackupRetention, async ({ body, server, principal }) => {
    const fields = Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined));
    return await backups.setRetention(server.row, fields, auditActorOf(principal));
  }),
];

/** `awaiting`: ids of the backups still to be uploaded. */
function backupView(row: BackupRow, awaiting: ReadonlySet<string>, percent = 0): z.input<typeof Backup> {
  const offSite = row.location !== '';
  return {
    ...row,
    percent,
    offSite,
    awaitingOffSite: awaiting.has(row.id),
  };
}
