import { z } from 'zod';
import { base64, message, reply } from '../http/fields.ts';
import { Nothing } from '../http/nothing.ts';
import { WrittenReply } from '../http/reply.ts';
import { ServerParams } from '../servers/api/messages.ts';
import { serverOperation } from '../servers/api/operation.ts';
import { FileEntry, changeFiles, entryView, filePath, inTransfer, ownPath } from './fields.ts';

/** What one message carries of a file; more is for uploads and downloads. */
const CONTENT_BYTES = 4 * 1024 * 1024;
/** Base64 takes four letters for three bytes; the rest is the message around it. */
const CONTENT_MESSAGE_BYTES = 6 * 1024 * 1024;

const common = { role: 'member', tag: 'control', params: ServerParams } as const;
const PathQuery = message({ path: filePath().default('').describe("Relative to the server's root; '/' separates.") });
const Move = message({ from: ownPath(), to: ownPath() });

export const listFiles = serverOperation({
  ...common,
  id: 'ListFiles',
  method: 'get',
  path: '/v1/servers/{id}/files',
  scope: 'files:read',
  summary: 'List a directory',
  description:
    'What is in a directory, by name; the root without `path`. Works in every state. Symbolic links are shown but never followed.',
  precondition: 'there must be a directory, and not a file, at `path`.',
  query: PathQuery,
  reply: z.object({ entries: z.array(FileEntry).default([]) }).meta({ id: 'ListFilesResponse' }),
}).handle(async ({ params, query, server, signal }, { files }) => {
  const listing = await files.list(params.id, query.path, { signal, tenant: server.row.accountId });
  if ('entries' in listing) return { entries: listing.entries.map(entryView) };
  return new WrittenReply(listing.json, listing.release);
});

export const readFile = serverOperation({
  ...common,
  id: 'ReadFile',
  method: 'get',
  path: '/v1/servers/{id}/file',
  scope: 'files:read',
  summary: 'Read a file',
  description:
    'The first 4 MiB of a file. Passwords in `server.properties` are starred out. For all of it: DownloadPath.',
  precondition: 'there must be a file, and not a directory, at `path`.',
  query: PathQuery,
  reply: z
    .object({
      content: reply.text.meta({ format: 'byte' }).describe('Base64.'),
      truncated: reply.flag.describe('The file is longer.'),
    })
    .meta({ id: 'ReadFileResponse' }),
}).handle(async ({ params, query }, { files }) => {
  const { content, truncated } = await files.read(params.id, query.path, CONTENT_BYTES);
  return { content: content.toString('base64'), truncated };
});

export const writeFile = serverOperation({
  ...common,
  id: 'WriteFile',
  method: 'post',
  path: '/v1/servers/{id}/file',
  scope: 'files:write',
  summary: 'Write a file',
  description:
    'Makes or replaces a file of at most 4 MiB, whole or not at all, with the directories above it. For more: UploadFile.',
  precondition: 'no directory may be at `path`, and no file above it.',
  body: message({
    path: ownPath(),
    content: base64(CONTENT_BYTES).default(Buffer.alloc(0)).describe('Base64; empty: an empty file.'),
  }).meta({ id: 'WriteFileRequest' }),
  bodyLimitBytes: CONTENT_MESSAGE_BYTES,
  example: { path: 'ops.json', content: 'W10=' },
  reply: Nothing,
}).handle(async (call, services) => {
  const { path, content } = call.body;
  await changeFiles(call, services, { action: 'file.write', detail: path }, () =>
    services.files.write(call.params.id, path, { chunks: [content], sizeBytes: content.length }),
  );
  return {};
});

export const copyPath = serverOperation({
  ...common,
  id: 'CopyPath',
  method: 'post',
  path: '/v1/servers/{id}/file:copy',
  scope: 'files:write',
  summary: 'Copy a file or directory',
  description:
    'With all that is in it, but for links. There must be nothing at `to` yet. Ends when the caller goes away.',
  precondition: '`to` must not be below `from`.',
  body: Move.meta({ id: 'CopyPathRequest' }),
  example: { from: 'world', to: 'world-before' },
  reply: z.object({ copied: reply.int64.describe('In bytes.') }).meta({ id: 'CopyPathResponse' }),
}).handle(async (call, services) => {
  const { from, to } = call.body;
  const { signal, principal } = call;
  return await changeFiles(call, services, { action: 'file.copy', detail: `${from} to ${to}` }, () =>
    inTransfer(services, principal, async () => ({
      copied: await services.files.copy(call.params.id, from, to, { signal }),
    })),
  );
});

export const renamePath = serverOperation({
  ...common,
  id: 'RenamePath',
  method: 'post',
  path: '/v1/servers/{id}/file:rename',
  scope: 'files:write',
  summary: 'Rename or move a file or directory',
  description: 'There must be nothing at `to` yet, but for the directory above it.',
  precondition: '`to` must not be below `from`.',
  body: Move.meta({ id: 'RenamePathRequest' }),
  example: { from: 'world', to: 'world-old' },
  reply: Nothing,
}).handle(async (call, services) => {
  const { from, to } = call.body;
  await changeFiles(call, services, { action: 'file.rename', detail: `${from} to ${to}` }, () =>
    services.files.rename(call.params.id, from, to),
  );
  return {};
});

export const deletePath = serverOperation({
  ...common,
  id: 'DeletePath',
  method: 'post',
  path: '/v1/servers/{id}/file:delete',
  scope: 'files:write',
  summary: 'Delete a file or directory',
  description: 'With all that is in it. A symbolic link is deleted itself, never what it points to.',
  body: message({ path: ownPath() }).meta({ id: 'DeletePathRequest' }),
  example: { path: 'world-old' },
  reply: Nothing,
}).handle(async (call, services) => {
  const { path } = call.body;
  await changeFiles(call, services, { action: 'file.delete', detail: path }, () =>
    services.files.remove(call.params.id, path),
  );
  return {};
});

export const makeDirectory = serverOperation({
  ...common,
  id: 'MakeDirectory',
  method: 'post',
  path: '/v1/servers/{id}/file:mkdir',
  scope: 'files:write',
  summary: 'Make a directory',
  description: 'With the directories above it.',
  body: message({ path: ownPath() }).meta({ id: 'MakeDirectoryRequest' }),
  example: { path: 'plugins/maps' },
  reply: Nothing,
}).handle(async (call, services) => {
  const { path } = call.body;
  await changeFiles(call, services, { action: 'file.mkdir', detail: path }, () =>
    services.files.mkdir(call.params.id, path),
  );
  return {};
});
