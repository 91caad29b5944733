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
  summary: "Access to a server's files with FileZilla, WinSCP, sshfs and other SFTP clients.",
  commands: [
    call({
      name: 'sftp show',
      summary: 'Show whether SFTP is on, its address, and open sessions.',
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
          : [`SFTP is off for ${id}. Turn it on with: ${DORMOUSE} sftp enable ${id}`],
    }),
    call({
      name: 'sftp enable',
      summary: 'Turn SFTP on. Shows the password once.',
      args: ['id'],
      call: ({ api }, [id]) => api.POST('/v1/servers/{id}/sftp:enable', { ...on(id), body: {} }),
      shape: CREDENTIAL,
      show: opened,
    }),
    call({
      name: 'sftp disable',
      summary: 'Turn SFTP off. Open sessions end.',
      args: ['id'],
      call: ({ api }, [id]) => api.POST('/v1/servers/{id}/sftp:disable', { ...on(id), body: {} }),
      shape: {},
      show: (_, { args: [id] }) => [`SFTP is off for ${id}.`],
    }),
    call({
      name: 'sftp rotate',
      summary: 'Create a new password. Open sessions end.',
      args: ['id'],
      call: ({ api }, [id]) => api.POST('/v1/servers/{id}/sftp:rotatePassword', { ...on(id), body: {} }),
      shape: CREDENTIAL,
      show: opened,
    }),
  ],
};
