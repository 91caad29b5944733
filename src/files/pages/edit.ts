import type { ReplyOf } from '../../http/operation.ts';
import { type Encoding, encodingOf, isUtf16 } from '../../kernel/decode-text.ts';
import { StatusError } from '../../kernel/status.ts';
import { KIB } from '../../kernel/units.ts';
import { ASSETS } from '../../web/assets.ts';
import { csrfField, hidden } from '../../web/form.ts';
import { type Html, html } from '../../web/html.ts';
import type { Page } from '../../web/page-request.ts';
import { actionOf } from '../../web/panel/form.ts';
import type { Panel, ServerRequest } from '../../web/panel/panel.ts';
import { sizeText } from '../../web/text.ts';
import { crumbs } from './browse.ts';
import { MOST_EDITED_BYTES, apart, downloadOf, pageOf, pathOf } from './paths.ts';
import { ReadFile, WriteFile } from '../api.ts';

/** Form encoding takes up to three letters a byte. */
const FORM_BYTES = 3 * MOST_EDITED_BYTES + 32 * KIB;

/** The language to highlight, by file extension. */
const LANGUAGES: readonly (readonly [RegExp, string])[] = [
  [/\.(?:properties|conf|cfg|ini)$/i, 'properties'],
  [/\.ya?ml$/i, 'yaml'],
  [/\.(?:json5?|mcmeta)$/i, 'json'],
  [/\.toml$/i, 'toml'],
];

/** The editor for a text file. */
export function mountEdit(panel: Panel): void {
  panel.serverPage({
    path: '/files/edit',
    show: editPage,
    forms: {
      async save(request, form) {
        const content = contentOf(form.get('content') ?? '', {
          ends: form.get('ends'),
          encoding: form.get('encoding'),
        }).toString('base64');
        const ifVersion = form.get('version') ?? 'none';
        await request.call(WriteFile, { id: request.server.id }, { path: pathOf(request), content, ifVersion });
        return 'saved';
      },
    },
    done: { saved: 'File saved.' },
    formBytes: FORM_BYTES,
  });
}

async function editPage(request: ServerRequest): Promise<Page> {
  const path = pathOf(request);
  const found = await read(request, path);
  const main = html`<section class="card files">
    <h2>${crumbs(request, path)}</h2>
    ${'why' in found ? notHere(request, path, found.why) : editor(request, path, found)}
  </section>`;
  return {
    title: apart(path).name || 'Files',
    main,
    styles: [ASSETS.filesStyle, ASSETS.editorStyle],
    libraries: [ASSETS.prism],
    scripts: [ASSETS.editorScript],
  };
}

async function read({ call, server }: ServerRequest, path: string): Promise<Found> {
  try {
    return textOf(await call(ReadFile, { id: server.id }, { path }), MOST_EDITED_BYTES);
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    if (error.reason === 'PATH_NOT_FOUND') return { text: '', version: 'none', ends: 'lf', encoding: 'utf-8' };
    if (error.reason === 'NOT_A_FILE') return { why: 'folder' };
    throw error;
  }
}

function notHere(request: ServerRequest, path: string, why: 'binary' | 'large' | 'folder'): Html {
  if (why === 'folder') {
    return html`<p class="empty">A folder with this name already exists. Choose another name.</p>
      <p><a class="button second" href="${pageOf(request, path)}">Open the folder</a></p>`;
  }
  return html`<p class="empty">
      ${
        why === 'binary'
          ? 'This is not a text file, so you can’t edit it here.'
          : `This file is larger than ${sizeText(MOST_EDITED_BYTES)}, too large to edit here.`
      }
    </p>
    <p><a class="button second" href="${downloadOf(request, path)}" download>Download</a></p>`;
}

function editor(request: ServerRequest, path: string, found: Text): Html {
  const { failed, sent } = request;
  const typed = failed === 'save' ? sent : undefined;
  // The save failed because the file has changed since. Shows both versions, so that neither is lost.
  const isConflict = typed !== undefined && typed.get('version') !== found.version;
  const language = LANGUAGES.find(([ending]) => ending.test(path))?.[1] ?? '';
  const text = typed?.get('content') ?? found.text;
  const { directory } = apart(path);
  return html`${found.version === 'none' && !typed && html`<p class="soft">This file doesn’t exist yet. Saving creates it.</p>`}
    <form method="post" action="${actionOf(request, 'save')}" data-editor data-keep id="editor">
      ${csrfField(request.csrf)}${hidden('version', found.version)}${hidden('ends', typed?.get('ends') ?? found.ends)}
      ${hidden('encoding', typed?.get('encoding') ?? found.encoding)}
      <label for="content">${isConflict ? 'Your text' : 'Text'}</label>
      <div class="sheet" data-language="${language}">
        <pre aria-hidden="true" data-layer></pre>
        ${textArea(html`id="content" name="content" rows="28" autocapitalize="off" autocomplete="off"`, text)}
      </div>
      <div class="actions pinned">
        <button type="submit">${isConflict ? 'Overwrite with yours' : 'Save'}</button>
        <a class="button second" href="${pageOf(request, directory)}">Close</a>
        <span class="soft" role="status" data-saved></span>
      </div>
    </form>
    ${isConflict && theirs(found)}`;
}

function theirs({ text, version }: Text): Html {
  if (version === 'none') return html`<p class="note warn">This file was deleted while you were editing.</p>`;
  return html`<h3>Current contents</h3>
    <p>This file changed while you were editing. Merge what you need, then save.</p>
    <label class="unseen" for="theirs">Current contents</label>
    ${textArea(html`id="theirs" class="theirs" rows="16" readonly`, text)}`;
}

/** HTML drops a line break directly after the tag (HTML §13.1.2.5), so one is added to protect the text's own. */
function textArea(attributes: Html, text: string): Html {
  const all = html`wrap="off" spellcheck="false" ${attributes}`;
  return html`<textarea ${all}>${`\n${text}`}</textarea>`;
}

/** A text to edit. `version` is `none` for a new file. The text has LF line ends; `ends` are those of the file. */
interface Text {
  text: string;
  version: string;
  ends: 'lf' | 'crlf';
  /** A byte order mark is part of the text, as U+FEFF. */
  encoding: Encoding;
}

/** A file opened for editing, or the reason why it cannot be. */
type Found = Text | { why: 'binary' | 'large' | 'folder' };

/** Control characters that no text has, except for the escapes that colour a log. */
const BINARY = /[^\P{Cc}\s\u0080-\u009F]/u;
const ESCAPE = '\u001B';

/** Returns a file's content as text, if every byte of it can be saved unchanged. */
function textOf({ content, truncated, version }: ReplyOf<typeof ReadFile>, mostBytes: number): Found {
  const bytes = Buffer.from(content, 'base64');
  if (truncated || bytes.length > mostBytes) return { why: bytes.includes(0) && !isUtf16(bytes) ? 'binary' : 'large' };
  const encoding = encodingOf(bytes);
  const text = decode(bytes, encoding);
  if (text === undefined || BINARY.test(text.replaceAll(ESCAPE, ''))) return { why: 'binary' };
  const all = text.match(/\n/g)?.length ?? 0;
  const windows = text.match(/\r\n/g)?.length ?? 0;
  return { text: text.replaceAll('\r\n', '\n'), version, ends: windows * 2 > all ? 'crlf' : 'lf', encoding };
}

/**
 * Returns a form's text as bytes with the file's line ends and encoding. Forms send CRLF (HTML §4.10.22.4), whatever
 * the text had. Throws INVALID_ARGUMENT NOT_IN_ENCODING for a character that the encoding lacks.
 */
function contentOf(text: string, { ends, encoding }: Record<'ends' | 'encoding', string | null>): Buffer {
  const plain = text.replaceAll(/\r\n?/g, '\n');
  const whole = ends === 'crlf' ? plain.replaceAll('\n', '\r\n') : plain;
  if (encoding === 'utf-16le') return Buffer.from(whole, 'utf16le');
  if (encoding === 'utf-16be') return Buffer.from(whole, 'utf16le').swap16();
  if (encoding !== 'latin1') return Buffer.from(whole);
  const foreign = /[^\0-\u00ff]/u.exec(whole)?.[0];
  if (foreign === undefined) return Buffer.from(whole, 'latin1');
  const units = foreign.split('').map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
  const escaped = units.join('');
  const sentence = `This file is in ISO 8859-1, which has no “${foreign}”. Write it as ${escaped}, or leave it out.`;
  throw new StatusError('INVALID_ARGUMENT', 'NOT_IN_ENCODING', sentence);
}

function decode(bytes: Buffer, encoding: Encoding): string | undefined {
  // The decoder's `latin1` is Windows-1252, which lacks five bytes.
  if (encoding === 'latin1') return bytes.toString('latin1');
  try {
    return new TextDecoder(encoding, { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
