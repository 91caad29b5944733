import * as z from 'zod';
import { requireWholeAccount } from '../access/caller.ts';
import { CUSTOM } from '../game/cores.ts';
import { int32, line, message, reply, text } from '../http/fields.ts';
import { Nothing } from '../http/nothing.ts';
import { operation } from '../http/operation.ts';
import { type Served, serve } from '../http/serve.ts';
import type { StreamSlots } from '../http/stream-slots.ts';
import { CoreType, GameVersion, LEAST_RAM_MB, Motd, PlanName, checkProperties } from '../servers/api/fields.ts';
import { Server, ServerName } from '../servers/api/messages.ts';
import type { ServerView } from '../servers/api/view.ts';
import { type CompleteRequest, CreateServerRequest } from '../servers/creation.ts';
import { EXPIRES_MS, type Import, type Imports, levelOf, nameOf } from './imports.ts';

/** Memory of a server whose archive asks for none. */
export const DEFAULT_RAM_MB = 2_048;

const FoundWorld = z
  .object({ name: reply.text, active: reply.flag, folders: z.array(reply.text) })
  .meta({ id: 'FoundWorld' });
const FoundMod = z.object({ path: reply.text, name: reply.text, version: reply.text }).meta({ id: 'FoundMod' });
const LeftOut = z.object({ path: reply.text, reason: reply.text, files: reply.int32 }).meta({ id: 'LeftOut' });

const ImportReply = z
  .object({
    id: reply.text,
    name: reply.text.describe('Default name of the server.'),
    type: reply.text.describe('Core type; empty if unknown.'),
    version: reply.text.describe('Minecraft version; empty if unknown.'),
    build: reply.text.describe('Build of the core or version of its loader, for the first start; empty if unknown.'),
    ramMb: reply.int32.describe('Memory that the former start script asked for; 0 if unknown.'),
    motd: reply.text,
    worlds: z.array(FoundWorld),
    mods: z.array(FoundMod).describe('Mods and plugins, by their file names.'),
    players: z.array(reply.text).describe('Paths of the whitelist, operators and bans.'),
    properties: reply.textMap,
    leftOut: z.array(LeftOut).describe('Files that are not taken over, and why.'),
    files: reply.int32.describe('Number of files that are taken over.'),
    sizeBytes: reply.int64.describe('Their size in bytes.'),
    expiresAt: reply.timestamp,
  })
  .meta({ id: 'Import' });

const Params = message({
  importId: z
    .string()
    .regex(/^[\w-]{1,64}$/)
    .describe('From CreateImport.'),
});
const COMMON = { auth: 'key', scope: 'servers:write', section: 'Imports' } as const;

export const CreateImport = operation({
  takes: 'bytes',
  ...COMMON,
  id: 'CreateImport',
  method: 'post',
  path: '/v1/imports',
  summary: 'Upload a server',
  description:
    'The request body is a zip, tar, tar.gz or tar.zst of a server’s folder, or of a world. Returns the server found in ' +
    'it. Nothing is created and nothing from the archive runs. An account can have 3 imports, for 24 hours each. ' +
    'Their bytes count towards the account’s disk limit.',
  query: message({ name: line(256).default('').describe('Name of the archive; the default name of the server.') }),
  reply: ImportReply,
});

export const ListImports = operation({
  ...COMMON,
  id: 'ListImports',
  method: 'get',
  path: '/v1/imports',
  summary: 'List uploaded servers',
  description: 'Returns the imports of the account that can be confirmed, newest first.',
  reply: z.object({ imports: z.array(ImportReply).default([]) }).meta({ id: 'ListImportsResponse' }),
});

export const GetImport = operation({
  ...COMMON,
  id: 'GetImport',
  method: 'get',
  path: '/v1/imports/{importId}',
  summary: 'Get an uploaded server',
  description: 'Returns the server found in an uploaded archive.',
  params: Params,
  reply: ImportReply,
});

export const ConfirmImport = operation({
  ...COMMON,
  id: 'ConfirmImport',
  method: 'post',
  path: '/v1/imports/{importId}:confirm',
  writesCode: true,
  summary: 'Create the server of an import',
  description:
    'Creates a server with the files of the import, without starting it. Then the import is gone. Empty fields are as ' +
    'found. If the call fails, there is no server, and the import remains. Stops when the caller disconnects.',
  params: Params,
  body: message({
    name: z.union([z.literal(''), ServerName]).default(''),
    type: CoreType.default('').describe('Core type. Required if none was found.'),
    version: GameVersion.default('').describe('Minecraft version. Required if none was found.'),
    ramMb: int32({ min: 0 }).default(0).describe(`0 = as found, or ${DEFAULT_RAM_MB}.`),
    plan: PlanName.default(''),
    region: text(32).default('').describe('Empty = the default region.'),
  }).meta({ id: 'ConfirmImportRequest' }),
  example: { name: 'My Server', ramMb: 4096 },
  reply: Server,
});

export const DeleteImport = operation({
  ...COMMON,
  id: 'DeleteImport',
  method: 'post',
  path: '/v1/imports/{importId}:delete',
  summary: 'Delete an uploaded server',
  description: 'Deletes an import with its files.',
  params: Params,
  reply: Nothing,
});

function view({ id, name, createdAt, findings }: Import): z.input<typeof ImportReply> {
  const { root: _, ...found } = findings;
  return { ...found, id, name, expiresAt: createdAt + EXPIRES_MS };
}

/** Opens the operations that turn an uploaded archive into a server. */
export const importOperations = (
  imports: Imports,
  transferSlots: StreamSlots,
  serverView: ServerView,
): readonly Served[] => [
  serve(CreateImport, async ({ query, principal, upload, signal }) => {
    requireWholeAccount(principal);
    const release = transferSlots.take(principal, 'transfer');
    try {
      return view(await imports.create(principal.accountId, nameOf(query.name), upload(), signal));
    } finally {
      release();
    }
  }),
  serve(ListImports, async ({ principal }) => {
    requireWholeAccount(principal);
    return { imports: imports.list(principal.accountId).map(view) };
  }),
  serve(GetImport, async ({ params, principal }) => {
    requireWholeAccount(principal);
    return view(imports.get(principal.accountId, params.importId));
  }),
  serve(ConfirmImport, async ({ params, body, principal, signal }) => {
    requireWholeAccount(principal);
    const found = imports.get(principal.accountId, params.importId);
    const release = transferSlots.take(principal, 'transfer');
    try {
      return serverView(await imports.confirm(principal, found.id, requestOf(found, body), signal));
    } finally {
      release();
    }
  }),
  serve(DeleteImport, async ({ params, principal }) => {
    requireWholeAccount(principal);
    await imports.delete(principal.accountId, params.importId);
  }),
];

/** Returns the request of the server: the given fields, else the findings. */
function requestOf({ name, findings }: Import, given: z.output<typeof ConfirmImport.body>): CompleteRequest {
  const type = given.type || findings.type;
  const version = given.version || findings.version;
  const level = levelOf(findings);
  const found = { ...findings.properties, ...(level !== undefined && { 'level-name': level }) };
  // The game still finds properties with values that this service does not accept in its own file.
  const isValid = ([key, value]: [string, string]) =>
    checkProperties({ properties: { [key]: value }, type, version }).next().done === true;
  return CreateServerRequest.parse({
    name: given.name || name,
    type: type || CUSTOM,
    version,
    ramMb: given.ramMb || Math.max(findings.ramMb || DEFAULT_RAM_MB, LEAST_RAM_MB.java),
    plan: given.plan,
    region: given.region,
    motd: Motd.safeParse(findings.motd).data ?? '',
    properties: Object.fromEntries(Object.entries(found).filter(isValid)),
  });
}
