import type { ReplyOf } from '../../http/operation.ts';
import { confirmed } from '../../web/form.ts';
import { type Html, html } from '../../web/html.ts';
import { type Filling, lineField } from '../../web/panel/fields.ts';
import { actionOf, addressOf, panelForm } from '../../web/panel/form.ts';
import type { ServerRequest } from '../../web/panel/panel.ts';
import { timeTag } from '../../web/panel/time.ts';
import { sizeText } from '../../web/text.ts';
import { apart, below, downloadOf, isEditable, pageOf, viewOf } from './paths.ts';
import type { ListFiles } from '../api.ts';

type Entry = ReplyOf<typeof ListFiles>['entries'][number];

const NAME_CHARS = 255;
const PATH_CHARS = 1_024;

/** The field for a new name. */
export function newFields(filled: Filling, label: string): Html {
  return lineField(filled, { name: 'name', label, maxlength: PATH_CHARS });
}

/**
 * The entries of a directory with links and checkboxes, and the actions for selected ones. `sizes`: whether sizes of
 * directories are known.
 */
export function tickedForm(request: ServerRequest, path: string, entries: readonly Entry[], sizes: boolean): Html {
  const isAll = request.sent === undefined && request.query.get('all') === '1';
  const kept = new Set(request.sent?.getAll('name'));
  // On Enter, browsers press the form's first button, whatever the field. This one does nothing.
  const content = html`<button type="submit" disabled hidden></button>
    <table class="rows entries">
      <thead>
        <tr>
          ${Object.keys(SORTS).map((sort) => heading(request, sort as Sort))}
          <th scope="col"><span class="unseen">Actions</span></th>
        </tr>
      </thead>
      <tbody>
        ${entries.map((entry) => row(request, path, entry, { isTicked: kept.has(entry.name) || isAll, sizes }))}
      </tbody>
    </table>
    <div class="ticked">
      <h3 data-ticked>Selected files</h3>
      <p class="unseen" role="status" data-ticked></p>
      ${actions(request, path)}
    </div>`;
  return panelForm(request, 'move', content);
}

/** Returns the sort order in a page's address, and whether it is reversed. */
export function orderOf({ query }: ServerRequest): { sort: (typeof SORTS)[Sort]['by']; descending: boolean } {
  const asked = query.get('sort') ?? '';
  return { sort: SORTS[isSort(asked) ? asked : ''].by, descending: query.get('down') === '1' };
}

/** The columns that can be sorted, by the parameter `sort`. `down`: the first click shows the largest first. */
const SORTS = {
  '': { label: 'Name', by: 'natural', down: false },
  size: { label: 'Size', by: 'size', down: true },
  time: { label: 'Changed', by: 'modifiedAt', down: true },
} as const;
type Sort = keyof typeof SORTS;

function isSort(text: string): text is Sort {
  return Object.hasOwn(SORTS, text);
}

function heading(request: ServerRequest, sort: Sort): Html {
  const { label, by, down } = SORTS[sort];
  const shown = orderOf(request);
  const isShown = shown.sort === by;
  const query = new URLSearchParams(request.query);
  for (const name of ['sort', 'down', 'from']) query.delete(name);
  if (sort !== '') query.set('sort', sort);
  if (isShown ? !shown.descending : down) query.set('down', '1');
  const all = html`<input type="checkbox" data-all data-scripted hidden aria-label="Select all on this page" />`;
  return html`<th scope="col" ${isShown && html`aria-sort="${shown.descending ? 'descending' : 'ascending'}"`}>
    ${sort === '' && all}<a href="${addressOf({ ...request, query })}">${label}</a>
  </th>`;
}

function row(
  request: ServerRequest,
  path: string,
  { name, isDir, size, modifiedAt }: Entry,
  { isTicked, sizes }: { isTicked: boolean; sizes: boolean },
): Html {
  const at = below(path, name);
  return html`<tr>
    <th scope="row">
      <span class="entry ${isDir ? 'folder' : 'file'}"
        ><input
          type="checkbox"
          name="name"
          value="${name}"
          aria-label="Select ${name}"
          ${isTicked && html`checked`}
        />${link(request, at, { name, isDir, size })}</span
      >
    </th>
    <td>${isDir && !sizes ? '' : sizeText(size)}</td>
    <td>${modifiedAt && timeTag(modifiedAt)}</td>
    <td>
      <a href="${pageOf(request, at, '/item')}">More<span class="unseen"> for ${name}</span></a>
    </td>
  </tr>`;
}

/** Opens a directory, edits a text file, downloads any other file. For a search result, also links to its directory. */
function link(request: ServerRequest, at: string, { name, isDir, size }: Pick<Entry, 'name' | 'isDir' | 'size'>): Html {
  const { directory, name: own } = apart(name);
  const shown = html`<bdi>${own}</bdi>`;
  const to = isDir
    ? html`<a href="${pageOf(request, at, '', viewOf(request))}">${shown}<span class="unseen"> (folder)</span></a>`
    : isEditable(own, Number(size))
      ? html`<a href="${pageOf(request, at, '/edit')}">${shown}</a>`
      : html`<a href="${downloadOf(request, at)}" download>${shown}</a>`;
  if (directory === '') return to;
  const folder = pageOf(request, apart(at).directory, '', viewOf(request));
  return html`<span
    >${to}
    <small
      >in <a href="${folder}"><bdi>${directory}</bdi></a></small
    ></span
  >`;
}

function actions(request: ServerRequest, path: string): Html {
  const to = (form: string) => html`formaction="${actionOf(request, form)}"`;
  return html`<div class="actions">
    <button class="second" type="submit" data-native ${to('download')}>Download</button>
    <details>
      <summary>Move…</summary>
      <div>
        <label for="to">Target folder</label>
        <input id="to" name="to" type="text" value="${request.sent?.get('to') ?? path}" maxlength="${PATH_CHARS}" />
        <p class="hint">Existing folder. Leave empty for the root.</p>
        <button type="submit">Move</button>
      </div>
    </details>
    <details>
      <summary>Compress…</summary>
      <div>
        <label for="archive">Archive name</label>
        <input
          id="archive"
          name="archive"
          type="text"
          value="${request.sent?.get('archive') ?? 'archive.zip'}"
          maxlength="${NAME_CHARS}"
        />
        <p class="hint">Ends in .zip, .tar, .tar.gz or .tar.zst.</p>
        <button type="submit" ${to('pack')}>Pack</button>
      </div>
    </details>
    ${confirmed(
      'This deletes all selected files and folders. Only a backup can restore them.',
      'Delete…',
      'selected',
      html`<button class="danger" type="submit" ${to('delete')}>Delete selected</button>`,
    )}
  </div>`;
}
