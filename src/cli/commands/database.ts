import { call, on } from '../call.ts';
import { DORMOUSE } from '../called.ts';
import type { Subject } from '../command.ts';
import { type Messages } from '../shapes.ts';
import { aligned } from '../table.ts';

const DATABASE = {
  host: '',
  port: 0,
  dbName: '',
  dbUser: '',
  dbPassword: '',
  present: false as boolean,
  offered: false as boolean,
} satisfies Partial<Messages['ServerDatabase']>;

function facts({ host, port, dbName, dbUser, dbPassword }: typeof DATABASE): string[] {
  return aligned([
    ['host', `${host}, port ${port}`],
    ['database', dbName],
    ['user', dbUser],
    ['password', dbPassword === '' ? '(only its owner sees it)' : dbPassword],
  ]);
}

/** `dormouse database`. */
export const database: Subject = {
  name: 'database',
  summary: 'A MySQL database of its own, for plugins.',
  commands: [
    call({
      name: 'database show',
      summary: 'Show its address, user and password.',
      args: ['id'],
      call: ({ api }, [id]) => api.GET('/v1/servers/{id}/database', on(id)),
      shape: DATABASE,
      show(reply, { args: [id] }) {
        if (reply.present) return facts(reply);
        return [
          reply.offered
            ? `${id} has no database. Make one with: ${DORMOUSE} database create ${id}`
            : 'This service offers no databases.',
        ];
      },
    }),
    call({
      name: 'database create',
      summary: 'Make one.',
      args: ['id'],
      call: ({ slow }, [id]) => slow.POST('/v1/servers/{id}/database', { ...on(id), body: {} }),
      shape: DATABASE,
      show: facts,
    }),
    call({
      name: 'database rotate',
      summary: 'Make another password: plugins need it before they can sign in again.',
      args: ['id'],
      call: ({ api }, [id]) => api.POST('/v1/servers/{id}/database:rotatePassword', { ...on(id), body: {} }),
      shape: DATABASE,
      show: facts,
    }),
    call({
      name: 'database drop',
      summary: 'Delete it with everything in it, for good.',
      args: ['id'],
      warning: ([id]) => `This deletes the database of ${id} with everything in it, for good.`,
      call: ({ slow }, [id]) => slow.POST('/v1/servers/{id}/database:drop', { ...on(id), body: {} }),
      shape: {},
      show: (_, { args: [id] }) => [`${id} has no database any more.`],
    }),
  ],
};
