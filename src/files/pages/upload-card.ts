import { BROWSER_PREFIX } from '../../http/session/browser-mount.ts';
import { csrfField } from '../../web/form.ts';
import { type Html, html } from '../../web/html.ts';
import { filling, tickField } from '../../web/panel/fields.ts';
import { actionOf } from '../../web/panel/form.ts';
import type { ServerRequest } from '../../web/panel/panel.ts';

/** Uploads by drag and drop or file selection. Without scripts, by a form. */
export function uploadCard(request: ServerRequest, path: string): Html {
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
