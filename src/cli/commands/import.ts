import { basename } from 'node:path';
import { done } from '../api.ts';
import { DORMOUSE } from '../called.ts';
import { type Command, type Context, YES, command, flag, option, saysYes } from '../command.ts';
import { listing, memory, relative, size, software, some } from '../format.ts';
import { given } from '../parse.ts';
import { type Messages, SERVER, read } from '../shapes.ts';
import { oneLine } from '../text.ts';
import { blobOf, download } from '../transfer.ts';
import { ramMb } from './settings.ts';

/** `dormouse import`. */
export const importServer: Command = command({
  usage: 'import [archive]',
  summary: 'Create a server from an archive of its folder or world.',
  options: {
    name: option('name', 'Name of the server (default: the archive’s).'),
    type: option('core', 'vanilla, paper, fabric, … (default: as found).'),
    version: option('version', 'Minecraft version (default: as found).'),
    ram: option('size', 'Memory: 512M, 2G, or a number of MB (default: as found).'),
    resume: flag('The argument is the id of an import that was uploaded before.'),
    yes: YES,
  },
  details: `Shows first what it has found. The archive may be a zip, tar, tar.gz or tar.zst.
Without one, lists the uploads that can become servers.

Example: ${DORMOUSE} import old-server.zip --ram 4G`,
  async run(context, [path = ''], { name, type, version, ram, resume, yes }) {
    const { api, slow, json, document, terminal } = context;
    const { out } = terminal;
    if (path === '') {
      const { imports } = await done(api.GET('/v1/imports'));
      if (json) return document({ imports });
      for (const line of listing(out, imports, 'No uploads.', UPLOADS)) out.line(line);
      return;
    }
    const found = resume ? await done(api.GET('/v1/imports/{importId}', at(path))) : await upload(context, path);
    const { id } = found;
    const body = given({ name, type, version, ramMb: ram === undefined ? undefined : ramMb(ram) });
    if (!json) for (const line of linesOf(found)) out.line(line);
    if (!yes && !(await saysYes(context, 'Create this server?'))) {
      await done(api.POST('/v1/imports/{importId}:delete', { ...at(id), body: {} }));
      out.line('Nothing was created.');
      return;
    }
    const reply = await done(slow.POST('/v1/imports/{importId}:confirm', { ...at(id), body }));
    if (json) return document(reply);
    const server = read(SERVER, reply);
    out.line(`Created ${out.style('bold', server.id)}. Join ${out.style('bold', server.addr)} to wake it.`);
  },
});

/** `dormouse export`. */
export const exportServer: Command = command({
  usage: 'export <id> [file]',
  summary: 'Download a server as a zip that starts elsewhere.',
  options: { force: flag('Replace an existing file.') },
  async run(context, [id = '', file = `${id}.zip`], { force }) {
    const saved = await download(context, file, force === true, (headers) =>
      context.slow.GET('/v1/servers/{id}/export', { params: { path: { id } }, headers, parseAs: 'stream' }),
    );
    if (context.json) return context.document(saved);
    context.terminal.out.line(`Saved ${oneLine(saved.file)} (${size(saved.bytes)}).`);
  },
});

/** `dormouse worlds add`. */
export const addWorld: Command = command({
  usage: 'worlds add <id> <archive> [name]',
  summary: 'Add the world of an archive.',
  async run(context, [id = '', path = '', name = '']) {
    const { id: importId } = await upload(context, path);
    const body = { importId, name };
    try {
      const path = { id };
      const reply = await done(context.slow.POST('/v1/servers/{id}/worlds:import', { params: { path }, body }));
      if (context.json) return context.document(reply);
      context.terminal.out.line(`${id} has ${some(reply.worlds?.length ?? 0, 'world')} now.`);
    } catch (error) {
      await done(context.api.POST('/v1/imports/{importId}:delete', { ...at(importId), body: {} }));
      throw error;
    }
  },
});

const UPLOADS = {
  ID: ({ id }: Messages['Import']) => id ?? '',
  NAME: ({ name }: Messages['Import']) => oneLine(name ?? ''),
  SIZE: ({ sizeBytes }: Messages['Import']) => size(sizeBytes ?? 0),
  EXPIRES: ({ expiresAt }: Messages['Import']) => relative(expiresAt ?? '', Date.now()),
};

const at = (importId: string) => ({ params: { path: { importId } } });

/** Uploads an archive as a stream. */
async function upload({ slow }: Context, path: string): Promise<Messages['Import']> {
  const blob = await blobOf(path);
  return done(
    slow.POST('/v1/imports', {
      params: { query: { name: basename(path) } },
      headers: { 'content-type': 'application/octet-stream' },
      // Typed as a string, but sent as a stream.
      body: blob as unknown as string,
      bodySerializer: (body: unknown) => body,
    }),
  );
}

function linesOf(found: Messages['Import']): string[] {
  const { name, type, version, ramMb: mb, worlds, mods, leftOut, files } = found;
  return [
    `${oneLine(name)}: ${type === '' ? 'unknown software' : software({ type, version })}${mb > 0 ? `, ${memory(mb)}` : ''}`,
    `${some(files, 'file')}, ${size(found.sizeBytes ?? 0)}`,
    ...worlds.map((world) => `World ${oneLine(world.name ?? '')}${world.active ? ' (active)' : ''}`),
    ...mods.map((mod) => `${oneLine(mod.name ?? '')} ${oneLine(mod.version ?? '')}`.trim()),
    ...leftOut.map((left) => `Not taken over: ${oneLine(left.path ?? '')}. ${left.reason ?? ''}`),
  ];
}
