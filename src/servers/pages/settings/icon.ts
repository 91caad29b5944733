import { createHash } from 'node:crypto';
import { BROWSER_PREFIX } from '../../../http/session/browser-mount.ts';
import { invalidFields } from '../../../http/errors.ts';
import { StatusError } from '../../../kernel/status.ts';
import { KIB, MIB } from '../../../kernel/units.ts';
import { type Html, html } from '../../../web/html.ts';
import { confirmed, csrfField } from '../../../web/form.ts';
import { filling } from '../../../web/panel/fields.ts';
import { actionOf, buttonForm } from '../../../web/panel/form.ts';
import type { ServerRequest } from '../../../web/panel/panel.ts';
import type { Form } from '../../../web/serve.ts';
import { sizeText } from '../../../web/text.ts';

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
export function iconCard(request: ServerRequest, icon: string | undefined): Html {
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

export async function saveIcon({ call, server: { id } }: ServerRequest, form: Form): Promise<string> {
  const picture = form.files?.get('icon') ?? Buffer.alloc(0);
  const wrong = wrongIcon(picture);
  if (wrong !== undefined) throw invalidFields([{ field: 'icon', description: wrong }]);
  await call('WriteFile', { id }, { path: FILE, content: picture.toString('base64') });
  return 'icon';
}

export async function removeIcon({ call, server: { id } }: ServerRequest): Promise<string> {
  await call('DeletePath', { id }, { path: FILE });
  return 'gone';
}

/** Returns the address of the current icon; undefined without one. */
export async function iconOf({ call, server: { id } }: ServerRequest): Promise<string | undefined> {
  try {
    const { content } = await call('ReadFile', { id }, { path: FILE });
    const version = createHash('sha256').update(content).digest('hex').slice(0, 12);
    return `${BROWSER_PREFIX}/v1/servers/${id}/file:download?path=${FILE}&version=${version}`;
  } catch (error) {
    if (error instanceof StatusError && error.code !== 'INTERNAL') return undefined;
    throw error;
  }
}

function wrongIcon(picture: Buffer): string | undefined {
  if (!picture.subarray(0, PNG.length).equals(PNG) || picture.length < SIZE_AT + 8) return 'must be a PNG';
  const [width, height] = [picture.readUInt32BE(SIZE_AT), picture.readUInt32BE(SIZE_AT + 4)];
  if (width !== PIXELS || height !== PIXELS)
    return `must be ${PIXELS} × ${PIXELS} pixels; this one has ${width} × ${height}`;
  if (picture.length <= MOST_BYTES) return undefined;
  return `may have at most ${sizeText(MOST_BYTES)}; this one has ${sizeText(picture.length)}`;
}
