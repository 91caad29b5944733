import { DORMOUSE } from '../called.ts';
import { type Command, type Subject, call, on, option } from '../command.ts';
import { aligned, some } from '../format.ts';
import { instant, onOff } from '../parse.ts';

const BAN = { created: '', source: '', expires: '', reason: '' };
/** The game's own lists. */
const LISTS = {
  online: [''],
  running: false as boolean,
  whitelistEnforced: false as boolean,
  whitelist: [{ name: '' }],
  ops: [{ name: '', level: 0 }],
  banned: [{ name: '', ...BAN }],
  bannedIps: [{ ip: '', ...BAN }],
};
type Lists = typeof LISTS;

const IP = /^(?:\d{1,3}(?:\.\d{1,3}){3}|[\da-f]*:[\da-f:]+)$/i;

function facts({ online, running, whitelistEnforced, whitelist, ops, banned, bannedIps }: Lists): string[] {
  const bans = [
    ...banned.map((ban) => ({ who: ban.name, ...ban })),
    ...bannedIps.map((ban) => ({ who: ban.ip, ...ban })),
  ];
  return aligned([
    ['online', running ? online.join(', ') || 'no players' : 'no players: the server is asleep'],
    ['whitelist', `${whitelistEnforced ? 'on' : 'off'}: ${names(whitelist)}`],
    ['operators', names(ops)],
    ...bans.map(({ who, expires, reason }, index) => [
      index === 0 ? 'banned' : '',
      `${who}${/^(?:forever)?$/.test(expires) ? '' : `, until ${expires}`}${reason === '' ? '' : `: ${reason}`}`,
    ]),
    ...(bans.length === 0 ? [['banned', 'none']] : []),
  ]);
}

function names(players: readonly { name: string }[]): string {
  return players.map(({ name }) => name).join(', ') || 'none';
}

/** Creates a command that adds a player to a list or removes one. */
function membership(
  name: string,
  summary: string,
  path: 'setWhitelist' | 'setOp',
  field: 'allowed' | 'op',
  isIn: boolean,
  says: (player: string, id: string) => string,
): Command {
  return call({
    usage: `players ${name} <id> <player>`,
    summary,
    call: ({ api }, [id, player = '']) =>
      api.POST(`/v1/servers/{id}/players:${path}`, { ...on(id), body: { name: player, [field]: isIn } }),
    shape: LISTS,
    show: (_, { args: [id = '', player = ''] }) => [says(player, id)],
  });
}

const REASON = option('text', 'The message for the player.');

const ban = call({
  usage: 'players ban <id> <player|address>',
  summary: 'Ban a player or an IP address from joining and waking a server.',
  options: {
    reason: REASON,
    for: option('time', 'Duration: 30min, 12h, 7d, 2w (default: permanent).'),
    until: option('day', 'End of the ban, such as 2026-12-24 or 2026-12-24T18:00:00Z.'),
  },
  details: `Example: ${DORMOUSE} players ban castle Steve --for 7d --reason "Broke the bridge"`,
  call({ api }, [id, who = ''], { reason = '', for: span, until }) {
    const now = Date.now();
    const end =
      until === undefined ? span && instant('for', span, now, 'ahead') : instant('until', until, now, 'ahead');
    const more = { banned: true, reason, ...(end && { expires: end }) };
    return IP.test(who)
      ? api.POST('/v1/servers/{id}/players:setIpBan', { ...on(id), body: { ip: who, ...more } })
      : api.POST('/v1/servers/{id}/players:setBan', { ...on(id), body: { name: who, ...more } });
  },
  shape: LISTS,
  show({ banned, bannedIps }, { args: [id, who = ''] }) {
    const made =
      banned.find(({ name }) => name.toLowerCase() === who.toLowerCase()) ?? bannedIps.find(({ ip }) => ip === who);
    const end = made === undefined || /^(?:forever)?$/.test(made.expires) ? '' : ` until ${made.expires}`;
    return [`${who} is banned from ${id}${end}.`];
  },
});

const pardon = call({
  usage: 'players pardon <id> <player|address>',
  summary: 'Unban a player or an IP address.',
  call: ({ api }, [id, who = '']) =>
    IP.test(who)
      ? api.POST('/v1/servers/{id}/players:setIpBan', { ...on(id), body: { ip: who, banned: false } })
      : api.POST('/v1/servers/{id}/players:setBan', { ...on(id), body: { name: who, banned: false } }),
  shape: LISTS,
  show: (_, { args: [id, who] }) => [`${who} can join ${id} again.`],
});

const whitelist = call({
  usage: 'players whitelist <id> <on|off>',
  summary:
    'Turn the whitelist on or off. While it is on, only listed players and operators can join or wake the server.',
  call: ({ api }, [id, word = '']) =>
    api.POST('/v1/servers/{id}/players:setWhitelistEnforced', { ...on(id), body: { enforced: onOff(word) } }),
  shape: LISTS,
  show: ({ whitelistEnforced, whitelist }, { args: [id] }) => [
    `The whitelist of ${id} is ${whitelistEnforced ? 'on' : 'off'}, with ${some(whitelist.length, 'player')}.`,
  ],
});

/** `dormouse players`. */
export const players: Subject = {
  name: 'players',
  summary: 'Players online, whitelist, operators and bans.',
  commands: [
    call({
      usage: 'players list <id>',
      summary: 'Show the players online, the whitelist, the operators and the bans.',
      call: ({ api }, [id]) => api.GET('/v1/servers/{id}/players', on(id)),
      shape: LISTS,
      show: facts,
    }),
    membership('allow', 'Add a player to the whitelist.', 'setWhitelist', 'allowed', true, (player, id) => {
      return `${player} is on the whitelist of ${id}.`;
    }),
    membership('disallow', 'Remove a player from the whitelist.', 'setWhitelist', 'allowed', false, (player, id) => {
      return `${player} is no longer on the whitelist of ${id}.`;
    }),
    whitelist,
    membership('op', 'Make a player an operator of the game.', 'setOp', 'op', true, (player, id) => {
      return `${player} is an operator of ${id}.`;
    }),
    membership('deop', 'Remove a player from the operators.', 'setOp', 'op', false, (player, id) => {
      return `${player} is no longer an operator of ${id}.`;
    }),
    ban,
    pardon,
    call({
      usage: 'players kick <id> <player>',
      summary: 'Kick a player from a running server. They can join again.',
      options: { reason: REASON },
      call: ({ api }, [id, name = ''], { reason = '' }) =>
        api.POST('/v1/servers/{id}/players:kick', { ...on(id), body: { name, reason } }),
      show: (_, { args: [id, player] }) => [`Kicked ${player} from ${id}.`],
    }),
  ],
};
