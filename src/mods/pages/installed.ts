import { softwareName, softwareText } from '../../game/cores.ts';
import { platformName } from '../../game/modpack-env.ts';
import type { ReplyOf } from '../../http/operation.ts';
import { confirmed } from '../../web/form.ts';
import { type Html, html } from '../../web/html.ts';
import { buttonForm } from '../../web/panel/form.ts';
import type { ServerRequest } from '../../web/panel/panel.ts';
import { plainName } from '../../web/text.ts';
import { isStoppedForIt } from '../../servers/pages/parts.ts';
import { takesOf, titleOf } from './search.ts';
import type { ListServerMods, SearchMods } from '../api.ts';

export type ServerMod = ReplyOf<typeof ListServerMods>['mods'][number];

/** The mods added here, with their dependencies. */
export function installedCard(request: ServerRequest, mods: readonly ServerMod[], mayChange: boolean): Html {
  const { server } = request;
  const title = titleOf(server);
  return html`<section class="card" data-live="mods">
    <div class="heading">
      <h2>${title}</h2>
      ${mayChange && mods.length > 0 && buttonForm(request, 'updates', 'Check for updates')}
    </div>
    <p>
      Mods added here. Files from a pack or uploads are under
      <a href="/servers/${server.id}/files">files</a>.
    </p>
    ${
      mods.length > 0
        ? html`<ul class="list">
            ${mods.map((mod) => modItem(request, mod, mayChange))}
          </ul>`
        : html`<p class="empty">
            ${
              takesOf(server)
                ? 'No mods yet.'
                : html`${softwareName(server.type)} doesn’t support mods or plugins. Paper runs plugins. Fabric and
                    NeoForge run mods: <a href="/servers/${server.id}/settings/version">change the software</a>.`
            }
          </p>`
    }
  </section>`;
}

/** The server's pack, if it has one. */
export function packCard(request: ServerRequest, mayChange: boolean): Html | false {
  const { server } = request;
  const { modpackPlatform: source, modpackRef: ref, modpackVersion: version } = server;
  if (source === '') return false;
  const backups = html`<a href="/servers/${server.id}/backups">backup</a>`;
  return html`<section class="card" data-live="pack">
    <h2>Mod pack</h2>
    <p>
      <bdi>${ref}</bdi> from ${platformName(source)}${version !== '' && html`, version <code>${version}</code>`}. It
      sets the server’s software: ${softwareText(server)}.
    </p>
    <p>To remove it, restore the ${backups} made before it was installed.</p>
    ${
      mayChange &&
      confirmed(
        packText(request),
        'Install newest version…',
        '',
        buttonForm(request, 'pack', 'Install', {
          fields: { source, projectId: ref, versionSpec: '', ...stopping(request) },
          variant: 'danger',
        }),
      )
    }
  </section>`;
}

/** Returns the hidden field of a pack's form while the server is awake. */
function stopping(request: ServerRequest): Record<string, string> {
  return isStoppedForIt(request) ? { stopFirst: 'true' } : {};
}

/** Returns the effects of installing a pack. */
function packText(request: ServerRequest): string {
  const { server } = request;
  const stops = isStoppedForIt(request) ? ' The server stops for it, which disconnects players, and stays asleep.' : '';
  const before =
    server.modpackPlatform === '' ? '' : ' This replaces the files of the current pack, except those changed since.';
  return `If there is a world, we back it up first. Then the pack’s files are installed, and the server switches to the pack’s loader and Minecraft version instead of ${softwareText(server)}.${before}${stops}`;
}

function modItem(request: ServerRequest, mod: ServerMod, mayChange: boolean): Html {
  const { name, projectId, source, version, versionSpec, file, dependency } = mod;
  const fields = { projectId, source };
  return html`<li id="mod-${source}-${projectId}">
    <h3><bdi>${name}</bdi> ${dependency && html`<span class="tag">required by another mod</span>`}</h3>
    <p>${version} · ${platformName(source)} · <code>${file}</code>${specText(versionSpec)}</p>
    ${
      mayChange &&
      !dependency &&
      html`<div class="actions">
        ${confirmed(
          'This also removes dependencies that nothing else needs. Its settings and changes to the world stay.',
          'Remove…',
          name,
          buttonForm(request, 'remove', 'Remove', { fields, variant: 'danger' }),
        )}
      </div>`
    }
  </li>`;
}

function specText(versionSpec: string): string {
  if (versionSpec === '' || versionSpec === 'release') return '';
  if (versionSpec === 'beta' || versionSpec === 'alpha') return ` · ${versionSpec} versions`;
  return ' · stays at this version';
}

type Project = ReplyOf<typeof SearchMods>['projects'][number];

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
    buttonForm(request, 'pack', 'Install', { fields: { ...fields, ...stopping(request) }, variant: 'danger' }),
  );
}
