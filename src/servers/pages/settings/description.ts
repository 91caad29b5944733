import { createHash } from 'node:crypto';
import { parseMotd } from '../../../game/motd/motd.ts';
import { DEFAULT_MAX_PLAYERS, DEFAULT_MOTD } from '../../../game/properties/properties.ts';
import { invalidFields } from '../../../http/errors.ts';
import { BROWSER_PREFIX } from '../../../http/session/browser-mount.ts';
import { KIB, MIB } from '../../../kernel/units.ts';
import { entryHtml } from '../list-entry.ts';
import { unlessRefused } from '../parts.ts';
import { SAVED, settingsPage } from './frame.ts';
import { ASSETS } from '../../../web/assets.ts';
import { confirmed, csrfField } from '../../../web/form.ts';
import { type Html, html } from '../../../web/html.ts';
import type { Page } from '../../../web/page-request.ts';
import { filling, linesField } from '../../../web/panel/fields.ts';
import { actionOf, buttonForm, panelForm } from '../../../web/panel/form.ts';
import type { Panel, ServerRequest } from '../../../web/panel/panel.ts';
import type { Form } from '../../../web/serve.ts';
import { sizeText } from '../../../web/text.ts';
import { DeletePath, ReadFile, WriteFile } from '../../../files/api.ts';
import { SetServerMotd } from '../../api/settings.ts';

/** Settings of the server's entry in the server list. */
export function mountDescriptionSettings(panel: Panel): void {
  panel.serverPage({
    path: '/settings/description',
    formBytes: MOST_SENT_BYTES,
    show: (request) => descriptionPage(request, request.server.motd),
    forms: {
      async save({ call, server: { id } }, form) {
        await call(SetServerMotd, { id }, { motd: motdIn(form) });
        return 'saved';
      },
      /** Stores nothing. With scripts, the page requests it while the user types. */
      preview: (request, form) => descriptionPage({ ...request, failed: 'save', sent: form }, motdIn(form)),
      icon: saveIcon,
      'icon-remove': removeIcon,
    },
    done: {
      ...SAVED,
      icon: 'Saved. The server list shows it after the next start.',
      gone: 'Icon removed. The server list updates after the next start.',
    },
  });
}

async function descriptionPage(request: ServerRequest, motd: string): Promise<Page> {
  const field = {
    name: 'motd',
    label: 'Description',
    hint: html`Two lines at most. Colours as <code>&lt;gold&gt;</code>, <code>&lt;#ff8800&gt;</code>,
      <code>&lt;gradient:#f3b183:#5b4487&gt;…&lt;/gradient&gt;</code> or <code>§6</code>; also
      <code>&lt;bold&gt;</code> and <code>&lt;italic&gt;</code>.`,
    value: motd,
    maxlength: MOTD_CHARS,
    rows: 2,
  };
  const icon = await iconOf(request);
  const cards = html`<section class="card">
      <h2>Description</h2>
      <p>
        Shown in the server list; a running game shows it after a restart. While the server is asleep, the first line is
        shown above its status, unless you set another text under
        <a href="/servers/${request.server.id}/settings/joining">Joining</a>.
      </p>
      ${entryHtml(request.server.name, icon, {
        description: parseMotd(motd || DEFAULT_MOTD),
        playersOnline: 0,
        playersMax: Number(request.server.properties['max-players'] ?? DEFAULT_MAX_PLAYERS),
      })}
      ${panelForm(
        request,
        'save',
        html`${linesField(filling(request, 'save'), field)}
          <div class="actions">
            <button type="submit">Save the description</button>
            <button
              class="second"
              type="submit"
              formaction="${actionOf(request, 'preview')}"
              formnovalidate
              data-preview="entry"
            >
              Preview
            </button>
          </div>`,
      )}
    </section>
    ${iconCard(request, icon)}`;
  const page = settingsPage(request, 'Description and icon', cards);
  return { ...page, scripts: [ASSETS.preview, ASSETS.iconScript] };
}

const MOTD_CHARS = 1_024;

/** Converts the line ends of forms (HTML §4.10.22.4) to those of games. */
function motdIn(form: Form): string {
  return (form.get('motd') ?? '').replaceAll('\r\n', '\n').replace(/(?<!\n)\n+$/, '');
}

/** The icon's path in the game (minecraft.wiki Server.properties, server-icon.png). */
const FILE = 'server-icon.png';
const PIXELS = 64;
const MOST_BYTES = 30 * KIB;
/** Upload limit, large enough for a picture straight from a camera: the most common mistake gets a helpful answer. */
export const MOST_SENT_BYTES = 8 * MIB;
const PNG = Buffer.from('89504e470d0a1a0a', 'hex');
/** Offset of width and height in a PNG: after its signature and the first chunk's length and type (PNG §11.2.1). */
const SIZE_AT = 16;

/** The icon in the server list; a change applies from the next start. */
function iconCard(request: ServerRequest, icon: string | undefined): Html {
  const wrong = filling(request, 'icon').wrong('icon');
  return html`<section class="card">
    <h2>Icon</h2>
    <p>
      Shown in the server list after the next start. PNG, 64 × 64 pixels, at most 30 KB.
      <span data-scripted hidden>Other images are resized.</span>
    </p>
    ${
      icon === undefined
        ? html`<p class="empty">No icon yet.</p>`
        : html`<p><img class="icon" src="${icon}" alt="The icon now" width="64" height="64" /></p>`
    }
    <form method="post" action="${actionOf(request, 'icon')}" enctype="multipart/form-data">
      ${csrfField(request.csrf)}
      <div class="field">
        <label for="icon">Picture</label>
        ${wrong !== undefined && html`<p class="wrong" id="icon-wrong">${wrong}</p>`}
        <input
          id="icon"
          name="icon"
          type="file"
          data-icon
          accept="image/png"
          required
          ${wrong !== undefined && html`aria-invalid="true" aria-describedby="icon-wrong"`}
        />
      </div>
      <button type="submit">Upload the icon</button>
    </form>
    ${
      icon !== undefined &&
      confirmed(
        'This deletes the icon file. Only a backup or a new upload can restore it.',
        'Remove the icon…',
        '',
        buttonForm(request, 'icon-remove', 'Yes, remove it', { variant: 'danger' }),
      )
    }
  </section>`;
}

async function saveIcon({ call, server: { id } }: ServerRequest, form: Form): Promise<string> {
  const picture = form.files?.get('icon') ?? Buffer.alloc(0);
  const wrong = wrongIcon(picture);
  if (wrong !== undefined) throw invalidFields([{ field: 'icon', description: wrong }]);
  await call(WriteFile, { id }, { path: FILE, content: picture.toString('base64') });
  return 'icon';
}

async function removeIcon({ call, server: { id } }: ServerRequest): Promise<string> {
  await call(DeletePath, { id }, { path: FILE });
  return 'gone';
}

/** Returns the address of the current icon; undefined without one. */
async function iconOf({ call, server: { id } }: ServerRequest): Promise<string | undefined> {
  const file = await unlessRefused(call(ReadFile, { id }, { path: FILE }), undefined);
  if (file === undefined) return undefined;
  const version = createHash('sha256').update(file.content).digest('hex').slice(0, 12);
  return `${BROWSER_PREFIX}/v1/servers/${id}/file:download?path=${FILE}&version=${version}`;
}

function wrongIcon(picture: Buffer): string | undefined {
  if (!picture.subarray(0, PNG.length).equals(PNG) || picture.length < SIZE_AT + 8) return 'must be a PNG';
  const [width, height] = [picture.readUInt32BE(SIZE_AT), picture.readUInt32BE(SIZE_AT + 4)];
  if (width !== PIXELS || height !== PIXELS)
    return `must be ${PIXELS} × ${PIXELS} pixels; this one has ${width} × ${height}`;
  if (picture.length <= MOST_BYTES) return undefined;
  return `may have at most ${sizeText(MOST_BYTES)}; this one has ${sizeText(picture.length)}`;
}
