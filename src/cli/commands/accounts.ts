import { DORMOUSE } from '../called.ts';
import { type Command, type Subject, call, on, option } from '../command.ts';
import { wrongUsage } from '../errors.ts';
import { aligned, listing, memory, money, sizeMb, some, words } from '../format.ts';
import { given } from '../parse.ts';
import type { Messages } from '../shapes.ts';
import { oneLine } from '../text.ts';
import { microsOf } from './wallet.ts';

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

function limitsText({ maxServers, maxRamMb }: typeof ACCOUNT): string {
  const count = maxServers === 0 ? 'unlimited servers' : some(maxServers, 'server');
  return `${count}, ${memory(maxRamMb)} of memory in total`;
}

function quotaText(mb: string): string {
  return mb === '0' ? 'unlimited' : sizeMb(mb);
}

/** −1 in the API stands for the installation's limit. */
function limitOf(option: string, value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  if (value === 'default') return -1;
  if (!/^\d{1,9}$/.test(value)) throw wrongUsage(`--${option} must be a whole number, or default.`);
  return Number(value);
}

/** `dormouse accounts`. */
export const accounts: Subject = {
  name: 'accounts',
  summary: 'Accounts: find, show, credit, limit.',
  commands: [
    call({
      usage: 'accounts list [search]',
      summary: 'Find accounts by part of an e-mail address, a name or an id.',
      call: ({ api }, [search = '']) => api.GET('/v1/operator/accounts', { params: { query: { search, limit: 50 } } }),
      shape: { accounts: [ACCOUNT] },
      show: ({ accounts }, { out }) =>
        listing(out, accounts, 'No account matches.', {
          ACCOUNT: ({ accountId }) => accountId,
          'E-MAIL': ({ email }) => email,
          BALANCE: ({ balanceMicros }) => money(balanceMicros),
          SERVERS: ({ servers }) => some(servers, 'server'),
          '': ({ operator }) => (operator ? 'operator' : ''),
        }),
    }),
    call({
      usage: 'accounts show <account>',
      summary: 'Show an account: its limits, and its servers with their disk usage.',
      call: ({ api }, [accountId = '']) =>
        api.GET('/v1/operator/accounts/{accountId}', { params: { path: { accountId } } }),
      shape: { account: ACCOUNT, secondFactor: false, servers: [SERVER] },
      show: ({ account, secondFactor, servers }, { out }) => [
        ...aligned([
          ['account', account.accountId],
          ['e-mail', `${account.email}${account.operator ? ', operator' : ''}`],
          ['second factor', secondFactor ? 'yes' : 'no'],
          ['balance', money(account.balanceMicros)],
          ['limits', limitsText(account)],
        ]),
        '',
        ...listing(out, servers, 'No servers.', {
          SERVER: (server) => server.id,
          STATE: (server) => (server.suspended ? `suspended: ${server.suspendReason}` : words(server.state)),
          MEMORY: (server) => memory(server.ramMb),
          DISK: (server) => `${sizeMb(server.diskUsageMb)} of ${quotaText(server.diskQuotaEffectiveMb)}`,
        }),
      ],
    }),
    call({
      usage: 'accounts limit <account>',
      summary: "Set an account's limits. Awake servers stay awake.",
      options: {
        servers: option('n', "Maximum number of servers. 0 = unlimited. Use default for the installation's limit."),
        ram: option('mb', "Maximum memory of all servers together in MB. Use default for the installation's limit."),
      },
      async call({ api }, [accountId = ''], { servers, ram }) {
        if (servers === undefined && ram === undefined) throw wrongUsage('Set a limit with --servers or --ram.');
        const body = given({ maxServers: limitOf('servers', servers), maxRamMb: limitOf('ram', ram) });
        return api.POST('/v1/operator/accounts/{accountId}:setLimits', { params: { path: { accountId } }, body });
      },
      shape: ACCOUNT,
      show: (account) => [`${account.accountId} can have ${limitsText(account)}.`],
    }),
    call({
      usage: 'accounts credit <account> <usd> <note>',
      summary: "Add a credit in US dollars. The account's owner sees the note.",
      call: ({ api }, [accountId = '', usd = '', note = '']) =>
        api.POST('/v1/operator/accounts/{accountId}:credit', {
          params: { path: { accountId } },
          body: { amountMicros: microsOf(usd), note },
        }),
      shape: ACCOUNT,
      show: ({ accountId, balanceMicros }) => [`${accountId} now has ${money(balanceMicros)}.`],
    }),
  ],
};

/** `dormouse invite`. */
export const invite = call({
  usage: 'invite <email>',
  summary: 'Invite someone to create an account (operators only).',
  details: `Your API key needs the operator scope. Keys from "dormouse login" do not have it. Create a key at
/profile/keys, then set DORMOUSE_KEY or use "dormouse login --key". The link works once, for seven days, for this
address only.`,
  call: ({ api }, [email = '']) => api.POST('/v1/operator/accounts:invite', { body: { email } }),
  shape: { link: '', sent: false },
  show({ link, sent }, { out, args: [email = ''] }) {
    const way = sent ? 'This link was sent by e-mail' : 'The service sends no e-mail, so pass this link on';
    return [
      `${oneLine(email)} can create an account. ${way}. It works once, for seven days:`,
      '',
      `  ${out.style('bold', link)}`,
    ];
  },
});

function suspending(verb: 'suspend' | 'unsuspend', summary: string, says: (id: string) => string): Command {
  return call({
    usage: `${verb} <id> <reason>`,
    summary,
    call: ({ api }, [id, reason = '']) =>
      api.POST(`/v1/operator/servers/{id}:${verb}`, { ...on(id), body: { reason } }),
    shape: { id: '' },
    show: ({ id }) => [says(id)],
  });
}

/** `dormouse suspend`. */
export const suspend = suspending(
  'suspend',
  'Suspend a server: stop it and keep it from waking. Its owner sees the reason.',
  (id) => `${id} is suspended. Its files are kept. Undo with: ${DORMOUSE} unsuspend ${id} <reason>`,
);

/** `dormouse unsuspend`. */
export const unsuspend = suspending(
  'unsuspend',
  'End a suspension, so that the server can wake again.',
  (id) => `${id} can wake again.`,
);

/** `dormouse quota`. */
export const quota = call({
  usage: 'quota <id> <mb> <reason>',
  summary: "Set a server's disk quota in MB. 0 = the installation's quota.",
  async call({ api }, [id, mb = '', reason = '']) {
    if (!/^\d{1,9}$/.test(mb)) throw wrongUsage('The quota must be a whole number of MB, such as 20480.');
    return api.POST('/v1/operator/servers/{id}:setDiskQuota', { ...on(id), body: { quotaMb: Number(mb), reason } });
  },
  shape: { id: '' },
  show: ({ id }, { args: [, mb] }) => [
    mb === '0' ? `${id} has the installation's quota again.` : `The files of ${id} can use ${mb} MB.`,
  ],
});
