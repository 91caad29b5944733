import { basename, posix } from 'node:path';
import { DORMOUSE } from '../called.ts';
import { type Subject, call, command, flag, on, option } from '../command.ts';
import { failed, failedHere } from '../errors.ts';
import { listing, relative, size, some } from '../format.ts';
import type { Output } from '../terminal.ts';
import { oneLine, printable } from '../text.ts';
import {
  ENTRY,
  bytesOf,
  contentOf,
  counted,
  download,
  downloadFolder,
  filesAt,
  found,
  isDirectory,
  upload,
} from '../transfer.ts';
import { addWorld } from './import.ts';

const FORCE = flag('Replace existing files.', 'f');

const ls = command({
  usage: 'files ls <id> [path]',
  summary: 'List a folder of a server (default: its top folder).',
  options: {
    search: option('text', 'Only entries whose name contains this text.'),
    recursive: flag('Also search subfolders.'),
    sizes: flag('Add up the files in each folder.'),
  },
  details: `Example: ${DORMOUSE} files ls castle plugins --search config --recursive`,
  async run(context, [id = '', path = ''], { search = '', recursive = false, sizes = false }) {
    const { entries, truncated } = await found(context, id, path, { contains: search, recursive, sizes });
    if (context.json) return context.document({ entries, truncated });
    const { out } = context.terminal;
    const now = Date.now();
    const sorted = recursive ? entries : entries.toSorted((one, other) => Number(other.isDir) - Number(one.isDir));
    for (const line of listing(out, sorted, search === '' ? 'The folder is empty.' : 'No matches.', {
      NAME: ({ name, isDir }) => (isDir ? out.style('bold', `${oneLine(name)}/`) : oneLine(name)),
      SIZE: ({ isDir, size: bytes }) => (isDir && !sizes ? '' : size(bytes)),
      CHANGED: ({ modifiedAt }) => relative(modifiedAt, now),
    }))
      out.line(line);
    if (truncated) context.terminal.note('Incomplete: the folder is too large. List one of its subfolders.');
  },
});

const cat = command({
  usage: 'files cat <id> <path>',
  summary: 'Print a file.',
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
  usage: 'files get <id> <path> [here]',
  summary: 'Download a file or folder.',
  options: { force: FORCE, zip: flag('Download a folder as one zip.') },
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
  usage: 'files put <id> <here...>',
  summary: 'Upload files and folders. Skips symbolic links.',
  options: {
    to: option('folder', 'Folder on the server (default: its top folder).'),
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
      usage: 'files mkdir <id> <path>',
      summary: 'Create a folder, with its parent folders.',
      call: ({ api }, [id, path = '']) => api.POST('/v1/servers/{id}/file:mkdir', { ...on(id), body: { path } }),
      show: (_, { args: [, path] }) => [`Created ${path}.`],
    }),
    call({
      usage: 'files mv <id> <from> <to>',
      summary: 'Move or rename a file or folder. The target must not exist.',
      call: ({ api }, [id, from = '', to = '']) =>
        api.POST('/v1/servers/{id}/file:rename', { ...on(id), body: { from, to } }),
      show: (_, { args: [, from, to] }) => [`Moved ${from} to ${to}.`],
    }),
    call({
      usage: 'files cp <id> <from> <to>',
      summary: 'Copy a file, or a folder with its contents.',
      call: ({ slow }, [id, from = '', to = '']) =>
        slow.POST('/v1/servers/{id}/file:copy', { ...on(id), body: { from, to } }),
      show: (_, { args: [, from, to] }) => [`Copied ${from} to ${to}.`],
    }),
    call({
      usage: 'files rm <id> <path>',
      summary: 'Permanently delete a file, or a folder with its contents.',
      warning: ([id, path]) => `This permanently deletes ${path} of ${id}.`,
      call: ({ slow }, [id, path = '']) => slow.POST('/v1/servers/{id}/file:delete', { ...on(id), body: { path } }),
      show: (_, { args: [, path] }) => [`Deleted ${path}.`],
    }),
    call({
      usage: 'files archive <id> <archive> <paths...>',
      summary: 'Create a .zip, .tar, .tar.gz or .tar.zst on the server from files and folders.',
      details: `Example: ${DORMOUSE} files archive castle before-update.zip plugins world`,
      call: ({ slow }, [id, to = '', ...paths]) =>
        slow.POST('/v1/servers/{id}/file:archive', { ...on(id), body: { paths, to } }),
      shape: ENTRY,
      show: (entry, { args: [, to] }) => [`Created ${to}: ${size(entry.size)}.`],
    }),
    call({
      usage: 'files extract <id> <archive> [folder]',
      summary: 'Extract an archive on the server. Existing files are overwritten.',
      call: ({ slow }, [id, path = '', to = '']) =>
        slow.POST('/v1/servers/{id}/file:extract', { ...on(id), body: { path, to } }),
      shape: { extracted: '0' },
      show: ({ extracted }, { args: [, path, to = ''] }) => [
        `Extracted ${path}${to === '' ? '' : ` to ${to}`}: ${size(extracted)}.`,
      ],
    }),
  ],
};

const WORLDS = {
  worlds: [{ name: '', active: false, loaded: false, sizeBytes: '0' }],
};

function list({ worlds }: typeof WORLDS, out: Output): string[] {
  return listing(out, worlds, 'No worlds yet. The first start creates one.', {
    WORLD: ({ name }) => name,
    SIZE: ({ sizeBytes }) => size(sizeBytes),
    '': ({ active, loaded, sizeBytes }) =>
      loaded ? 'in use' : active ? (sizeBytes === '0' ? 'created at the next start' : 'used at the next start') : '',
  });
}

/** `dormouse worlds`. */
export const worlds: Subject = {
  name: 'worlds',
  summary: "A server's worlds: list, choose, add, delete, reset.",
  commands: [
    call({
      usage: 'worlds list <id>',
      summary: 'List the worlds of a server.',
      call: ({ api }, [id]) => api.GET('/v1/servers/{id}/worlds', on(id)),
      shape: WORLDS,
      show: (reply, { out }) => list(reply, out),
    }),
    call({
      usage: 'worlds use <id> <world>',
      summary: 'Choose the world for the next start. A new name creates a new world.',
      call: ({ api }, [id, name = '']) => api.POST('/v1/servers/{id}/worlds:setActive', { ...on(id), body: { name } }),
      shape: WORLDS,
      show: (_, { args: [id, name] }) => [`${id} will use ${name} from its next start.`],
    }),
    addWorld,
    call({
      usage: 'worlds delete <id> <world>',
      summary: 'Permanently delete a world with its Nether and End.',
      warning: ([id, name]) => `This permanently deletes the world ${name} of ${id} with its Nether and End.`,
      call: ({ slow }, [id, name = '']) => slow.POST('/v1/servers/{id}/worlds:delete', { ...on(id), body: { name } }),
      shape: WORLDS,
      show: ({ worlds }, { args: [id, name] }) => [`Deleted ${name}. ${id} has ${some(worlds.length, 'world')} left.`],
    }),
    call({
      usage: 'worlds reset <id>',
      summary: 'Back up the server, then replace the active world with a new one. Restarts a running server.',
      warning: ([id]) => `This backs up ${id}, then deletes its active world.`,
      call: ({ slow }, [id]) => slow.POST('/v1/servers/{id}/worlds:reset', { ...on(id), body: {} }),
      shape: WORLDS,
      show: (_, { args: [id] }) => [`The next start of ${id} creates a new world. See: ${DORMOUSE} backups ${id}`],
    }),
  ],
};
