import { DORMOUSE } from '../called.ts';
import { type Subject, call, flag, on, option } from '../command.ts';
import { wrongUsage } from '../errors.ts';
import { aligned, listing, some } from '../format.ts';
import { argumentNumber } from '../parse.ts';
import type { Messages } from '../shapes.ts';
import type { Output } from '../terminal.ts';

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
      usage: 'sftp show <id>',
      summary: 'Show whether SFTP is on, its address, and open sessions.',
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
      usage: 'sftp enable <id>',
      summary: 'Turn SFTP on. Shows the password once.',
      call: ({ api }, [id]) => api.POST('/v1/servers/{id}/sftp:enable', { ...on(id), body: {} }),
      shape: CREDENTIAL,
      show: opened,
    }),
    call({
      usage: 'sftp disable <id>',
      summary: 'Turn SFTP off. Open sessions end.',
      call: ({ api }, [id]) => api.POST('/v1/servers/{id}/sftp:disable', { ...on(id), body: {} }),
      show: (_, { args: [id] }) => [`SFTP is off for ${id}.`],
    }),
    call({
      usage: 'sftp rotate <id>',
      summary: 'Create a new password. Open sessions end.',
      call: ({ api }, [id]) => api.POST('/v1/servers/{id}/sftp:rotatePassword', { ...on(id), body: {} }),
      shape: CREDENTIAL,
      show: opened,
    }),
  ],
};

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
      usage: 'database show <id>',
      summary: "Show the database's address, user and password.",
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
      usage: 'database create <id>',
      summary: 'Create the database.',
      call: ({ slow }, [id]) => slow.POST('/v1/servers/{id}/database', { ...on(id), body: {} }),
      shape: DATABASE,
      show: facts,
    }),
    call({
      usage: 'database rotate <id>',
      summary: 'Create a new password. Plugins need it to sign in again.',
      call: ({ api }, [id]) => api.POST('/v1/servers/{id}/database:rotatePassword', { ...on(id), body: {} }),
      shape: DATABASE,
      show: facts,
    }),
    call({
      usage: 'database drop <id>',
      summary: 'Permanently delete the database with all its data.',
      warning: ([id]) => `This permanently deletes the database of ${id} with all its data.`,
      call: ({ slow }, [id]) => slow.POST('/v1/servers/{id}/database:drop', { ...on(id), body: {} }),
      show: (_, { args: [id] }) => [`Deleted the database of ${id}.`],
    }),
  ],
};

const NETWORK = { addr: '', network: { front: '', address: '' } };

function placeOf({ addr, network: place }: typeof NETWORK): string {
  return place.front === ''
    ? `Public, at ${addr}.`
    : `A private backend of ${place.front}. Its address for the front: ${place.address}`;
}

const PORT = { slot: 0, containerPort: 0, hostPort: 0, proto: '', label: '', wakes: false as boolean, host: '' };
const PORTS = {
  id: '',
  ports: [PORT],
} satisfies Partial<Messages['Server']>;

function list({ id, ports }: typeof PORTS, out: Output): string[] {
  const none = `${id} has no extra ports. Add one with: ${DORMOUSE} ports add ${id} 24454/udp --label "voice chat"`;
  return listing(out, ports, none, {
    SLOT: ({ slot }) => String(slot),
    LABEL: ({ label }) => label,
    'GAME PORT': ({ containerPort, proto, wakes }) => `${containerPort}/${proto}${wakes ? ' (wakes)' : ''}`,
    'PUBLIC ADDRESS': ({ hostPort, host }) => fromOutside(host, hostPort),
  });
}

/** Returns the public address of a port; only the port if the game is on no machine. IPv6 addresses are in brackets. */
function fromOutside(host: string, port: number): string {
  if (host === '') return String(port);
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

function portOf(text: string): { containerPort: number; proto: 'tcp' | 'udp' } {
  const [, port = '', proto = 'tcp'] = /^(\d{1,5})(?:\/(tcp|udp))?$/.exec(text) ?? [];
  if (port === '') throw wrongUsage('A port must look like 24454/udp or 8123 (tcp).');
  return { containerPort: Number(port), proto: proto === 'udp' ? 'udp' : 'tcp' };
}

const NAMES = {
  address: '',
  names: [
    {
      name: '',
      state: '',
      provedAt: null as string | null,
      expiresAt: null as string | null,
      txtName: '',
      txtValue: '',
      srv: '',
    },
  ],
} satisfies Partial<Messages['ServerNames']>;

function names({ address, names: all }: typeof NAMES, out: Output): string[] {
  const none = `The address is ${address}. There are no own names and no former addresses.`;
  const rows = listing(out, all, none, {
    NAME: ({ name }) => name,
    STATE: ({ state }) => state,
    EXPIRES: ({ expiresAt }) => (expiresAt ?? '').slice(0, 10),
  });
  const records = all.flatMap(({ txtName, txtValue, srv }) => [
    ...(txtName === '' ? [] : [`${txtName}. 3600 IN TXT "${txtValue}"`]),
    ...(srv === '' ? [] : [srv]),
  ]);
  return [...rows, ...records];
}

/** `dormouse names`. */
export const ownNames: Subject = {
  name: 'names',
  summary: 'The address of a server, names of your own domain, and former addresses.',
  commands: [
    call({
      usage: 'names list <id>',
      summary: 'List names, with the DNS records to create.',
      call: ({ api }, [id]) => api.GET('/v1/servers/{id}/names', on(id)),
      shape: NAMES,
      show: (reply, { out }) => names(reply, out),
    }),
    call({
      usage: 'names add <id> <name>',
      summary: 'Add a name of your domain, or check its proof now.',
      call: ({ api }, [id, name = '']) => api.POST('/v1/servers/{id}/names', { ...on(id), body: { name } }),
      shape: NAMES,
      show: (reply, { out }) => names(reply, out),
    }),
    call({
      usage: 'names remove <id> <name>',
      summary: 'Remove a name or a former address.',
      call: ({ api }, [id, name = '']) => api.POST('/v1/servers/{id}/names:remove', { ...on(id), body: { name } }),
      shape: NAMES,
      show: (reply, { out }) => names(reply, out),
    }),
    call({
      usage: 'names change <id> <label>',
      summary: 'Change the first part of the address. The former one works for 30 more days.',
      call: ({ api }, [id, hostname = '']) =>
        api.POST('/v1/servers/{id}:setHostname', { ...on(id), body: { hostname } }),
      shape: NAMES,
      show: (reply, { out }) => names(reply, out),
    }),
  ],
};

/** `dormouse network`. */
export const network: Subject = {
  name: 'network',
  summary: 'Servers behind the front of a network, such as Velocity.',
  commands: [
    call({
      usage: 'network show <id>',
      summary: 'Show the address that the front needs.',
      call: ({ api }, [id]) => api.GET('/v1/servers/{id}', on(id)),
      shape: NETWORK,
      show: (reply) => [placeOf(reply)],
    }),
    call({
      usage: 'network set <id> <front>',
      summary: 'Make a server a private backend: of the server <front>, or of an external front (external).',
      call: ({ api }, [id, front = '']) => api.POST('/v1/servers/{id}:setNetwork', { ...on(id), body: { front } }),
      shape: NETWORK,
      show: (reply) => [placeOf(reply)],
    }),
    call({
      usage: 'network leave <id>',
      summary: 'Make a private backend public again.',
      call: ({ api }, [id]) => api.POST('/v1/servers/{id}:setNetwork', { ...on(id), body: { front: '' } }),
      shape: NETWORK,
      show: (reply) => [placeOf(reply)],
    }),
  ],
};

/** `dormouse ports`. */
export const ports: Subject = {
  name: 'ports',
  summary: 'Extra ports of a game, for example for voice chat or a web map.',
  commands: [
    call({
      usage: 'ports list <id>',
      summary: "List a server's extra ports.",
      call: ({ api }, [id]) => api.GET('/v1/servers/{id}', on(id)),
      shape: PORTS,
      show: (reply, { out }) => list(reply, out),
    }),
    call({
      usage: 'ports add <id> <port[/udp]>',
      summary: 'Open a port that a mod or plugin listens on. Applies at the next start.',
      options: {
        label: option('text', 'A description.'),
        wakes: flag('Bedrock players who join at the port wake the server (UDP, for Geyser).'),
      },
      call: ({ api }, [id, port = ''], { label = '', wakes = false }) =>
        api.POST('/v1/servers/{id}/ports', { ...on(id), body: { ...portOf(port), label, wakes } }),
      shape: PORTS,
      show: (reply, { out }) => list(reply, out),
    }),
    call({
      usage: 'ports remove <id> <slot>',
      summary: 'Close a port. Applies at the next start.',
      call: ({ api }, [id, slot = '']) =>
        api.POST('/v1/servers/{id}/ports:remove', { ...on(id), body: { slot: argumentNumber('slot', slot) } }),
      shape: PORTS,
      show: (reply, { out }) => list(reply, out),
    }),
  ],
};
