import { joinNames, parsePath } from '../../jail/path.ts';
import { StatusError } from '../../kernel/status.ts';
import { inShort } from '../../web/panel/in-short.ts';
import type { PanelPage, ServerRequest } from '../../web/panel/panel.ts';
import type { Form } from '../../web/serve.ts';
import { apart, below, pageOf, pathOf } from './paths.ts';
import { DeletePath, MakeDirectory, RenamePath } from '../api.ts';
import { ArchivePaths, DownloadPath, UploadFile } from '../transfers-api.ts';

/** Most entries on a page with checkboxes. */
const MOST_TICKED = 1_000;
/** Most failed uploads listed by name. */
const MOST_LISTED = 20;

/** The forms of a directory. */
export const BROWSE_FORMS: NonNullable<PanelPage<ServerRequest>['forms']> = {
  async folder(request, form) {
    await request.call(
      MakeDirectory,
      { id: request.server.id },
      { path: below(pathOf(request), nameIn(form, 'name')) },
    );
    return 'made';
  },
  file(request, form) {
    return { to: pageOf(request, below(pathOf(request), nameIn(form, 'name')), '/edit') };
  },
  async move(request, form) {
    const names = ticked(form);
    const to = joinNames(parsePath(form.get('to') ?? ''));
    for (const name of names) {
      const path = { from: below(pathOf(request), name), to: below(to, apart(name).name) };
      await request.call(RenamePath, { id: request.server.id }, path).catch(inFolder(path.to));
    }
    return 'moved';
  },
  async pack(request, form) {
    const directory = pathOf(request);
    const paths = ticked(form).map((name) => below(directory, name));
    const to = below(directory, nameIn(form, 'archive'));
    return await inShort(request.call(ArchivePaths, { id: request.server.id }, { paths, to }), 'packed', 'packing');
  },
  async download(request, form) {
    const selected = { path: pathOf(request), names: ticked(form) };
    return { download: await request.call(DownloadPath, { id: request.server.id }, selected) };
  },
  upload: uploadFiles,
  async delete(request, form) {
    for (const name of ticked(form)) {
      await request.call(DeletePath, { id: request.server.id }, { path: below(pathOf(request), name) });
    }
    return 'deleted';
  },
};

export const BROWSE_DONE = {
  made: 'Folder created.',
  moved: 'Moved.',
  renamed: 'Renamed.',
  copied: 'Copied.',
  copying: 'Copying… You can leave this page.',
  packed: 'Archive created.',
  packing: 'Creating the archive… It appears here when it’s done.',
  extracted: 'Archive extracted.',
  extracting: 'Extracting… files appear when it’s done.',
  uploaded: 'Uploaded.',
  deleted: 'Deleted.',
  sftpOff: 'SFTP is off. Its password no longer works.',
};

/** Returns the name entered in a form. It may contain directories. */
export function nameIn(form: Form, field: string): string {
  const name = joinNames(parsePath(form.get(field) ?? ''));
  if (name === '') throw new StatusError('INVALID_ARGUMENT', 'NO_NAME', 'Enter a name.');
  return name;
}

/** Names the folder in the error for a target whose parent is missing. */
export function inFolder(to: string) {
  return (error: unknown): never => {
    const isThere = !(error instanceof StatusError) || error.reason !== 'PATH_NOT_FOUND';
    if (isThere || error.options.metadata?.['path'] !== to) throw error;
    const sentence = `There is no folder ${apart(to).directory}. Create it first, or choose another folder.`;
    throw new StatusError('NOT_FOUND', 'PATH_NOT_FOUND', sentence, { cause: error });
  };
}

/** Uploads files, each completely or not at all. A failed file does not affect the others. */
async function uploadFiles(request: ServerRequest, form: Form): Promise<string> {
  const overwrite = form.get('overwrite') === 'true';
  const refused: string[] = [];
  let count = 0;
  for await (const { name, chunks } of form.uploads ?? []) {
    if (name === '') continue;
    count += 1;
    const path = below(pathOf(request), name);
    const sent = { chunks, sizeBytes: undefined };
    await request.call(UploadFile, { id: request.server.id }, { path, overwrite }, sent).catch((error: unknown) => {
      if (!(error instanceof StatusError) || error.code === 'CANCELLED') throw error;
      refused.push(`${name}: ${error.message}`);
    });
  }
  if (count === 0) throw new StatusError('INVALID_ARGUMENT', 'NOTHING_CHOSEN', 'Choose a file first.');
  if (refused.length === 0) return 'uploaded';
  const rest = refused.length < count ? 'The other files were uploaded. ' : '';
  const listed = refused.slice(0, MOST_LISTED).join(' ');
  throw new StatusError('INVALID_ARGUMENT', 'NOT_UPLOADED', `${rest}Not uploaded: ${listed}`);
}

function ticked(form: Form): string[] {
  const names = form.getAll('name').slice(0, MOST_TICKED);
  if (names.length === 0) throw new StatusError('INVALID_ARGUMENT', 'NOTHING_TICKED', 'Select at least one file.');
  // A selected folder includes the selected search results below it.
  const folders = new Set(names);
  return names.filter((name) => parentsOf(name).every((parent) => !folders.has(parent)));
}

/** Returns the folders of a path, the nearest last. */
function parentsOf(path: string): string[] {
  const names = path.split('/');
  return names.slice(1).map((_, index) => names.slice(0, index + 1).join('/'));
}
