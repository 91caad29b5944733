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
    loaded ? 'played now' : active ? (sizeBytes === '0' ? 'made by the next start' : 'of the next start') : '',
  ]);
  return listing(out, ['WORLD', 'SIZE', ''], rows, 'No worlds yet: the first start makes one.');
}

/** `dormouse worlds`. */
export const worlds: Subject = {
  name: 'worlds',
  summary: "A server's worlds: which one is played, and how to begin anew.",
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
      summary: 'Choose the world of the next start. A name that is not there yet becomes a new world.',
      args: ['id', 'world'],
      call: ({ api }, [id, name = '']) => api.POST('/v1/servers/{id}/worlds:setActive', { ...on(id), body: { name } }),
      shape: WORLDS,
      show: (_, { args: [id, name] }) => [`${id} plays ${name} from its next start on.`],
    }),
    call({
      name: 'worlds delete',
      summary: 'Delete a world with its nether and end, for good.',
      args: ['id', 'world'],
      warning: ([id, name]) => `This deletes the world ${name} of ${id} with its nether and end, for good.`,
      call: ({ slow }, [id, name = '']) => slow.POST('/v1/servers/{id}/worlds:delete', { ...on(id), body: { name } }),
      shape: WORLDS,
      show: ({ worlds }, { args: [id, name] }) => [`Deleted ${name}. ${id} has ${some(worlds.length, 'world')} left.`],
    }),
    call({
      name: 'worlds reset',
      summary: 'Replace the active world by a new one, after a backup. Stops a running server and starts it again.',
      args: ['id'],
      warning: ([id]) => `This removes the world that ${id} plays. A backup of the server is made first.`,
      call: ({ slow }, [id]) => slow.POST('/v1/servers/{id}/worlds:reset', { ...on(id), body: {} }),
      shape: WORLDS,
      show: (_, { args: [id] }) => [`The next start of ${id} makes its world anew. See: ${DORMOUSE} backups ${id}`],
    }),
  ],
};
