import * as z from 'zod';
import { line, message, pageLimit, reply } from '../http/fields.ts';
import { Nothing } from '../http/nothing.ts';
import { operation } from '../http/operation.ts';
import { type Served, serve } from '../http/serve.ts';
import { createRateLimit } from '../http/rate-limit.ts';
import { ServerParams } from '../servers/api/messages.ts';
import { recordOnServer } from '../servers/api/reach.ts';
import { wrongState } from '../servers/refusals.ts';
import type { ServerNow } from '../servers/server-now.ts';
import type { Mods } from './mods.ts';
import type { Shared } from '../servers/shared.ts';

/** Limit per account. A registry answers about 300 requests a minute, of all accounts together. */
const QUESTIONS = { perSecond: 1, burst: 60 };

const MAX_PROJECTS = 256;

const source = z
  .enum(['modrinth', 'curseforge'])
  .default('modrinth')
  .describe('`modrinth` (default) or `curseforge`, if the operator has set it up.');
const ProjectId = z
  .string('is required')
  .max(64, 'must be the id or short name of a project')
  .regex(/^\.*[\w!@$()`+,"'-][\w!@$()`.+,"'-]*$/, 'must be the id or short name of a project')
  .describe("The project's id or short name in the registry.");

const ServerMod = z
  .object({
    name: reply.text,
    projectId: reply.text,
    source: reply.text,
    versionSpec: reply.text.describe('The requested version.'),
    version: reply.text.describe('The installed version.'),
    file: reply.text.describe("The path in the server's files."),
    dependency: reply.flag.describe('Installed as a dependency; removed with the mod that needs it.'),
  })
  .meta({ id: 'ServerMod' });

const ServerModRequest = message({
  name: line(128).default('').describe("Display name. Empty = the project's title."),
  projectId: ProjectId,
  source,
  versionSpec: line(128)
    .default('')
    .describe(
      'Empty: the newest version that fits the server, releases first. `release`, `beta`, `alpha`: the newest ' +
        'version that is at least this stable. Any other value: the id or number of one version, which updates do ' +
        'not change.',
    ),
  dryRun: z.boolean().default(false),
}).meta({ id: 'ServerModRequest' });

const COMMON = {
  auth: 'key',
  role: 'member',
  scope: 'servers:write',
  section: 'Mods',
  params: ServerParams,
  writesCode: true,
} as const;

export const ListServerMods = operation({
  ...COMMON,
  id: 'ListServerMods',
  method: 'get',
  path: '/v1/servers/{id}/mods',
  scope: 'servers:read',
  role: 'limited',
  writesCode: false,
  summary: 'List mods and plugins',
  description:
    'Returns the mods and plugins added through the API or the panel, with their dependencies. Excludes mods from a ' +
    'mod pack or uploaded by hand.',
  reply: z.object({ mods: z.array(ServerMod).default([]) }).meta({ id: 'ListServerModsResponse' }),
});

const ModChange = z
  .object({
    name: reply.text,
    projectId: reply.text,
    source: reply.text,
    from: reply.text.describe('The version before. Empty if it was not installed.'),
    to: reply.text.describe('The version after. Empty if it is removed.'),
  })
  .meta({ id: 'ModChange' });

const ModChanges = z.array(ModChange).default([]);

export const AddServerMod = operation({
  ...COMMON,
  id: 'AddServerMod',
  method: 'post',
  path: '/v1/servers/{id}/mods',
  summary: 'Add a mod or plugin',
  description:
    "Chooses versions of the project and its dependencies for the server's core and Minecraft version. Downloads " +
    'and checks all files, then puts them into `mods/` or `plugins/`. Returns when this is done. If it fails, ' +
    'nothing changes. A running game loads the new files at its next start. A project that is already installed ' +
    'gets the new `versionSpec`. With `dryRun`, it changes nothing and returns the changes it would make.',
  body: ServerModRequest,
  example: { projectId: 'lithium' },
  reply: z
    .object({ changes: z.array(ModChange).optional().describe('Only with `dryRun`.') })
    .meta({ id: 'AddServerModResponse' }),
});

export const RemoveServerMod = operation({
  ...COMMON,
  id: 'RemoveServerMod',
  method: 'post',
  path: '/v1/servers/{id}/mods:remove',
  summary: 'Remove a mod or plugin',
  description:
    'Also removes dependencies that no other mod needs. A mod you added that others need stays as their ' +
    'dependency. A mod that is only a dependency is refused with MOD_REQUIRED. A running game keeps a removed mod ' +
    'loaded until its next start.',
  body: message({ projectId: ProjectId, source }),
  example: { projectId: 'lithium' },
  reply: Nothing,
});

export const UpdateServerMods = operation({
  ...COMMON,
  id: 'UpdateServerMods',
  method: 'post',
  path: '/v1/servers/{id}/mods:update',
  summary: 'Update mods and plugins',
  description:
    "Chooses versions again by each mod's `versionSpec`, for example after the server's version has changed. " +
    'Returns the changes. With `dryRun`, it changes nothing.',
  body: message({
    projectIds: z.array(ProjectId).max(MAX_PROJECTS).default([]).describe('Empty: all.'),
    dryRun: z.boolean().default(false),
  }),
  example: { dryRun: true },
  reply: z.object({ changes: ModChanges }).meta({ id: 'UpdateServerModsResponse' }),
});

const ModProject = z
  .object({
    projectId: reply.text,
    slug: reply.text.describe('The short name. It may change.'),
    source: reply.text,
    kind: reply.text.describe('`mod`, `plugin` or `modpack`.'),
    name: reply.text,
    description: reply.text,
    author: reply.text,
    downloads: reply.int64,
    iconUrl: reply.text,
  })
  .meta({ id: 'ModProject' });

export const SearchMods = operation({
  id: 'SearchMods',
  method: 'get',
  path: '/v1/mods/search',
  auth: 'key',
  scope: 'servers:read',
  section: 'Mods',
  summary: 'Search mods, plugins and mod packs',
  description: 'Searches a registry for projects that run on servers, best match first.',
  query: message({
    query: line(128).default('').describe('Words in the name. Empty returns popular projects.'),
    source,
    kind: z.enum(['', 'mod', 'plugin', 'modpack']).default('').describe('Empty: any.'),
    loader: z
      .string()
      .regex(/^[a-z-]{0,32}$/, 'must be the name of a loader')
      .default('')
      .describe('`fabric`, `neoforge`, `paper`, …; empty: any.'),
    version: z
      .string()
      .regex(/^[\w.+-]{0,32}$/, 'must be a Minecraft version')
      .default('')
      .describe('Minecraft version; empty: any.'),
    limit: pageLimit({ fallback: 20, most: 100 }),
  }),
  reply: z.object({ projects: z.array(ModProject).default([]) }).meta({ id: 'SearchModsResponse' }),
});

export function modOperations({ serveServer, clock }: Shared, mods: Mods): readonly Served[] {
  /** Counts a call that queries a registry, by account. Throws RESOURCE_EXHAUSTED RATE_LIMITED. */
  const takeQuestion = createRateLimit(QUESTIONS, clock, 'account');
  return [
    serveServer(ListServerMods, async ({ params }) => ({
      mods: (await mods.list(params.id)).map((row) => ({
        name: row.name,
        projectId: row.projectId,
        source: row.source,
        versionSpec: row.versionSpec,
        version: row.versionNumber,
        file: row.path,
        dependency: !row.wished,
      })),
    })),
    serveServer(AddServerMod, async ({ server, body, principal, signal }) => {
      requireSettled(server);
      takeQuestion(principal.accountId);
      const detail = `${body.source} ${body.projectId} ${body.versionSpec}`.trim();
      const record = recordOnServer(principal, server.row, { action: 'mod.add', detail, at: clock.now() });
      const changes = await mods.add(server.row, body, { signal, record });
      return body.dryRun ? { changes } : {};
    }),
    serveServer(RemoveServerMod, async ({ server, body, principal, signal }) => {
      requireSettled(server);
      const detail = `${body.source} ${body.projectId}`;
      const record = recordOnServer(principal, server.row, { action: 'mod.remove', detail, at: clock.now() });
      await mods.remove(server.row, body, { signal, record });
    }),
    serveServer(UpdateServerMods, async ({ server, body, principal, signal }) => {
      requireSettled(server);
      takeQuestion(principal.accountId);
      const detail = body.projectIds.join(', ') || 'all';
      const record = recordOnServer(principal, server.row, { action: 'mod.update', detail, at: clock.now() });
      return { changes: await mods.update(server.row, body, { signal, record }) };
    }),
    serve(SearchMods, async ({ query: { source: from, version, ...asked }, principal, signal }) => {
      takeQuestion(principal.accountId);
      const found = await mods.search(from, { ...asked, minecraftVersion: version }, signal);
      return {
        projects: found.map(({ projectId, slug, kind, title: name, description, author, downloads, iconUrl }) => {
          return { projectId, slug, source: from, kind, name, description, author, downloads, iconUrl };
        }),
      };
    }),
  ];
}

/** Throws while an install that decides on the mods is in progress or waits for a retry. */
function requireSettled({ row, state }: ServerNow): void {
  if (state !== 'installing') return;
  const sentence = 'Wait until the install has finished, then change its mods.';
  throw wrongState('SERVER_INSTALLING', sentence, { server: row.id, state });
}
