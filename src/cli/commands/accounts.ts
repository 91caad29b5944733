import { call } from '../call.ts';
import type { Subject } from '../command.ts';
import { wrongUsage } from '../errors.ts';
import { memory, money, size, some, words } from '../format.ts';
import type { Messages } from '../shapes.ts';
import { aligned, listing } from '../table.ts';
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
