import { BROWSER_PREFIX } from '../../http/session/browser-mount.ts';
import { type Html, html } from '../../web/html.ts';
import type { ServerRequest } from '../../web/panel/panel.ts';

/** Where files are dropped or chosen. A form without a script cannot send files of any length, so it says what can. */
export function uploadCard({ server }: ServerRequest, path: string): Html {
  return html`<section
    class="card drop"
    data-upload="${BROWSER_PREFIX}/v1/servers/${server.id}/file:upload"
    data-path="${path}"
  >
    <h2>Upload</h2>
    <p data-plain>
      Uploading on this page needs JavaScript. Without it, upload over SFTP (see below), or with
      <a href="/docs#UploadFile">the API</a>.
    </p>
    <div data-scripted hidden>
      <p>
        Drop files and folders anywhere on this page, or choose them. Existing files are only replaced if you say so.
      </p>
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
