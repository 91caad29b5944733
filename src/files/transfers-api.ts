import * as z from 'zod';
import type { Download } from '../http/download.ts';
import { message, queryFlag, reply } from '../http/fields.ts';
import { Bytes, operation } from '../http/operation.ts';
import type { Served } from '../http/serve.ts';
import { MAX_PATH_BYTES } from '../jail/path.ts';
import { KIB } from '../kernel/units.ts';
import { ServerParams } from '../servers/api/messages.ts';
import { FileEntry, type FileNeeds, entryView, filePath, ownPath, transferFiles } from './fields.ts';

const MAX_PATHS = 1_000;
/** Size of a message with the maximum number of longest paths. */
const PATHS_BYTES = MAX_PATHS * (MAX_PATH_BYTES + 8) + MAX_PATH_BYTES + KIB;

const COMMON = { auth: 'key', role: 'member', section: 'Files', params: ServerParams } as const;

export const DownloadPath = operation({
  answers: 'bytes',
  reply: Bytes,
  ...COMMON,
  id: 'DownloadPath',
  method: 'get',
  path: '/v1/servers/{id}/file:download',
  scope: 'files:read',
  summary: 'Download a file, or a directory or some of its entries as zip',
  description:
    'Returns a file as it is, or a directory as a zip that is created while it is sent. Files support `Range`, ' +
    'and `If-Range` with the `ETag`. Passwords in `server.properties` are masked. With `names`, returns these entries ' +
    'of the directory as a zip.',
  query: message({
    path: filePath().default('').describe('Empty: the whole server.'),
    names: z
      .preprocess((value) => (typeof value === 'string' ? [value] : value), z.array(ownPath()).max(MAX_PATHS))
      .default([])
      .describe('Paths relative to `path`, each in a parameter of its own. Empty: all.'),
  }),
});

export const UploadFile = operation({
  takes: 'bytes',
  ...COMMON,
  id: 'UploadFile',
  method: 'post',
  path: '/v1/servers/{id}/file:upload',
  scope: 'files:write',
  summary: 'Upload a file',
  description:
    'The request body is the content, of any size the disk quota allows. The file appears once the upload is ' +
    'complete. An upload that breaks off changes nothing. Missing parent directories are created.',
  query: message({
    path: ownPath().describe('The target path.'),
    overwrite: queryFlag().default(false).describe('Whether to replace an existing file.'),
  }),
  reply: FileEntry,
});

/** Pattern for the documentation. */
const ARCHIVE_NAME = String.raw`^[^\x00]*[^\x00/]\.(?:zip|tar|tar\.gz|tar\.zst)$`;

export const ArchivePaths = operation({
  ...COMMON,
  id: 'ArchivePaths',
  method: 'post',
  path: '/v1/servers/{id}/file:archive',
  scope: 'files:write',
  summary: 'Pack files and directories into an archive',
  description:
    'The extension of `to` sets the format: `.zip`, `.tar`, `.tar.gz` or `.tar.zst`. Symbolic links are left out. ' +
    '`to` must not exist. Stops when the caller disconnects.',
  bodyLimitBytes: PATHS_BYTES,
  body: message({
    paths: z.array(filePath()).min(1, 'is required').max(MAX_PATHS),
    to: ownPath().meta({ pattern: ARCHIVE_NAME }),
  }).meta({
    id: 'ArchivePathsRequest',
  }),
  example: { paths: ['world', 'plugins'], to: 'before-update.tar.zst' },
  reply: FileEntry,
});

export const ExtractArchive = operation({
  ...COMMON,
  id: 'ExtractArchive',
  method: 'post',
  path: '/v1/servers/{id}/file:extract',
  scope: 'files:write',
  summary: 'Extract an archive',
  description:
    'Extracts a zip (or jar), tar, tar.gz or tar.zst into the directory `to`, which is created if missing. The ' +
    'format is detected from the content, not the name. Existing files are overwritten. If `overwrite` is false, ' +
    'the call fails when a file exists, and nothing changes. An archive that is damaged, contains links or has ' +
    'paths outside it is refused, and nothing changes. If the service is killed while it moves the files into ' +
    'place, only some of them may exist: extract again. Stops when the caller disconnects.',
  body: message({
    path: ownPath(),
    to: filePath().default('').describe("Empty: the server's root."),
    overwrite: z.boolean().default(true).describe('Whether existing files are overwritten.'),
  }).meta({ id: 'ExtractArchiveRequest' }),
  example: { path: 'before-update.tar.zst', to: 'restored' },
  reply: z.object({ extracted: reply.int64.describe('In bytes.') }).meta({ id: 'ExtractArchiveResponse' }),
});

export const transferOperations = (needs: FileNeeds): readonly Served[] => [
  needs.serveServer(DownloadPath, async ({ params, query, principal, server, signal }) => {
    const release = needs.transferSlots.take(principal, 'transfer');
    try {
      const found = await needs.files.download(params.id, query, { signal, tenant: server.row.accountId });
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
  }),
  needs.serveServer(UploadFile, async (call) => {
    const { path, overwrite } = call.query;
    return await transferFiles(call, needs, { action: 'file.upload', detail: path }, async () =>
      entryView(await needs.files.write(call.params.id, path, call.upload(), { exclusive: !overwrite })),
    );
  }),
  needs.serveServer(ArchivePaths, async (call) => {
    const { paths, to } = call.body;
    const { signal } = call;
    const patience = { signal, tenant: call.server.row.accountId };
    const entry = { action: 'file.archive', detail: `${paths.join(', ')} to ${to}` } as const;
    return await transferFiles(call, needs, entry, async () =>
      entryView(await needs.files.archive(call.params.id, paths, to, patience)),
    );
  }),
  needs.serveServer(ExtractArchive, async (call) => {
    const { path, to, overwrite } = call.body;
    const { signal } = call;
    const patience = { signal, tenant: call.server.row.accountId };
    return await transferFiles(call, needs, { action: 'file.extract', detail: `${path} to ${to}` }, async () => ({
      extracted: await needs.files.extract(call.params.id, { path, to, overwrite }, patience),
    }));
  }),
];
