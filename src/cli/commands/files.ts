import { basename, posix } from 'node:path';
import { call, on } from '../call.ts';
import { DORMOUSE } from '../called.ts';
import { type Subject, command } from '../command.ts';
import { bytesOf, contentOf, downloadFolder, ENTRY, isDirectory, listed } from '../transfer/folder.ts';
import { failed, failedHere } from '../errors.ts';
import { relative, size, some } from '../format.ts';
import { listing } from '../table.ts';
import { oneLine, printable } from '../text.ts';
import { download } from '../transfer/download.ts';
import { counted, filesAt, upload } from '../transfer/upload.ts';

const FORCE = { type: 'boolean', short: 'f', help: 'Replace existing files.' } as const;

const ls = command({
  name: 'files ls',
  summary: 'List a folder of a server (default: its top folder).',
  args: ['id', '[path]'],
  async run(context, [id = '', path = '']) {
    const entries = await listed(context, id, path);
    if (context.json) return context.document({ entries });
    const { out } = context.terminal;
    const now = Date.now();
    const sorted = entries.toSorted((one, other) => Number(other.isDir) - Number(one.isDir));
    const rows = sorted.map(({ name, isDir, size: bytes, modifiedAt }) => [
      isDir ? out.style('bold', `${oneLine(name)}/`) : oneLine(name),
      isDir ? '' : size(bytes),
      relative(modifiedAt, now),
    ]);
    for (const line of listing(out, ['NAME', 'SIZE', 'CHANGED'], rows, 'The folder is empty.')) out.line(line);
  },
});

const cat = command({
  name: 'files cat',
  summary: 'Print a file.',
  args: ['id', 'path'],
  async run(context, [id = '', path = '']) {
    const { terminal } = context;
    const decoder = new TextDecoder();
    for await (const chunk of bytesOf(context, id, path)) {
      // Programs get the exact bytes. A terminal gets no control characters.
      if (terminal.out.isTerminal) terminal.out.write(printable(decoder.decode(chunk, { stream: true })));
      else await terminal.out.bytes(chunk);
    }
  },
});

const get = command({
  name: 'files get',
  summary: 'Download a file or folder.',
  args: ['id', 'path', '[here]'],
  options: { force: FORCE, zip: { type: 'boolean', help: 'Download a folder as one zip.' } },
  details: `Example: ${DORMOUSE} files get castle world
         ${DORMOUSE} files get castle plugins plugins.zip --zip`,
  async run(context, [id = '', path = '', here], { force = false, zip = false }) {
    const { json, document, terminal } = context;
    const isFolder = await isDirectory(context, id, path);
    const name = basename(posix.normalize(`/${path}`)) || id;
    if (isFolder && !zip) {
      const saved = await downloadFolder(context, id, path, here ?? name, force);
      if (json) return document(saved);
      terminal.out.line(`Saved ${some(saved.files, 'file')}, ${size(saved.bytes)}, in ${saved.folder}.`);
      if (saved.missing.length === 0) return;
      const missing = saved.missing.map(oneLine).join(', ');
      throw failed('NOT_ALL_SAVED', `Not saved (links, or deleted during the download): ${missing}`, { server: id });
    }
    const target = here ?? (isFolder ? `${name}.zip` : name);
    const saved = await download(context, target, force, contentOf(context, id, path));
    if (json) return document(saved);
    terminal.out.line(`Saved ${saved.file}: ${size(saved.bytes)}.`);
  },
});

const put = command({
  name: 'files put',
  summary: 'Upload files and folders. Skips symbolic links.',
  args: ['id', 'here...'],
  options: {
    to: { type: 'string', value: 'folder', help: 'Folder on the server (default: its top folder).' },
    force: FORCE,
  },
  details: `Example: ${DORMOUSE} files put castle server-icon.png --force
         ${DORMOUSE} files put castle *.jar --to plugins`,
  async run(context, [id = '', ...here], { to = '', force = false }) {
    const { json, document, terminal } = context;
    const files = await filesAt(here, posix.normalize(`/${to}`).slice(1));
    if (files.length === 0) throw failedHere('NOTHING_TO_SEND', 'There are no files to upload.');
    const showing = counted(context, files);
    for (const [index, file] of files.entries()) {
      showing(index);
      await upload(context, id, file, force);
    }
    terminal.clear();
    const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
    if (json) return document({ files: files.map(({ path }) => path), bytes });
    const what = files.length === 1 ? (files[0]?.path ?? '') : some(files.length, 'file');
    terminal.out.line(`Uploaded ${what}: ${size(bytes)}.`);
  },
});

/** `dormouse files`. */
export const files: Subject = {
  name: 'files',
  summary: "A server's files, awake or asleep: list, print, download, upload, move, archive.",
  details: `Paths are relative to the server's top folder: world, plugins/config.yml.

Examples: ${DORMOUSE} files cat castle server.properties
          ${DORMOUSE} files put castle *.jar --to plugins
          ${DORMOUSE} files get castle world`,
  commands: [
    ls,
    cat,
    get,
    put,
    call({
      name: 'files mkdir',
      summary: 'Create a folder, with its parent folders.',
      args: ['id', 'path'],
      call: ({ api }, [id, path = '']) => api.POST('/v1/servers/{id}/file:mkdir', { ...on(id), body: { path } }),
      shape: {},
      show: (_, { args: [, path] }) => [`Created ${path}.`],
    }),
    call({
      name: 'files mv',
      summary: 'Move or rename a file or folder. The target must not exist.',
      args: ['id', 'from', 'to'],
      call: ({ api }, [id, from = '', to = '']) =>
        api.POST('/v1/servers/{id}/file:rename', { ...on(id), body: { from, to } }),
      shape: {},
      show: (_, { args: [, from, to] }) => [`Moved ${from} to ${to}.`],
    }),
    call({
      name: 'files cp',
      summary: 'Copy a file, or a folder with its contents.',
      args: ['id', 'from', 'to'],
      call: ({ slow }, [id, from = '', to = '']) =>
        slow.POST('/v1/servers/{id}/file:copy', { ...on(id), body: { from, to } }),
      shape: {},
      show: (_, { args: [, from, to] }) => [`Copied ${from} to ${to}.`],
    }),
    call({
      name: 'files rm',
      summary: 'Permanently delete a file, or a folder with its contents.',
      args: ['id', 'path'],
      warning: ([id, path]) => `This permanently deletes ${path} of ${id}.`,
      call: ({ slow }, [id, path = '']) => slow.POST('/v1/servers/{id}/file:delete', { ...on(id), body: { path } }),
      shape: {},
      show: (_, { args: [, path] }) => [`Deleted ${path}.`],
    }),
    call({
      name: 'files archive',
      summary: 'Create a .zip, .tar, .tar.gz or .tar.zst on the server from files and folders.',
      args: ['id', 'archive', 'paths...'],
      details: `Example: ${DORMOUSE} files archive castle before-update.zip plugins world`,
      call: ({ slow }, [id, to = '', ...paths]) =>
        slow.POST('/v1/servers/{id}/file:archive', { ...on(id), body: { paths, to } }),
      shape: ENTRY,
      show: (entry, { args: [, to] }) => [`Created ${to}: ${size(entry.size)}.`],
    }),
    call({
      name: 'files extract',
      summary: 'Extract an archive on the server. Existing files are overwritten.',
      args: ['id', 'archive', '[folder]'],
      call: ({ slow }, [id, path = '', to = '']) =>
        slow.POST('/v1/servers/{id}/file:extract', { ...on(id), body: { path, to } }),
      shape: { extracted: '0' },
      show: ({ extracted }, { args: [, path, to = ''] }) => [
        `Extracted ${path}${to === '' ? '' : ` to ${to}`}: ${size(extracted)}.`,
      ],
    }),
  ],
};
