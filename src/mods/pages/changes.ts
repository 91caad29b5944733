import type { ReplyOf } from '../../http/operation.ts';
import { hidden } from '../../web/form.ts';
import { type Html, html } from '../../web/html.ts';
import { filling, lineField } from '../../web/panel/fields.ts';
import { buttonForm, panelForm } from '../../web/panel/form.ts';
import type { ServerRequest } from '../../web/panel/panel.ts';
import type { ServerMod } from './installed.ts';
import type { UpdateServerMods } from '../api.ts';

type Change = ReplyOf<typeof UpdateServerMods>['changes'][number];

interface Wish {
  projectId: string;
  source: string;
  versionSpec: string;
}

/** Shows the changes of adding a mod, for confirmation. */
export function planCard(request: ServerRequest, wish: Wish, changes: readonly Change[]): Html {
  const { projectId, source, versionSpec } = wish;
  const mod = changes.find((each) => each.projectId === projectId);
  const name = mod?.name ?? projectId;
  const filled = filling(request, 'plan');
  return html`<section class="card">
    <h2>Add <bdi>${name}</bdi>?</h2>
    ${
      changes.length === 0
        ? html`<p>Already installed in this version.</p>`
        : html`<p>This will be installed. Restart a running server to load it.</p>
            ${changeList(changes)}`
    }
    <div class="actions">
      ${buttonForm(request, 'add', 'Add', { fields: { ...wish }, variant: '' })}
      <a class="button second" href="${request.here}">Not now</a>
    </div>
    <details>
      <summary>Another version</summary>
      ${panelForm(
        request,
        'plan',
        html`${hidden('projectId', projectId)}${hidden('source', source)}
          ${lineField(filled, {
            name: 'versionSpec',
            label: 'Version',
            hint: 'Empty for the newest compatible version. “beta” or “alpha” to include those. A version number to pin it.',
            value: versionSpec,
            maxlength: 128,
            required: false,
          })} <button class="second" type="submit">Check</button>`,
      )}
    </details>
  </section>`;
}

/** Shows the changes of updating everything, with buttons for all and for each mod. */
export function updatesCard(request: ServerRequest, mods: readonly ServerMod[], changes: readonly Change[]): Html {
  if (changes.length === 0) return html`<p class="note good" role="status">Everything is up to date.</p>`;
  const wished = mods.filter(({ dependency }) => !dependency);
  const single = changes.filter(({ projectId }) => wished.some((mod) => mod.projectId === projectId));
  return html`<section class="card">
    <h2>Updates</h2>
    ${changeList(changes)}
    <div class="actions">
      ${buttonForm(request, 'update', 'Update all', { variant: '' })}
      ${
        changes.length > 1 &&
        single.map(({ name, projectId }) =>
          buttonForm(request, 'update', html`Only <bdi>${name}</bdi>`, { fields: { projectId } }),
        )
      }
    </div>
  </section>`;
}

function changeList(changes: readonly Change[]): Html {
  return html`<ul>
    ${changes.map(({ name, from, to }) => html`<li><bdi>${name}</bdi> ${changeText(from, to)}</li>`)}
  </ul>`;
}

function changeText(from: string, to: string): string {
  if (from === '') return `${to} will be added`;
  return to === '' ? `${from} will be removed` : `${from} → ${to}`;
}
