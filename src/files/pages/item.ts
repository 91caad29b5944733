import type { ReplyOf } from '../../http/operation.ts';
import { StatusError } from '../../kernel/status.ts';
import { ASSETS } from '../../web/assets.ts';
import { confirmed } from '../../web/form.ts';
import { type Html, html } from '../../web/html.ts';
import type { Page } from '../../web/page-request.ts';
import { filling, lineField, tickField } from '../../web/panel/fields.ts';
import { buttonForm, panelForm } from '../../web/panel/form.ts';
import { inShort } from '../../web/panel/in-short.ts';
import type { Panel, ServerRequest } from '../../web/panel/panel.ts';
import { timeTag } from '../../web/panel/time.ts';
import { sizeText } from '../../web/text.ts';
import { inFolder, nameIn } from './browse-forms.ts';
import { crumbs } from './browse.ts';
import { apart, downloadOf, isArchive, isEditable, pageOf, pathOf } from './paths.ts';
import { CopyPath, DeletePath, ListFiles, RenamePath } from '../api.ts';
import { ExtractArchive } from '../transfers-api.ts';

type Entry = ReplyOf<typeof ListFiles>['entries'][number];

const PATH_CHARS = 1_024;
/** Most names containing the wanted one that are fetched to find it. */
const MOST_ALIKE = 1_000;

/** The actions for one file or directory. */
export function mountItem(panel: Panel): void {
  panel.serverPage({
    path: '/files/item',
    show: itemPage,
    forms: {
      async rename(request, form) {
        const to = nameIn(form, 'to');
        await request.call(RenamePath, { id: request.server.id }, { from: pathOf(request), to }).catch(inFolder(to));
        return { to: pageOf(request, apart(to).directory, '', { done: 'renamed' }) };
      },
      async copy(request, form) {
        const to = nameIn(form, 'to');
        const copying = request
          .call(CopyPath, { id: request.server.id }, { from: pathOf(request), to })
          .catch(inFolder(to));
        return { to: pageOf(request, apart(to).directory, '', { done: await inShort(copying, 'copied', 'copying') }) };
      },
      async extract(request, form) {
        const [path, to] = [pathOf(request), form.get('to') ?? ''];
        const what = { path, to, overwrite: form.get('overwrite') === 'true' };
        const extracting = request.call(ExtractArchive, { id: request.server.id }, what).catch(inTheWay);
        const done = await inShort(extracting, 'extracted', 'extracting');
        return { to: pageOf(request, done === 'extracted' ? to : apart(path).directory, '', { done }) };
      },
      async delete(request) {
        const path = pathOf(request);
        await request.call(DeletePath, { id: request.server.id }, { path });
        return { to: pageOf(request, apart(path).directory, '', { done: 'deleted' }) };
      },
    },
  });
}

async function itemPage(request: ServerRequest): Promise<Page> {
  const path = pathOf(request);
  const { name } = apart(path);
  const entry = await entryAt(request, path);
  const head = html`<h2>${crumbs(request, path)}</h2>`;
  const main = entry
    ? itemCards(request, path, entry, head)
    : html`<section class="card files">
        ${head}
        <p class="empty">This no longer exists.</p>
      </section>`;
  return { title: name || 'Files', main, styles: [ASSETS.filesStyle] };
}

function itemCards(request: ServerRequest, path: string, entry: Entry, head: Html): Html {
  const { name, isDir } = entry;
  return html`<section class="card files">
      ${head} ${facts(entry)}
      <div class="actions">
        ${isDir && html`<a class="button" href="${pageOf(request, path)}">Open</a>`}
        ${
          !isDir &&
          isEditable(name, Number(entry.size)) &&
          html`<a class="button" href="${pageOf(request, path, '/edit')}">Edit</a>`
        }
        <a class="button second" href="${downloadOf(request, path)}" download
          >${isDir ? 'Download as zip' : 'Download'}</a
        >
      </div>
    </section>
    ${!isDir && isArchive(name) && extractCard(request, path)}
    <section class="card">
      <h2>Rename, move or copy</h2>
      <div class="two">
        ${toForm(request, 'rename', 'Rename or move to', path, 'Rename')}
        ${toForm(request, 'copy', 'Copy to', copyName(path), 'Copy')}
      </div>
      <p class="hint">Paths start at the server’s root folder. The target must not exist.</p>
    </section>
    <section class="card">
      <h2>Delete</h2>
      ${confirmed(
        `${isDir ? 'This deletes the folder and everything in it.' : 'This deletes the file.'} Only a backup can restore it.`,
        'Delete…',
        name,
        buttonForm(request, 'delete', html`Delete <bdi>${name}</bdi>`, { variant: 'danger' }),
      )}
    </section>`;
}

async function entryAt({ call, server }: ServerRequest, path: string): Promise<Entry | undefined> {
  const { directory, name } = apart(path);
  const alike = { path: directory, contains: name, limit: MOST_ALIKE };
  const { entries } = await call(ListFiles, { id: server.id }, alike);
  return entries.find((entry) => entry.name === name);
}

function facts({ isDir, size, modifiedAt }: Entry): Html {
  return html`<dl class="facts">
    <div>
      <dt>Type</dt>
      <dd>${isDir ? 'Folder' : `File, ${sizeText(size)}`}</dd>
    </div>
    <div>
      <dt>Changed</dt>
      <dd>${modifiedAt && timeTag(modifiedAt)}</dd>
    </div>
  </dl>`;
}

/** Rewords the error for a file in the way: an archive must not replace files without permission. */
function inTheWay(error: unknown): never {
  if (!(error instanceof StatusError) || error.reason !== 'PATH_EXISTS') throw error;
  const path = error.options.metadata?.['path'] ?? '';
  const sentence = `Nothing was extracted: ${path} already exists. Choose another folder, or allow replacing files.`;
  throw new StatusError('ALREADY_EXISTS', 'PATH_EXISTS', sentence, { cause: error });
}

function extractCard(request: ServerRequest, path: string): Html {
  const { directory, name } = apart(path);
  const to = `${directory === '' ? '' : `${directory}/`}${name.replace(/\.(?:tar\.)?\w+$/, '')}`;
  const filled = filling(request, 'extract');
  const field = { name: 'to', label: 'Target folder', value: to, maxlength: PATH_CHARS, required: false };
  return html`<section class="card">
    <h2>Extract</h2>
    ${panelForm(
      request,
      'extract',
      html`${lineField(filled, {
          ...field,
          hint: 'Created if missing. Empty for the root folder.',
        })}
        ${tickField(filled, { name: 'overwrite', label: 'Replace existing files', on: false })}<button type="submit">
          Extract
        </button>`,
    )}
  </section>`;
}

function toForm(request: ServerRequest, form: string, label: string, value: string, button: string): Html {
  const field = lineField(filling(request, form), { name: 'to', label, value, maxlength: PATH_CHARS });
  return panelForm(request, form, html`${field}<button class="second" type="submit">${button}</button>`);
}

/** Returns a name for a copy: `plugins/maps copy.yml`. */
function copyName(path: string): string {
  return path.replace(/(\.[^./]*)?$/, ' copy$1');
}
