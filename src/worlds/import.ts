import { requireWholeAccount } from '../access/caller.ts';
import type { Files } from '../files/files.ts';
import { isWorldName } from '../game/worlds.ts';
import { line, message } from '../http/fields.ts';
import { operation } from '../http/operation.ts';
import type { Served } from '../http/serve.ts';
import type { StreamSlots } from '../http/stream-slots.ts';
import { placeOf } from '../imports/findings.ts';
import type { Imports } from '../imports/imports.ts';
import { StatusError } from '../kernel/status.ts';
import { ServerParams } from '../servers/api/messages.ts';
import type { Shared } from '../servers/shared.ts';
import { ServerWorldList, by, listOf } from './api.ts';
import type { Worlds } from './worlds.ts';

export const ImportServerWorld = operation({
  auth: 'key',
  role: 'member',
  scope: 'servers:write',
  section: 'Worlds',
  writesCode: true,
  id: 'ImportServerWorld',
  method: 'post',
  path: '/v1/servers/{id}/worlds:import',
  summary: 'Add an uploaded world',
  description:
    'Adds the world of an archive from CreateImport, with its Nether and End, and deletes the import. An archive of ' +
    'several worlds adds the active one. Nothing else of the archive is added. If it fails, nothing changes.',
  precondition: 'no world of that name may exist, and no other operation may be running on the server.',
  params: ServerParams,
  body: message({
    importId: line(64).min(1, 'is required').describe('From CreateImport.'),
    name: line(255).default('').describe('Name of the world. Empty = its folder’s, or the archive’s without a folder.'),
  }).meta({ id: 'ImportServerWorldRequest' }),
  example: { importId: 'imp_2tXk8QfJ4bWc9RzA', name: 'island' },
  reply: ServerWorldList,
});

/** Opens the operation that adds worlds of uploaded archives. */
export const worldImportOperations = (
  { serveServer }: Shared,
  worlds: Worlds,
  imports: Imports,
  files: Files,
  transferSlots: StreamSlots,
): readonly Served[] => [
  serveServer(ImportServerWorld, async ({ params: { id }, body, principal, server, signal }) => {
    requireWholeAccount(principal);
    const release = transferSlots.take(principal, 'transfer');
    try {
      await imports.consume(principal.accountId, body.importId, async ({ findings, name: archived }, archive) => {
        const world = findings.worlds.find(({ active }) => active) ?? findings.worlds[0];
        if (world === undefined) throw noWorld();
        const isBare = world.folders[0] === '';
        const name = body.name || (isBare ? archived : world.name);
        if (!isWorldName(name)) throw new StatusError('INVALID_ARGUMENT', 'INVALID_WORLD_NAME', BAD_NAME);
        const folders = isBare ? [world.name] : world.folders.map((folder) => folder.replace(/^saves\//, ''));
        const place = (path: string): string | undefined => {
          const [first = '', ...rest] = placeOf(findings, path)?.split('/') ?? [];
          return folders.includes(first) ? [name + first.slice(world.name.length), ...rest].join('/') : undefined;
        };
        const patience = { signal, tenant: server.row.accountId };
        await worlds.add(id, name, by(principal), () => files.unpack(id, { archive, place }, patience));
      });
      return await listOf(id, worlds);
    } finally {
      release();
    }
  }),
];

const BAD_NAME = 'The name of a world must be a plain folder name.';

function noWorld(): StatusError {
  const sentence =
    'The archive has no world in it: no folder with a level.dat. To create a server from it, use New server.';
  return new StatusError('INVALID_ARGUMENT', 'NO_WORLD_FOUND', sentence);
}
