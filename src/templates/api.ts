import * as z from 'zod';
import type { Catalogue } from '../game/catalogue/catalogue.ts';
import { ServerId, int32, line, message, reply, text } from '../http/fields.ts';
import { Nothing } from '../http/nothing.ts';
import { operation } from '../http/operation.ts';
import { type Served, serve } from '../http/serve.ts';
import type { Principal } from '../http/principal.ts';
import type { Clock } from '../kernel/clock.ts';
import { newId } from '../kernel/ids.ts';
import { StatusError, quotaExceeded } from '../kernel/status.ts';
import { auditActorOf, recordAudit } from '../audit/audit.ts';
import { requireWholeAccount } from '../access/caller.ts';
import { GameVersion, PlanName } from '../servers/api/fields.ts';
import { Server, ServerName } from '../servers/api/messages.ts';
import { reachServer } from '../servers/api/reach.ts';
import type { ServerView } from '../servers/api/view.ts';
import type { Creation } from '../servers/creation.ts';
import type { Servers } from '../servers/servers.ts';
import type { Store } from '../store/store.ts';
import {
  type TemplateRow,
  deleteTemplate as deleteRow,
  getTemplate,
  insertTemplate,
  listTemplates as listRows,
} from './rows.ts';
import { type Template as TemplateView, builtInTemplates } from './templates.ts';

/** Dependencies of these operations. */
interface Needs {
  creation: Creation;
  /** Minecraft versions of the sandbox core, newest first. */
  sandboxVersions: readonly string[];
  serverView: ServerView;
  catalogue: Catalogue;
  clock: Clock;
  servers: Servers;
  store: Store;
}

const MAX_TEMPLATES = 100;

const TemplateModpack = z
  .object({ platform: reply.text, ref: reply.text, version: reply.text })
  .meta({ id: 'TemplateModpack' });

const Template = z
  .object({
    id: reply.text,
    name: reply.text,
    description: reply.text,
    motd: reply.text,
    plan: reply.text,
    serverType: reply.text,
    version: reply.text,
    ramMb: reply.int32,
    properties: reply.textMap,
    builtIn: reply.flag.describe('Built in. It cannot be deleted.'),
    modpack: TemplateModpack.default({ platform: '', ref: '', version: '' }),
  })
  .meta({ id: 'Template' });

const TemplateOverrides = message({
  plan: PlanName.default(''),
  region: text(32).default(''),
  version: GameVersion.default(''),
  ramMb: int32({ min: 0 }).default(0),
}).meta({ id: 'TemplateOverrides', description: 'Empty or 0 = as in the template.' });

const TemplateParams = message({
  templateId: z
    .string()
    .regex(/^[\w-]{1,64}$/)
    .describe('A built-in template, or one of your own.'),
});

const COMMON = { auth: 'key', scope: 'servers:write', section: 'Templates' } as const;

export const ListTemplates = operation({
  ...COMMON,
  scope: 'servers:read',
  id: 'ListTemplates',
  method: 'get',
  path: '/v1/templates',
  summary: 'List templates',
  description: 'Returns the built-in templates, then your own, oldest first.',
  reply: z.object({ templates: z.array(Template).default([]) }).meta({ id: 'ListTemplatesResponse' }),
});

export const CreateServerFromTemplate = operation({
  ...COMMON,
  id: 'CreateServerFromTemplate',
  method: 'post',
  path: '/v1/templates/{templateId}:createServer',
  summary: 'Create a server from a template',
  description: 'Works like CreateServer, with the values of the template and your overrides.',
  params: TemplateParams,
  body: message({
    name: ServerName,
    overrides: TemplateOverrides.default({ plan: '', region: '', version: '', ramMb: 0 }),
  }).meta({ id: 'CreateServerFromTemplateRequest' }),
  example: { name: 'My Server', overrides: { ramMb: 2048 } },
  reply: Server,
});

export const CreateTemplate = operation({
  ...COMMON,
  id: 'CreateTemplate',
  method: 'post',
  path: '/v1/templates',
  summary: 'Save a server as a template',
  description: "Saves the server's settings, without its world and files.",
  body: message({ serverId: ServerId, name: ServerName, description: line(512).default('') }).meta({
    id: 'CreateTemplateRequest',
  }),
  example: { serverId: 'my-server', name: 'Our usual', description: 'Hard, ten players' },
  reply: Template,
});

export const DeleteTemplate = operation({
  ...COMMON,
  id: 'DeleteTemplate',
  method: 'post',
  path: '/v1/templates/{templateId}:delete',
  summary: 'Delete a template',
  description: 'Deletes one of your own templates. Servers created from it stay as they are.',
  params: TemplateParams,
  reply: Nothing,
});

async function builtIn({ catalogue, sandboxVersions }: Needs): Promise<TemplateView[]> {
  const { latest } = await catalogue.versions();
  return builtInTemplates({ sandbox: sandboxVersions[0] ?? '', release: latest });
}

async function find(id: string, principal: Principal, needs: Needs): Promise<TemplateView> {
  const own = await getTemplate(needs.store, principal.accountId, id);
  const found = own ?? (await builtIn(needs)).find((each) => each.id === id);
  if (found === undefined) throw templateNotFound(id);
  return found;
}

function templateNotFound(templateId: string): StatusError {
  const metadata = { templateId };
  return new StatusError('NOT_FOUND', 'TEMPLATE_NOT_FOUND', 'This template does not exist.', { metadata });
}

function view(template: TemplateView): z.input<typeof Template> {
  const { modpackPlatform: platform, modpackRef: ref, modpackVersion: version } = template;
  return { ...template, builtIn: !('accountId' in template), modpack: { platform, ref, version } };
}

export const templateOperations = (needs: Needs): readonly Served[] => [
  serve(ListTemplates, async ({ principal }) => {
    const own = await listRows(needs.store, principal.accountId);
    return { templates: [...(await builtIn(needs)), ...own].map(view) };
  }),
  serve(CreateServerFromTemplate, async ({ params, body: { name, overrides }, principal }) => {
    const template = await find(params.templateId, principal, needs);
    const { motd, properties, modpackPlatform, modpackRef, modpackVersion } = template;
    const now = await needs.creation.create(principal, {
      name,
      id: '',
      hostname: '',
      container: '',
      addr: '',
      accountId: '',
      region: overrides.region,
      type: template.serverType,
      motd,
      properties,
      modpackPlatform,
      modpackRef,
      modpackVersion,
      plan: overrides.plan || template.plan,
      version: overrides.version || template.version,
      ramMb: overrides.ramMb || template.ramMb,
    });
    return needs.serverView(now);
  }),
  serve(CreateTemplate, async ({ body, principal }) => {
    const { store, clock } = needs;
    requireWholeAccount(principal);
    const { server } = await reachServer(needs, principal, body.serverId, 'member');
    const { motd, plan, type, version, ramMb, properties, modpackPlatform, modpackRef, modpackVersion } = server.row;
    const { accountId } = principal;
    const at = clock.now();
    const row: TemplateRow = {
      id: newId('tpl'),
      accountId,
      name: body.name,
      description: body.description,
      motd,
      plan,
      serverType: type,
      version,
      ramMb,
      properties,
      modpackPlatform,
      modpackRef,
      modpackVersion,
      createdAt: at,
    };
    await store.write(async (tx) => {
      if ((await listRows(tx, accountId)).length >= MAX_TEMPLATES) {
        const sentence = `An account can have at most ${MAX_TEMPLATES} templates. Delete one first.`;
        throw quotaExceeded('MAX_TEMPLATES', `account:${accountId}`, sentence, { limit: String(MAX_TEMPLATES) });
      }
      await insertTemplate(tx, row);
      await recordAudit(tx, auditActorOf(principal), { action: 'template.create', accountId, detail: row.id, at });
    });
    return view(row);
  }),
  serve(DeleteTemplate, async ({ params: { templateId }, principal }) => {
    const { store, clock } = needs;
    requireWholeAccount(principal);
    if ((await builtIn(needs)).some(({ id }) => id === templateId)) {
      throw new StatusError('PERMISSION_DENIED', 'TEMPLATE_BUILT_IN', 'Built-in templates cannot be deleted.');
    }
    const { accountId } = principal;
    await store.write(async (tx) => {
      if (!(await deleteRow(tx, accountId, templateId))) throw templateNotFound(templateId);
      const entry = { action: 'template.delete', accountId, detail: templateId, at: clock.now() };
      await recordAudit(tx, auditActorOf(principal), entry);
    });
  }),
];
