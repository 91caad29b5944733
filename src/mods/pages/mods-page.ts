import { isAtLeast } from '../../http/roles.ts';
import { type Html, html } from '../../web/html.ts';
import type { Page } from '../../web/page-request.ts';
import { inShort } from '../../web/panel/in-short.ts';
import { buttonForm } from '../../web/panel/form.ts';
import type { Panel, PanelPage, ServerRequest } from '../../web/panel/panel.ts';
import type { Form } from '../../web/serve.ts';
import { stopsFirst } from '../../servers/pages/parts.ts';
import { planCard, updatesCard } from './changes.ts';
import { foundCard, installedCard, packCard } from './installed.ts';
import type { ModKind } from '../registries/registry.ts';
import { searchCard, takesOf } from './search.ts';
import { AddServerMod, ListServerMods, RemoveServerMod, SearchMods, UpdateServerMods } from '../api.ts';
import { AddServerPort } from '../../ports/api.ts';
import { SetModpack } from '../set-modpack.ts';

/**
 * A server's mods, plugins and pack. The page itself queries no registry, so that its automatic refresh causes no
 * requests; answers of registries are shown in the response to a form.
 */
export function mountModPages(panel: Panel): void {
  panel.serverPage({ path: '/mods', show: (request) => modsPage(request), forms: FORMS, done: DONE });
}

const DONE = {
  added: 'Installed. Restart a running server to load it.',
  removed: 'Removed. A running server keeps it until the next restart.',
  updated: 'Updates installed. Restart a running server to load them.',
  pack: 'Installing the pack. You can start the server when it’s done.',
  bedrock: 'Geyser, Floodgate and their port are installed. Restart a running server to load them.',
  packing: 'Backing up, then installing the pack. You can leave this page.',
};

const FORMS: NonNullable<PanelPage<ServerRequest>['forms']> = {
  async find(request, form) {
    const kind = text(form, 'kind') as ModKind;
    const source = sourceOf(form);
    const { version } = request.server;
    // A pack brings its own loader and version.
    const fit = kind === 'modpack' ? {} : { loader: takesOf(request.server)?.loader ?? '', version };
    const { projects } = await request.call(SearchMods, {}, { query: text(form, 'query'), source, kind, ...fit });
    const { mods } = await request.call(ListServerMods, { id: request.server.id });
    return await modsPage(request, { found: foundCard(request, projects, mods), asked: form });
  },
  async plan(request, form) {
    const wish = wishOf(form);
    const { changes = [] } = await request.call(AddServerMod, { id: request.server.id }, { ...wish, dryRun: true });
    return await modsPage(request, { found: planCard(request, wish, changes), asked: form });
  },
  async add({ call, server: { id } }, form) {
    await call(AddServerMod, { id }, wishOf(form));
    return 'added';
  },
  async bedrock({ call, server: { id } }) {
    for (const projectId of ['geyser', 'floodgate'])
      await call(AddServerMod, { id }, { projectId, source: 'modrinth', versionSpec: '' });
    await call(AddServerPort, { id }, { containerPort: 19_132, proto: 'udp', label: 'Bedrock', wakes: true });
    return 'bedrock';
  },
  async remove({ call, server: { id } }, form) {
    await call(RemoveServerMod, { id }, { projectId: text(form, 'projectId'), source: sourceOf(form) });
    return 'removed';
  },
  async updates(request) {
    const { changes } = await request.call(UpdateServerMods, { id: request.server.id }, { dryRun: true });
    const { mods } = await request.call(ListServerMods, { id: request.server.id });
    return await modsPage(request, { updates: updatesCard(request, mods, changes) });
  },
  async update({ call, server: { id } }, form) {
    await call(UpdateServerMods, { id }, { projectIds: form.getAll('projectId') });
    return 'updated';
  },
  async pack({ call, server: { id } }, form) {
    return await inShort(call(SetModpack, { id }, packOf(form)), 'pack', 'packing');
  },
};

/** Answers of a registry to a form, shown below it. */
interface Answers {
  updates?: Html;
  found?: Html;
  /** The submitted search. */
  asked?: Form;
}

async function modsPage(request: ServerRequest, { updates, found, asked }: Answers = {}): Promise<Page> {
  const { call, server, role } = request;
  const { mods } = await call(ListServerMods, { id: server.id });
  const mayChange = isAtLeast(role, 'member');
  const main = html`${updates} ${installedCard(request, mods, mayChange)} ${packCard(request, mayChange)}
  ${mayChange && searchCard(request, asked)} ${found} ${mayChange && bedrockCard(request)}`;
  return { title: 'Mods', main };
}

/** Offers Bedrock players the server, unless its core runs no Geyser or it has the port already. */
function bedrockCard(request: ServerRequest): Html | false {
  const { server } = request;
  if (takesOf(server) === undefined || server.ports.some(({ wakes }) => wakes)) return false;
  return html`<section class="card">
    <h2>Players on phones and consoles</h2>
    <p>
      Geyser lets players of the Bedrock edition join, and Floodgate lets them in without a Java account. They wake the
      server too, at a port of its own.
    </p>
    ${buttonForm(request, 'bedrock', 'Let Bedrock players join')}
  </section>`;
}

function wishOf(form: Form) {
  return {
    projectId: text(form, 'projectId'),
    source: sourceOf(form),
    versionSpec: text(form, 'versionSpec'),
  };
}

/** The pack's platform may be one that cannot be searched. */
function packOf(form: Form) {
  return {
    platform: text(form, 'source') || 'modrinth',
    ref: text(form, 'projectId'),
    version: text(form, 'versionSpec'),
    ...stopsFirst(form),
  };
}

/** Forms without a source use Modrinth. */
function sourceOf(form: Form): 'modrinth' | 'curseforge' {
  return form.get('source') === 'curseforge' ? 'curseforge' : 'modrinth';
}

function text(form: Form, field: string): string {
  return (form.get(field) ?? '').trim();
}
