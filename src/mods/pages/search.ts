import { platformName } from '../../game/modpack-env.ts';
import type { ReplyOf } from '../../http/calls.ts';
import { StatusError } from '../../kernel/status.ts';
import { confirmed } from '../../web/form.ts';
import { type Html, html } from '../../web/html.ts';
import { choiceField, filling, lineField } from '../../web/panel/fields.ts';
import { buttonForm, panelForm } from '../../web/panel/form.ts';
import type { ServerRequest } from '../../web/panel/panel.ts';
import type { Form } from '../../web/serve.ts';
import { plainName } from '../../web/text.ts';
import { foldersOf } from '../choice.ts';
import type { ModKind } from '../registries/registries.ts';
import { type ServerMod, packText } from './installed.ts';

/** Registries that can be searched. */
const SOURCES = ['modrinth', 'curseforge'];

/** Returns what a server's software loads: `kinds` as the registries name them, and the loader to search for. */
export function takesOf(server: { type: string; version: string }): { kinds: ModKind[]; loader: string } | undefined {
  try {
    const folders = foldersOf(server);
    const kinds = folders.map(({ path }): ModKind => (path === 'plugins' ? 'plugin' : 'mod'));
    return { kinds, loader: folders[0]?.loaders[0] ?? '' };
  } catch (error) {
    if (error instanceof StatusError) return undefined;
    throw error;
  }
}

/** Returns the title for what a server's software loads: `Mods`, `Plugins` or `Mods and plugins`. */
export function titleOf(server: { type: string; version: string }): string {
  const kinds = takesOf(server)?.kinds ?? ['mod'];
  if (kinds.length > 1) return 'Mods and plugins';
  return kinds[0] === 'plugin' ? 'Plugins' : 'Mods';
}

/** The search form. `asked`: the last search. */
export function searchCard(request: ServerRequest, asked: Form | undefined): Html {
  const { server } = request;
  const filled = filling(request, 'find');
  const kinds = takesOf(server)?.kinds ?? [];
  const options: (readonly [string, string])[] = [
    ...(kinds.includes('mod') ? [['mod', 'Mods'] as const] : []),
    ...(kinds.includes('plugin') ? [['plugin', 'Plugins'] as const] : []),
    ...(server.type === 'sandbox' ? [] : [['modpack', 'Mod packs'] as const]),
  ];
  if (options.length === 0) return html``;
  const last = (field: string, otherwise: string) => asked?.get(field) ?? otherwise;
  return html`<section class="card">
    <h2>Find more</h2>
    ${panelForm(
      request,
      'find',
      html`<div class="side">
          ${lineField(filled, {
            name: 'query',
            label: 'Search by name',
            value: last('query', ''),
            maxlength: 128,
            required: false,
          })}
          ${choiceField(filled, { name: 'kind', label: 'Kind', value: last('kind', options[0]?.[0] ?? ''), options })}
          ${choiceField(filled, {
            name: 'source',
            label: 'From',
            value: last('source', 'modrinth'),
            options: SOURCES.map((source) => [source, platformName(source)]),
          })}
        </div>
        <button type="submit">Search</button>`,
    )}
  </section>`;
}

type Project = ReplyOf<'SearchMods'>['projects'][number];

const COUNT = new Intl.NumberFormat('en', { notation: 'compact' });

/** Search results with their actions. The page loads no pictures from registries. */
export function foundCard(request: ServerRequest, projects: readonly Project[], mods: readonly ServerMod[]): Html {
  return html`<section class="card">
    <h2>Results</h2>
    ${
      projects.length === 0
        ? html`<p class="empty">No compatible results.</p>`
        : html`<ul class="list">
            ${projects.map((project) => projectItem(request, project, mods))}
          </ul>`
    }
  </section>`;
}

function projectItem(request: ServerRequest, project: Project, mods: readonly ServerMod[]): Html {
  const { projectId, source, kind, description, author, downloads } = project;
  const name = plainName(project.name) || projectId;
  const mod = mods.find((each) => each.projectId === projectId && each.source === source);
  return html`<li>
    <h3><bdi>${name}</bdi> ${mod && html`<span class="tag good">installed, ${mod.version}</span>`}</h3>
    <p>
      <bdi>${plainName(description, 300)}</bdi>
      <small
        >by <bdi>${plainName(author)}</bdi> · ${COUNT.format(Number(downloads))} downloads ·
        ${platformName(source)}</small
      >
    </p>
    <div class="actions">
      ${kind === 'modpack' ? packForm(request, project, name) : planForm(request, project, name, mod !== undefined)}
    </div>
  </li>`;
}

function planForm(request: ServerRequest, { projectId, source }: Project, name: string, isHere: boolean): Html {
  const label = html`${isHere ? 'Change' : 'Add'}…<span class="unseen"> ${name}</span>`;
  return buttonForm(request, 'plan', label, { fields: { projectId, source } });
}

function packForm(request: ServerRequest, { projectId, slug, source }: Project, name: string): Html {
  const fields = { projectId: slug || projectId, source, versionSpec: '' };
  return confirmed(
    packText(request),
    'Install…',
    name,
    buttonForm(request, 'pack', 'Install', { fields, variant: 'danger' }),
  );
}
