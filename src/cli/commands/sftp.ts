import { call, on } from '../call.ts';
import { DORMOUSE } from '../called.ts';
import type { Subject } from '../command.ts';
import { some } from '../format.ts';
import { type Messages } from '../shapes.ts';
import { aligned } from '../table.ts';

const ACCESS = {
  enabled: false as boolean,
  host: '',
  port: 0,
  username: '',
  sessions: 0,
  hostKeyFingerprint: '',
} satisfies Messages['SftpAccess'];

const CREDENTIAL = { host: '', port: 0, username: '', password: '' } satisfies Messages['SftpCredential'];

function opened({ host, port, username, password }: typeof CREDENTIAL): string[] {
  return [
    ...aligned([
      ['host', `${host}, port ${port}`],
      ['user', username],
      ['password', `${password}  (shown only now)`],
    ]),
    '',
    `  sftp -P ${port} ${username}@${host}`,
  ];
}

/** `dormouse sftp`. */
export const sftp: Subject = {
  name: 'sftp',
  summary: 'Access to the files of a server by FileZilla, WinSCP, sshfs and the like.',
  commands: [
    call({
      name: 'sftp show',
      summary: 'Show whether it is on, where, and who is in.',
      args: ['id'],
      call: ({ api }, [id]) => api.GET('/v1/servers/{id}/sftp', on(id)),
      shape: ACCESS,
      show: ({ enabled, host, port, username, sessions, hostKeyFingerprint }, { args: [id] }) =>
        enabled
          ? aligned([
              ['address', `sftp -P ${port} ${username}@${host}`],
              ['sessions', some(sessions, 'open session')],
              ['host key', hostKeyFingerprint],
            ])
          : [`SFTP is off for ${id}. Switch it on with: ${DORMOUSE} sftp enable ${id}`],
    }),
    call({
      name: 'sftp enable',
      summary: 'Switch it on. Its password is shown once.',
      args: ['id'],
      call: ({ api }, [id]) => api.POST('/v1/servers/{id}/sftp:enable', { ...on(id), body: {} }),
      shape: CREDENTIAL,
      show: opened,
    }),
    call({
      name: 'sftp disable',
      summary: 'Switch it off. Sessions that are open end.',
      args: ['id'],
      call: ({ api }, [id]) => api.POST('/v1/servers/{id}/sftp:disable', { ...on(id), body: {} }),
      shape: {},
      show: (_, { args: [id] }) => [`SFTP is off for ${id}.`],
    }),
    call({
      name: 'sftp rotate',
      summary: 'Make another password. Sessions that are open end.',
      args: ['id'],
      call: ({ api }, [id]) => api.POST('/v1/servers/{id}/sftp:rotatePassword', { ...on(id), body: {} }),
      shape: CREDENTIAL,
      show: opened,
    }),
  ],
};
