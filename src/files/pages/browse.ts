import type { ReplyOf } from '../../http/operation.ts';
import { BROWSER_PREFIX } from '../../http/session/browser-mount.ts';
import { StatusError } from '../../kernel/status.ts';
import { KIB } from '../../kernel/units.ts';
import { ASSETS } from '../../web/assets.ts';
import { csrfField, hidden } from '../../web/form.ts';
import { type Html, html } from '../../web/html.ts';
import type { Page } from '../../web/page-request.ts';
import { filling, tickField } from '../../web/panel/fields.ts';
import { actionOf, addressOf, panelForm } from '../../web/panel/form.ts';
import type { Panel, ServerRequest } from '../../web/panel/panel.ts';
import { countText } from '../../web/text.ts';
import { BROWSE_DONE, BROWSE_FORMS } from './browse-forms.ts';
import { newFields, orderOf, tickedForm } from './listing-view.ts';
import { apart, downloadOf, pageOf, pathOf, viewOf } from './paths.ts';
import { type SftpLogin, sftpCard } from './sftp-card.ts';
import { ListFiles } from '../api.ts';
import { DisableSftp, EnableSftp, RotateSftpPassword } from '../../sftp/api.ts';

/** Entries per page, which stays below 100 KB with its scripts and styles. */
const MOST = 60;
/** Search results per page, whose names are paths. */
const MOST_FOUND = 30;
const FIND_CHARS = 100;
/** Room for the longest names of a page's entries, encoded. */
const FORM_BYTES = 256 * KIB;
const NO_FOLDER = new Set(['PATH_NOT_FOUND', 'NOT_A_DIRECTORY']);

/** Browses a server's files, one directory at a time. */
export function mountBrowse(panel: Panel): void {
  const secret = (operation: typeof EnableSftp) => async (request: ServerRequest) =>
    browsePage(request, await request.call(operation, { id: request.server.id }));
  panel.serverPage({
    path: '/files',
    show: (request) => browsePage(request),
    forms: {
      ...BROWSE_FORMS,
      'sftp-on': secret(EnableSftp),
      'sftp-password': secret(RotateSftpPassword),
      async 'sftp-off'({ call, server }) {
        await call(DisableSftp, { id: server.id });
        return 'sftpOff';
      },
    },
    formBytes: FORM_BYTES,
    done: BROWSE_DONE,
    streamed: ['upload'],
  });
}

async function browsePage(request: ServerRequest, login?: SftpLogin): Promise<Page> {
  const { call, server, query } = request;
  const path = pathOf(request);
  const find = (query.get('find') ?? '').slice(0, FIND_CHARS);
  const offset = Math.max(0, Math.floor(Number(query.get('from')) || 0));
  const [recursive, sizes] = [find !== '' && query.get('below') === '1', query.get('sizes') === '1'];
  const order = { directoriesFirst: !recursive, ...orderOf(request) };
  const limit = recursive ? MOST_FOUND : MOST;
  const part = { limit, offset, contains: find, recursive, sizes, ...order };
  const listing = await call(ListFiles, { id: server.id }, { path, ...part }).catch((error: unknown) => {
    if (path !== '' && error instanceof StatusError && NO_FOLDER.has(error.reason)) return undefined;
    throw error;
  });
  if (!listing) return noFolderPage(request, path);
  const main = html`<section
      class="card flush files"
      id="entries"
      ${(recursive || sizes) && html`data-refresh="${pageOf(request, path)}"`}
    >
      <div class="bar">
        <h2>${crumbs(request, path)}</h2>
        ${tools(request, path, find, listing.total)}
      </div>
      ${listing.truncated && html`<p class="note warn">${incomplete(recursive)}</p>`}
      ${
        listing.entries.length === 0
          ? html`<p class="empty">${nothing(server.type, path, find, listing.total)}</p>`
          : tickedForm(request, path, listing.entries, sizes)
      }
      ${pager(request, { offset, limit }, listing)}
    </section>
    ${newCard(request)} ${uploadCard(request, path)} ${await sftpCard(request, login)}`;
  return {
    title: apart(path).name || 'Files',
    main,
    styles: [ASSETS.filesStyle],
    scripts: [ASSETS.filesScript],
  };
}

/** The page for a folder that was renamed or deleted, with links to its parents. */
function noFolderPage(request: ServerRequest, path: string): Page {
  const main = html`<section class="card files">
    <h2>${crumbs(request, path)}</h2>
    <p class="empty">This folder doesn’t exist.</p>
    <p><a class="button second" href="${pageOf(request, '')}">All files</a></p>
  </section>`;
  return { title: 'Files', main, styles: [ASSETS.filesStyle], status: 404 };
}

function nothing(type: string, path: string, find: string, total: number): string {
  if (total > 0) return 'No more files.';
  if (find !== '') return 'No matches.';
  if (path !== '') return 'This folder is empty.';
  if (type === 'sandbox') return 'Empty. Files are created at the first start.';
  return 'Empty. Files are created at the first start. If the server needs a jar, upload it here first.';
}

/** Explains an answer that is `truncated`. */
function incomplete(recursive: boolean): string {
  return recursive
    ? 'This folder is too large to search completely, so there may be more matches. Search in a subfolder, or for a longer name.'
    : 'This folder is too large to count completely, so folders may be larger than shown. Count in a subfolder.';
}

/** Shows a path with links to the parent directories. */
export function crumbs(request: ServerRequest, path: string): Html {
  const names = path === '' ? [] : path.split('/');
  const parts = ['Files', ...names].map((name, depth) => {
    const shown = html`<bdi>${name}</bdi>`;
    return depth === names.length
      ? shown
      : html`<a href="${pageOf(request, names.slice(0, depth).join('/'), '', viewOf(request))}">${shown}</a>
          <span class="slash">/</span> `;
  });
  return html`<span class="crumbs">${parts}</span>`;
}

function tools(request: ServerRequest, path: string, find: string, total: number): Html {
  const [allTicked, sized] = ['all', 'sizes'].map((name) => new URLSearchParams([...request.query, [name, '1']]));
  const isBelow = find === '' || request.query.get('below') === '1';
  return html`<form class="find" method="get" action="${request.here}">
      ${path !== '' && hidden('path', path)}
      ${Object.entries(viewOf(request)).map(([name, value]) => hidden(name, value))}
      <label for="find">Search by name</label>
      <input id="find" name="find" type="text" value="${find}" maxlength="${FIND_CHARS}" autocomplete="off" />
      <label class="tick"
        ><input type="checkbox" name="below" value="1" ${isBelow && html`checked`} /><span>Subfolders too</span></label
      >
      <button class="second" type="submit">Find</button>
    </form>
    <p class="soft">
      ${countText(total, 'entry', 'entries')}${find !== '' && html` · <a href="${pageOf(request, path, '', viewOf(request))}">Show all</a>`}
      ·
      <a href="${downloadOf(request, path)}" download>Download folder as zip</a>
      ${request.query.get('sizes') !== '1' && html`· <a href="${addressOf({ ...request, query: sized! })}">Show folder sizes</a>`}
      <span data-plain>· <a href="${addressOf({ ...request, query: allTicked! })}">Select all</a></span>
    </p>`;
}

function pager(
  request: ServerRequest,
  { offset, limit }: { offset: number; limit: number },
  { entries, total }: ReplyOf<typeof ListFiles>,
): Html | false {
  if (total <= limit && offset === 0) return false;
  const to = (from: number) => {
    const query = new URLSearchParams(request.query);
    query.set('from', String(from));
    return addressOf({ ...request, query });
  };
  const last = Math.max(0, Math.ceil(total / limit) - 1) * limit;
  return html`<nav class="pager" aria-label="Parts of this folder">
    ${
      offset > 0 &&
      html`<a class="button second" href="${to(0)}">First</a>
        <a class="button second" href="${to(Math.max(0, Math.min(last, offset - limit)))}">Back</a>`
    }
    <span>${entries.length === 0 ? 'None' : `${offset + 1}–${offset + entries.length}`} of ${total}</span>
    ${
      offset + entries.length < total &&
      html`<a class="button second" href="${to(offset + limit)}">Next</a>
        <a class="button second" href="${to(last)}">Last</a>`
    }
  </nav>`;
}

function newCard(request: ServerRequest): Html {
  const [folder, file] = ['folder', 'file'].map((form) => filling(request, form));
  return html`<section class="card">
    <h2>New</h2>
    <div class="two">
      ${panelForm(request, 'folder', html`${newFields(folder!, 'Folder')}<button class="second" type="submit">Create folder</button>`)}
      ${panelForm(request, 'file', html`${newFields(file!, 'Text file')}<button class="second" type="submit">Create file…</button>`)}
    </div>
  </section>`;
}

/** Uploads by drag and drop or file selection. Without scripts, by a form. */
function uploadCard(request: ServerRequest, path: string): Html {
  const { server, csrf } = request;
  return html`<section
    class="card drop"
    data-upload="${BROWSER_PREFIX}/v1/servers/${server.id}/file:upload"
    data-path="${path}"
  >
    <h2>Upload</h2>
    <form data-plain method="post" action="${actionOf(request, 'upload')}" enctype="multipart/form-data">
      ${csrfField(csrf)}
      ${tickField(filling(request, 'upload'), { name: 'overwrite', label: 'Replace existing files', on: false })}
      <div class="field">
        <label for="upload">Files</label>
        <input id="upload" name="file" type="file" multiple required />
      </div>
      <button type="submit">Upload</button>
    </form>
    <div data-scripted hidden>
      <p>Drop files and folders anywhere on this page, or choose them.</p>
      <div class="actions">
        <button class="second" type="button" data-choose="files">Choose files</button>
        <button class="second" type="button" data-choose="folder">Choose a folder</button>
      </div>
      <input type="file" data-files multiple hidden aria-label="Files to upload" />
      <input type="file" data-folder webkitdirectory hidden aria-label="Folder to upload" />
      <div data-uploads data-keep id="uploads"></div>
    </div>
  </section>`;
}
