import { platformName } from '../../game/modpack-env.ts';
import { StatusError } from '../../kernel/status.ts';
import { type Html, html } from '../../web/html.ts';
import { choiceField, filling, lineField } from '../../web/panel/fields.ts';
import { panelForm } from '../../web/panel/form.ts';
import type { ServerRequest } from '../../web/panel/panel.ts';
import type { Form } from '../../web/serve.ts';
import { foldersOf } from '../choice.ts';
import type { ModKind } from '../registries/registry.ts';

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
  return html`<section class="card" data-folders="${kinds.map((kind) => `${kind}s`).join(' ')}">
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
