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
    ['password', dbPassword === '' ? '(visible to the owner only)' : dbPassword],
  ]);
}

/** `dormouse database`. */
export const database: Subject = {
  name: 'database',
  summary: "A MySQL database for a server's plugins.",
  commands: [
    call({
      name: 'database show',
      summary: "Show the database's address, user and password.",
      args: ['id'],
      call: ({ api }, [id]) => api.GET('/v1/servers/{id}/database', on(id)),
      shape: DATABASE,
      show(reply, { args: [id] }) {
        if (reply.present) return facts(reply);
        return [
          reply.offered
            ? `${id} has no database. Create one with: ${DORMOUSE} database create ${id}`
            : 'This service offers no databases.',
        ];
      },
    }),
    call({
      name: 'database create',
      summary: 'Create the database.',
      args: ['id'],
      call: ({ slow }, [id]) => slow.POST('/v1/servers/{id}/database', { ...on(id), body: {} }),
      shape: DATABASE,
      show: facts,
    }),
    call({
      name: 'database rotate',
      summary: 'Create a new password. Plugins need it to sign in again.',
      args: ['id'],
      call: ({ api }, [id]) => api.POST('/v1/servers/{id}/database:rotatePassword', { ...on(id), body: {} }),
      shape: DATABASE,
      show: facts,
    }),
    call({
      name: 'database drop',
      summary: 'Permanently delete the database with all its data.',
      args: ['id'],
      warning: ([id]) => `This permanently deletes the database of ${id} with all its data.`,
      call: ({ slow }, [id]) => slow.POST('/v1/servers/{id}/database:drop', { ...on(id), body: {} }),
      shape: {},
      show: (_, { args: [id] }) => [`Deleted the database of ${id}.`],
    }),
  ],
};
