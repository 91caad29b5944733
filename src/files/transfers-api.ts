import { z } from 'zod';
import type { Download } from '../http/download.ts';
import { message, queryFlag, reply } from '../http/fields.ts';
import { ServerParams } from '../servers/api/messages.ts';
import { serverDownload, serverOperation, serverUpload } from '../servers/api/operation.ts';
import { FileEntry, changeFiles, entryView, filePath, inTransfer, ownPath } from './fields.ts';

const MAX_PATHS = 1_000;

const common = { role: 'member', tag: 'control', params: ServerParams } as const;

export const downloadPath = serverDownload({
  ...common,
  id: 'DownloadPath',
  method: 'get',
  path: '/v1/servers/{id}/file:download',
  scope: 'files:read',
  summary: 'Download a file, or a directory as zip',
  description:
    'A file as it is, also in part (`Range`, kept valid by `If-Range` with its `ETag`); a directory as a zip, made while it is sent. Passwords in `server.properties` are starred out.',
  query: message({ path: filePath().default('').describe('Empty: the whole server.') }),
}).handle(async ({ params, query, principal, server, signal }, services): Promise<Download> => {
  const release = services.transferSlots.take(principal, 'transfer');
  try {
    const found = await services.files.download(params.id, query.path, { signal, tenant: server.row.accountId });
    const { name, sizeBytes, version, modifiedAt } = found.entry;
    if ('zip' in found) {
      const { zip } = found;
      return { filename: `${name || params.id}.zip`, open: () => zip, close: () => (zip.destroy(), release()) };
    }
    const { file } = found;
    const content = { filename: name, sizeBytes, version, modifiedAt };
    const open: Download['open'] = (range) => file.stream({ ...range, keepOpen: true });
    return { ...content, open, close: async () => (release(), await file.close()) };
  } catch (error) {
    release();
    throw error;
  }
});

export const uploadFile = serverUpload({
  ...common,
  id: 'UploadFile',
  method: 'post',
  path: '/v1/servers/{id}/file:upload',
  scope: 'files:write',
  summary: 'Upload a file',
  description:
    'The body is the content, of any length the disk quota allows. The file is there when all of it has come; an upload that breaks off changes nothing. Directories above it are made.',
  query: message({
    path: ownPath().describe('Where it is to be.'),
    overwrite: queryFlag().default(false).describe('Whether a file that is there already gives way.'),
  }),
  reply: FileEntry,
}).handle(async (call, services) => {
  const { path, overwrite } = call.query;
  return await changeFiles(call, services, { action: 'file.upload', detail: path }, () =>
    inTransfer(services, call.principal, async () =>
      entryView(await services.files.write(call.params.id, path, call.upload, { exclusive: !overwrite })),
    ),
  );
});

/** As the documentation says it. */
const ARCHIVE_NAME = String.raw`^[^\x00]*[^\x00/]\.(?:zip|tar|tar\.gz|tar\.zst)$`;

export const archivePaths = serverOperation({
  ...common,
  id: 'ArchivePaths',
  method: 'post',
  path: '/v1/servers/{id}/file:archive',
  scope: 'files:write',
  summary: 'Pack files and directories into an archive',
  description:
    'Of the kind that the name `to` says: `.zip`, `.tar`, `.tar.gz` or `.tar.zst`. Links are left out. There must be nothing at `to` yet. Ends when the caller goes away.',
  body: message({
    paths: z.array(filePath()).min(1, 'is required').max(MAX_PATHS),
    to: ownPath().meta({ pattern: ARCHIVE_NAME }),
  }).meta({
    id: 'ArchivePathsRequest',
  }),
  example: { paths: ['world', 'plugins'], to: 'before-update.tar.zst' },
  reply: FileEntry,
}).handle(async (call, services) => {
  const { paths, to } = call.body;
  const { signal, principal } = call;
  return await changeFiles(call, services, { action: 'file.archive', detail: `${paths.join(', ')} to ${to}` }, () =>
    inTransfer(services, principal, async () =>
      entryView(await services.files.archive(call.params.id, paths, to, { signal, tenant: call.server.row.accountId })),
    ),
  );
});

export const extractArchive = serverOperation({
  ...common,
  id: 'ExtractArchive',
  method: 'post',
  path: '/v1/servers/{id}/file:extract',
  scope: 'files:write',
  summary: 'Unpack an archive',
  description:
    'A zip (or jar), tar, tar.gz or tar.zst, whatever its name, into the directory `to`, which is made if it is not there. Files of the same names give way. An archive that is damaged, holds links or reaches outside changes nothing. If the service is killed while it puts the files in place, some of them are there: extract it again. Ends when the caller goes away.',
  body: message({ path: ownPath(), to: filePath().default('').describe("Empty: the server's root.") }).meta({
    id: 'ExtractArchiveRequest',
  }),
  example: { path: 'before-update.tar.zst', to: 'restored' },
  reply: z.object({ extracted: reply.int64.describe('In bytes.') }).meta({ id: 'ExtractArchiveResponse' }),
}).handle(async (call, services) => {
  const { path, to } = call.body;
  const { signal, principal } = call;
  return await changeFiles(call, services, { action: 'file.extract', detail: `${path} to ${to}` }, () =>
    inTransfer(services, principal, async () => ({
      extracted: await services.files.extract(call.params.id, path, to, { signal, tenant: call.server.row.accountId }),
    })),
  );
});
