import { platformName } from '../../game/modpack-env.ts';
import type { ReplyOf } from '../../http/calls.ts';
import { confirmed } from '../../web/form.ts';
import { type Html, html } from '../../web/html.ts';
import { buttonForm } from '../../web/panel/form.ts';
import type { ServerRequest } from '../../web/panel/panel.ts';
import { plainName } from '../../web/text.ts';
import { type ServerMod, packText } from './installed.ts';

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
