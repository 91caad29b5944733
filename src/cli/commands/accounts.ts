import { done } from '../api.ts';
import { call, on } from '../call.ts';
import { DORMOUSE } from '../called.ts';
import { type Command, type Subject, command } from '../command.ts';
import { wrongUsage } from '../errors.ts';
import { memory, money, size, some, words } from '../format.ts';
import { type Messages, read } from '../shapes.ts';
import { aligned, listing } from '../table.ts';
import { oneLine } from '../text.ts';
import { microsOf } from './wallet.ts';

const MB = 1024 * 1024;

const ACCOUNT = {
  accountId: '',
  email: '',
  balanceMicros: '0',
  servers: 0,
  maxServers: 0,
  maxRamMb: 0,
  operator: false as boolean,
} satisfies Partial<Messages['OperatorAccount']>;

const SERVER = {
  id: '',
  state: '',
  ramMb: 0,
  suspended: false as boolean,
  suspendReason: '',
  diskUsageMb: '0',
  diskQuotaEffectiveMb: '0',
};

function limitsText({ maxServers, maxRamMb }: Pick<typeof ACCOUNT, 'maxServers' | 'maxRamMb'>): string {
  const count = maxServers === 0 ? 'any number of servers' : some(maxServers, 'server');
  return `${count}, ${memory(maxRamMb)} together`;
}

function sizeMb(mb: string): string {
  return mb === '0' ? 'any' : size(Number(mb) * MB);
}

/** −1 in the API stands for the installation's limit. */
function limitOf(option: string, value: string): number {
  if (value === 'default') return -1;
  if (!/^\d{1,9}$/.test(value)) throw wrongUsage(`--${option} must be a whole number, or default.`);
  return Number(value);
}

/** `dormouse accounts`. */
export const accounts: Subject = {
  name: 'accounts',
  summary: 'Accounts: find one, look into it, credit it, limit it.',
  commands: [
    call({
      name: 'accounts list',
      summary: 'Find accounts by a part of an address, a name or an id.',
      args: ['[search]'],
      call: ({ api }, [search = '']) => api.GET('/v1/operator/accounts', { params: { query: { search, limit: 50 } } }),
      shape: { accounts: [ACCOUNT] },
      show({ accounts }, { context: { terminal } }) {
        const rows = accounts.map(({ accountId, email, balanceMicros, servers, operator }) => [
          accountId,
          email,
          money(balanceMicros),
          some(servers, 'server'),
          operator ? 'operator' : '',
        ]);
        return listing(terminal.out, ['ACCOUNT', 'E-MAIL', 'BALANCE', 'SERVERS', ''], rows, 'No account matches.');
      },
    }),
    call({
      name: 'accounts show',
      summary: 'Show an account: its limits, and its servers with the disk that they take.',
      args: ['account'],
      call: ({ api }, [accountId = '']) =>
        api.GET('/v1/operator/accounts/{accountId}', { params: { path: { accountId } } }),
      shape: { account: ACCOUNT, secondFactor: false, servers: [SERVER] },
      show({ account, secondFactor, servers }, { context: { terminal } }) {
        const rows = servers.map((server) => [
          server.id,
          server.suspended ? `suspended: ${server.suspendReason}` : words(server.state),
          memory(server.ramMb),
          `${sizeMb(server.diskUsageMb)} of ${sizeMb(server.diskQuotaEffectiveMb)}`,
        ]);
        return [
          ...aligned([
            ['account', account.accountId],
            ['e-mail', `${account.email}${account.operator ? ', operator' : ''}`],
            ['second factor', secondFactor ? 'yes' : 'no'],
            ['balance', money(account.balanceMicros)],
            ['may have', limitsText(account)],
          ]),
          '',
          ...listing(terminal.out, ['SERVER', 'STATE', 'MEMORY', 'DISK'], rows, 'It has no servers.'),
        ];
      },
    }),
    call({
      name: 'accounts limit',
      summary: 'Set what an account may have. Servers that are awake stay awake.',
      args: ['account'],
      options: {
        servers: { type: 'string', value: 'n', help: "How many servers; 0: no limit, default: the installation's." },
        ram: {
          type: 'string',
          value: 'mb',
          help: "Memory of those awake together, in MB; default: the installation's.",
        },
      },
      async call({ api }, [accountId = ''], { servers, ram }) {
        if (servers === undefined && ram === undefined) throw wrongUsage('Name a limit: --servers or --ram.');
        const body = {
          ...(servers !== undefined && { maxServers: limitOf('servers', servers) }),
          ...(ram !== undefined && { maxRamMb: limitOf('ram', ram) }),
        };
        return api.POST('/v1/operator/accounts/{accountId}:setLimits', { params: { path: { accountId } }, body });
      },
      shape: ACCOUNT,
      show: (account) => [`${account.accountId} may have ${limitsText(account)}.`],
    }),
    call({
      name: 'accounts credit',
      summary: 'Book a credit, in US dollars; its owner reads the note.',
      args: ['account', 'usd', 'note'],
      call: ({ api }, [accountId = '', usd = '', note = '']) =>
        api.POST('/v1/operator/accounts/{accountId}:credit', {
          params: { path: { accountId } },
          body: { amountMicros: microsOf(usd), note },
        }),
      shape: ACCOUNT,
      show: ({ accountId, balanceMicros }) => [`${accountId} has ${money(balanceMicros)} now.`],
    }),
  ],
};

/** `dormouse invite`. */
export const invite: Command = command({
  name: 'invite',
  summary: 'Let somebody make an account, as an operator.',
  args: ['email'],
  details: `The key must have the scope operator, which one that "dormouse login" gets in the browser has not: make one at
/profile/keys, and set DORMOUSE_KEY or sign in with it by "dormouse login --key". The link works for seven days, once, for this address alone.`,
  async run({ api, json, document, terminal: { out } }, [email = '']) {
    const reply = await done(api.POST('/v1/operator/accounts:invite', { body: { email } }));
    if (json) return document(reply);
    const { link, sent } = read({ link: '', sent: false }, reply);
    const way = sent ? 'This link was sent there' : 'No mail is set up there, so pass this link on';
    out.line(`${oneLine(email)} may make an account. ${way}; it works for seven days, once:`);
    out.line('');
    out.line(`  ${out.style('bold', oneLine(link))}`);
  },
});

/** `dormouse suspend`. */
export const suspend = call({
  name: 'suspend',
  summary: "Stop anybody's server, and let nothing wake it; its owner reads the reason.",
  args: ['id', 'reason'],
  call: ({ api }, [id, reason = '']) => api.POST('/v1/operator/servers/{id}:suspend', { ...on(id), body: { reason } }),
  shape: { id: '' },
  show: ({ id }) => [`${id} is suspended. Its files stay. End it with: ${DORMOUSE} unsuspend ${id} <reason>`],
});

/** `dormouse unsuspend`. */
export const unsuspend = call({
  name: 'unsuspend',
  summary: 'End that: the server may wake again.',
  args: ['id', 'reason'],
  call: ({ api }, [id, reason = '']) =>
    api.POST('/v1/operator/servers/{id}:unsuspend', { ...on(id), body: { reason } }),
  shape: { id: '' },
  show: ({ id }) => [`${id} may wake again.`],
});

/** `dormouse quota`. */
export const quota = call({
  name: 'quota',
  summary: 'Set what the files of a server may take, in MB; 0: as the installation has it.',
  args: ['id', 'mb', 'reason'],
  async call({ api }, [id, mb = '', reason = '']) {
    if (!/^\d{1,9}$/.test(mb)) throw wrongUsage('A quota is in whole MB, like 20480.');
    return api.POST('/v1/operator/servers/{id}:setDiskQuota', { ...on(id), body: { quotaMb: Number(mb), reason } });
  },
  shape: { id: '' },
  show: ({ id }, { args: [, mb] }) => [
    mb === '0' ? `${id} has the quota of the installation again.` : `The files of ${id} may take ${mb} MB.`,
  ],
});
