import { done } from '../api.ts';
import { type Subject, call, command, flag, ofAccount, on, option } from '../command.ts';
import { wrongUsage } from '../errors.ts';
import { aligned, duration, listing, memory, money, relative, words } from '../format.ts';
import { given, instant } from '../parse.ts';
import { type Messages, read } from '../shapes.ts';
import { oneLine } from '../text.ts';

const CAP = {
  monthlyMicros: '0',
  spentMicros: '0',
  action: '',
  burnMicrosPerHour: '0',
  runwayMinutes: 0,
  servers: [{ serverId: '', spentMicros: '0' }],
  perGbHourMicros: '0',
} satisfies Partial<Messages['SpendCap']>;

const ENTRY = { serverId: '', kind: '', amountMicros: '0', note: '', ts: '' } satisfies Partial<
  Messages['LedgerEntry']
>;

function capRows({
  monthlyMicros,
  spentMicros,
  action,
  burnMicrosPerHour,
  runwayMinutes,
  servers,
  perGbHourMicros,
}: typeof CAP): string[][] {
  const cap = `${money(monthlyMicros)}, then ${action === 'stop' ? 'servers go to sleep' : 'an e-mail'}`;
  const lasts = runwayMinutes < 0 ? '' : `; the balance lasts for ${duration(runwayMinutes * 60)}`;
  return [
    ['this month', money(spentMicros)],
    ...servers.map(({ serverId, spentMicros }, index) => [
      index === 0 ? 'of that' : '',
      `${serverId} ${money(spentMicros)}`,
    ]),
    ['cap', monthlyMicros === '0' ? 'none' : cap],
    ['now', burnMicrosPerHour === '0' ? 'no spending' : `${money(burnMicrosPerHour)} per hour${lasts}`],
    ['price', `${money(perGbHourMicros)} per GB of memory per hour awake`],
  ];
}

/** Parses an amount such as `5` or `2.50` into micros. Throws wrong usage. */
export function microsOf(text: string): string {
  const [, sign = '', whole = '', part = ''] = /^([-−]?)\$?(\d{1,9})(?:[.,](\d{1,6}))?$/.exec(text) ?? [];
  if (whole === '') throw wrongUsage('The amount must be in US dollars, such as 5 or 2.50.');
  const micros = BigInt(whole + part.padEnd(6, '0'));
  return String(sign === '' ? micros : -micros);
}

/** `dormouse wallet`. */
export const wallet: Subject = {
  name: 'wallet',
  summary: "Your account's money: balance, ledger, spend cap, limits, top-up.",
  commands: [
    command({
      usage: 'wallet show',
      summary: "Show the balance, this month's cost, and how long the balance lasts.",
      async run({ api, json, document, terminal: { out } }) {
        const account = await ofAccount(api);
        const wallet = await done(api.GET('/v1/accounts/{accountId}/wallet', account));
        const cap = await done(api.GET('/v1/accounts/{accountId}/spend-cap', account));
        if (json) return document({ wallet, spendCap: cap });
        const { balanceMicros } = read({ balanceMicros: '0' }, wallet);
        for (const line of aligned([['balance', money(balanceMicros)], ...capRows(read(CAP, cap, oneLine))]))
          out.line(line);
      },
    }),
    call({
      usage: 'wallet ledger',
      summary: 'List the ledger, newest first.',
      options: { last: option('n', 'Number of entries (default 20).', 'n') },
      async call({ api }, _, { last = '20' }) {
        if (!/^\d{1,4}$/.test(last)) throw wrongUsage('--last must be a whole number.');
        const { params } = await ofAccount(api);
        return api.GET('/v1/accounts/{accountId}/ledger', { params: { ...params, query: { limit: Number(last) } } });
      },
      shape: { entries: [ENTRY] },
      show: ({ entries }, { out, now }) =>
        listing(out, entries, 'The ledger is empty.', {
          WHEN: ({ ts }) => relative(ts, now),
          TYPE: ({ kind }) => words(kind),
          AMOUNT: ({ amountMicros }) => money(amountMicros),
          SERVER: ({ serverId }) => serverId,
          NOTE: ({ note }) => note,
        }),
    }),
    call({
      usage: 'wallet cap <usd>',
      summary: 'Set a monthly spend cap in US dollars. 0 = no cap.',
      options: { stop: flag('Put servers to sleep at the cap. Otherwise, only an e-mail is sent.') },
      async call({ api }, [usd = ''], { stop = false }) {
        const body = { monthlyMicros: microsOf(usd), action: stop ? ('stop' as const) : ('notify' as const) };
        return api.POST('/v1/accounts/{accountId}/spend-cap', { ...(await ofAccount(api)), body });
      },
      shape: CAP,
      show: (cap) => aligned(capRows(cap)),
    }),
    call({
      usage: 'wallet limits',
      summary: 'Show the memory limit of all your servers together.',
      call: async ({ api }) => api.GET('/v1/accounts/{accountId}/limits', await ofAccount(api)),
      shape: { maxRamMb: 0 },
      show: ({ maxRamMb }) => [`Your servers can have ${memory(maxRamMb)} of memory together.`],
    }),
    call({
      usage: 'wallet top-up <usd>',
      summary: 'Get a link to a payment page, for whole US dollars.',
      async call({ api }, [usd = '']) {
        if (!/^\d{1,4}$/.test(usd)) throw wrongUsage('The amount must be in whole US dollars, such as 5.');
        const body = { amountUsd: Number(usd) };
        return api.POST('/v1/accounts/{accountId}/checkout-link', { ...(await ofAccount(api)), body });
      },
      shape: { checkoutUrl: '' },
      show: ({ checkoutUrl }, { out }) => [
        'Pay on this page in a browser. The balance is updated after the payment:',
        '',
        `  ${out.style('bold', checkoutUrl)}`,
      ],
    }),
  ],
};

const SESSION = {
  startedAt: '',
  ending: '',
  cause: { kind: '', id: '', note: '' },
  ramMb: 0,
  minutes: 0,
  amountMicros: '0',
} satisfies Partial<Messages['AwakeSession']>;

/** `dormouse usage`. */
export const usage = call({
  usage: 'usage <id>',
  summary: "Show a server's bill: when it was awake, who woke it, and the cost.",
  options: {
    from: option('day', 'Start: 2026-11-01, or 7d for seven days ago (default: 30 days ago).'),
    to: option('day', 'End (default: now).'),
  },
  call({ api }, [id], { from, to }) {
    const now = Date.now();
    const query = given({
      from: from === undefined ? undefined : instant('from', from, now, 'ago'),
      to: to === undefined ? undefined : instant('to', to, now, 'ago'),
    });
    return api.GET('/v1/servers/{id}/usage', { params: { ...on(id).params, query } });
  },
  shape: { sessions: [SESSION], gbHours: 0, amountMicros: '0', hourMicros: '0' },
  show({ sessions, gbHours, amountMicros, hourMicros }, { out, args: [id], now }) {
    const none = `${id} was not awake in this period.`;
    return [
      ...listing(out, sessions, none, {
        WOKEN: ({ startedAt }) => relative(startedAt, now),
        BY: ({ cause }) => (cause.id.startsWith(cause.kind) ? cause.id : `${cause.kind} ${cause.id}`),
        AWAKE: ({ minutes }) => `${minutes} min`,
        MEMORY: ({ ramMb }) => memory(ramMb),
        COST: ({ amountMicros }) => money(amountMicros),
        ENDED: ({ ending }) => (ending === '' ? 'awake now' : words(ending)),
      }),
      '',
      `Total: ${money(amountMicros)} for ${Number(gbHours.toFixed(2))} GB hours. The next hour awake costs ${money(hourMicros)}.`,
    ];
  },
});
