import * as z from 'zod';
import { base64, int32, line, message, queryFlag, reply, text } from '../http/fields.ts';
import { Nothing } from '../http/nothing.ts';
import { operation } from '../http/operation.ts';
import type { Served } from '../http/serve.ts';
import { WrittenReply } from '../http/reply.ts';
import { MIB } from '../kernel/units.ts';
import { ServerParams } from '../servers/api/messages.ts';
import { SORTS } from './listing-job.ts';
import { FileEntry, type FileNeeds, changeFiles, entryView, filePath, ownPath, transferFiles } from './fields.ts';

/** Most content in one message; larger files use uploads and downloads. */
const CONTENT_BYTES = 4 * MIB;
/** Base64 needs four letters for three bytes. The rest is for the message around the content. */
const CONTENT_MESSAGE_BYTES = 6 * MIB;

const COMMON = { auth: 'key', role: 'member', section: 'Files', params: ServerParams } as const;
const PathQuery = message({
  path: filePath().default('').describe("Path relative to the server's root, with `/` as separator."),
});
const ListQuery = message({
  path: filePath().default('').describe("Path relative to the server's root, with `/` as separator."),
  limit: int32({ min: 0 }).default(0).describe('Maximum number of entries. 0 = all.'),
  offset: int32({ min: 0 }).default(0).describe('Number of entries to skip.'),
  contains: text(256).default('').describe('Only entries whose name contains this text. Case-insensitive.'),
  directoriesFirst: queryFlag()
    .default(false)
    .describe('List directories before all other entries, in either direction.'),
  sort: z
    .enum(SORTS)
    .default('name')
    .describe(
      '`name`: by character codes. `natural`: by name, numbers by value, `world2` before `world10`. `size` and ' +
        '`modifiedAt`: smallest and oldest first.',
    ),
  descending: queryFlag().default(false).describe('Reverse the order.'),
  recursive: queryFlag()
    .default(false)
    .describe('Also search subfolders. Names are then paths relative to `path`, without links.'),
  sizes: queryFlag().default(false).describe('Add up the files below each listed directory as its `size`.'),
});
const Move = message({ from: ownPath(), to: ownPath() });

export const ListFiles = operation({
  ...COMMON,
  id: 'ListFiles',
  method: 'get',
  path: '/v1/servers/{id}/files',
  scope: 'files:read',
  summary: 'List a directory',
  description:
    'Returns the entries of a directory, by default sorted by name. Without `path`, lists the root. Works in every state. ' +
    'Symbolic links are listed but never followed. `recursive` and `sizes` visit at most 100000 entries in 3 seconds, ' +
    'and `recursive` finds at most 1000.',
  precondition: '`path` must be a directory, not a file.',
  query: ListQuery,
  reply: z
    .object({
      entries: z.array(FileEntry).default([]),
      total: reply.int32.describe('Number of matching entries, regardless of `limit` and `offset`.'),
      truncated: reply.flag.describe(
        'Whether `recursive` or `sizes` reached a limit: entries or sizes are incomplete.',
      ),
    })
    .meta({ id: 'ListFilesResponse' }),
});

export const ReadFile = operation({
  ...COMMON,
  id: 'ReadFile',
  method: 'get',
  path: '/v1/servers/{id}/file',
  scope: 'files:read',
  summary: 'Read a file',
  description:
    'Returns the first 4 MiB of a file. Passwords in `server.properties` are masked. For the whole file, use ' +
    'DownloadPath.',
  precondition: '`path` must be a file, not a directory.',
  query: PathQuery,
  reply: z
    .object({
      content: reply.text.meta({ format: 'byte' }).describe('Base64.'),
      truncated: reply.flag.describe('Whether the file is longer than `content`.'),
      version: reply.text.describe('Changes whenever the file changes. Pass it to WriteFile as `ifVersion`.'),
    })
    .meta({ id: 'ReadFileResponse' }),
});

export const WriteFile = operation({
  ...COMMON,
  id: 'WriteFile',
  method: 'post',
  path: '/v1/servers/{id}/file',
  scope: 'files:write',
  summary: 'Write a file',
  description:
    'Creates or replaces a file of at most 4 MiB atomically. Creates missing parent directories. For larger ' +
    'files, use UploadFile.',
  precondition: '`path` must not be a directory, and its parents must not be files.',
  body: message({
    path: ownPath(),
    content: base64(CONTENT_BYTES).default(Buffer.alloc(0)).describe('Base64. Empty creates an empty file.'),
    ifVersion: line(256)
      .default('')
      .describe(
        'The `version` you read. If the file has changed since, the write fails with FILE_CHANGED. `none`: the ' +
          'file must not exist. Empty: overwrite any content.',
      ),
  }).meta({ id: 'WriteFileRequest' }),
  bodyLimitBytes: CONTENT_MESSAGE_BYTES,
  example: { path: 'ops.json', content: 'W10=' },
  reply: Nothing,
});

export const CopyPath = operation({
  ...COMMON,
  id: 'CopyPath',
  method: 'post',
  path: '/v1/servers/{id}/file:copy',
  scope: 'files:write',
  summary: 'Copy a file or directory',
  description:
    'Copies a file, or a directory with all its content except symbolic links. `to` must not exist. Stops when ' +
    'the caller disconnects.',
  precondition: '`to` must not be below `from`.',
  body: Move.meta({ id: 'CopyPathRequest' }),
  example: { from: 'world', to: 'world-before' },
  reply: z.object({ copied: reply.int64.describe('In bytes.') }).meta({ id: 'CopyPathResponse' }),
});

export const RenamePath = operation({
  ...COMMON,
  id: 'RenamePath',
  method: 'post',
  path: '/v1/servers/{id}/file:rename',
  scope: 'files:write',
  summary: 'Rename or move a file or directory',
  description: '`to` must not exist. Its parent directory must exist.',
  precondition: '`to` must not be below `from`.',
  body: Move.meta({ id: 'RenamePathRequest' }),
  example: { from: 'world', to: 'world-old' },
  reply: Nothing,
});

export const DeletePath = operation({
  ...COMMON,
  id: 'DeletePath',
  method: 'post',
  path: '/v1/servers/{id}/file:delete',
  scope: 'files:write',
  summary: 'Delete a file or directory',
  description: 'Deletes a directory with all its content. For a symbolic link, deletes the link, never its target.',
  body: message({ path: ownPath() }).meta({ id: 'DeletePathRequest' }),
  example: { path: 'world-old' },
  reply: Nothing,
});

export const MakeDirectory = operation({
  ...COMMON,
  id: 'MakeDirectory',
  method: 'post',
  path: '/v1/servers/{id}/file:mkdir',
  scope: 'files:write',
  summary: 'Create a directory',
  description: 'Also creates missing parent directories.',
  body: message({ path: ownPath() }).meta({ id: 'MakeDirectoryRequest' }),
  example: { path: 'plugins/maps' },
  reply: Nothing,
});

export const fileOperations = (needs: FileNeeds): readonly Served[] => [
  needs.serveServer(ListFiles, async ({ params, query: { path, ...part }, server, signal }) => {
    const listing = await needs.files.list(params.id, path, { signal, tenant: server.row.accountId, part });
    if ('entries' in listing) {
      const { entries, total } = listing;
      return { entries: entries.map(entryView), total, truncated: false };
    }
    return new WrittenReply(listing.json, listing.release);
  }),
  needs.serveServer(ReadFile, async ({ params, query }) => {
    const { content, truncated, version } = await needs.files.read(params.id, query.path, CONTENT_BYTES);
    return { content: content.toString('base64'), truncated, version };
  }),
  needs.serveServer(WriteFile, async (call) => {
    const { path, content, ifVersion } = call.body;
    const options = ifVersion === 'none' ? { exclusive: true } : { version: ifVersion || undefined };
    await changeFiles(call, needs, { action: 'file.write', detail: path }, () =>
      needs.files.write(call.params.id, path, { chunks: [content], sizeBytes: content.length }, options),
    );
  }),
  needs.serveServer(CopyPath, async (call) => {
    const { from, to } = call.body;
    const { signal } = call;
    return await transferFiles(call, needs, { action: 'file.copy', detail: `${from} to ${to}` }, async () => ({
      copied: await needs.files.copy(call.params.id, from, to, { signal }),
    }));
  }),
  needs.serveServer(RenamePath, async (call) => {
    const { from, to } = call.body;
    await changeFiles(call, needs, { action: 'file.rename', detail: `${from} to ${to}` }, () =>
      needs.files.rename(call.params.id, from, to),
    );
  }),
  needs.serveServer(DeletePath, async (call) => {
    const { path } = call.body;
    await changeFiles(call, needs, { action: 'file.delete', detail: path }, () =>
      needs.files.remove(call.params.id, path),
    );
  }),
  needs.serveServer(MakeDirectory, async (call) => {
    const { path } = call.body;
    await changeFiles(call, needs, { action: 'file.mkdir', detail: path }, () =>
      needs.files.mkdir(call.params.id, path),
    );
  }),
];
