import { call, on } from '../call.ts';
import { DORMOUSE } from '../called.ts';
import type { Subject } from '../command.ts';
import { size, some } from '../format.ts';
import { listing } from '../table.ts';
import type { Output } from '../terminal.ts';

const WORLDS = {
  worlds: [{ name: '', active: false, loaded: false, sizeBytes: '0' }],
};

function list({ worlds }: typeof WORLDS, out: Output): string[] {
  const rows = worlds.map(({ name, active, loaded, sizeBytes }) => [
    name,
    size(sizeBytes),
    loaded ? 'in use' : active ? (sizeBytes === '0' ? 'created at the next start' : 'used at the next start') : '',
  ]);
  return listing(out, ['WORLD', 'SIZE', ''], rows, 'No worlds yet. The first start creates one.');
}

/** `dormouse worlds`. */
export const worlds: Subject = {
  name: 'worlds',
  summary: "A server's worlds: list, choose, delete, reset.",
  commands: [
    call({
      name: 'worlds list',
      summary: 'List the worlds of a server.',
      args: ['id'],
      call: ({ api }, [id]) => api.GET('/v1/servers/{id}/worlds', on(id)),
      shape: WORLDS,
      show: (reply, { context: { terminal } }) => list(reply, terminal.out),
    }),
    call({
      name: 'worlds use',
      summary: 'Choose the world for the next start. A new name creates a new world.',
      args: ['id', 'world'],
      call: ({ api }, [id, name = '']) => api.POST('/v1/servers/{id}/worlds:setActive', { ...on(id), body: { name } }),
      shape: WORLDS,
      show: (_, { args: [id, name] }) => [`${id} will use ${name} from its next start.`],
    }),
    call({
      name: 'worlds delete',
      summary: 'Permanently delete a world with its Nether and End.',
      args: ['id', 'world'],
      warning: ([id, name]) => `This permanently deletes the world ${name} of ${id} with its Nether and End.`,
      call: ({ slow }, [id, name = '']) => slow.POST('/v1/servers/{id}/worlds:delete', { ...on(id), body: { name } }),
      shape: WORLDS,
      show: ({ worlds }, { args: [id, name] }) => [`Deleted ${name}. ${id} has ${some(worlds.length, 'world')} left.`],
    }),
    call({
      name: 'worlds reset',
      summary: 'Back up the server, then replace the active world with a new one. Restarts a running server.',
      args: ['id'],
      warning: ([id]) => `This backs up ${id}, then deletes its active world.`,
      call: ({ slow }, [id]) => slow.POST('/v1/servers/{id}/worlds:reset', { ...on(id), body: {} }),
      shape: WORLDS,
      show: (_, { args: [id] }) => [`The next start of ${id} creates a new world. See: ${DORMOUSE} backups ${id}`],
    }),
  ],
};
