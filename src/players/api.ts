import { isIP } from 'node:net';
import { z } from 'zod';
import { isInForce } from '../game/players/files.ts';
import { PLAYER_NAME } from '../game/players/profiles.ts';
import { message, reply, text } from '../http/fields.ts';
import { Nothing } from '../http/nothing.ts';
import type { Operation } from '../http/operation.ts';
import type { Principal } from '../http/principal.ts';
import type { Clock } from '../kernel/clock.ts';
import { canonical } from '../kernel/ip.ts';
import { ServerParams } from '../servers/api/messages.ts';
import type { Reached, ServerOperation } from '../servers/api/operation.ts';
import { recordOnServer } from '../servers/api/reach.ts';
import type { Players, PlayersNow, WantedChange } from './players.ts';

/** What these operations work with. */
interface Needs {
  clock: Clock;
  players: Players;
  serverOperation: ServerOperation;
}

const WhitelistEntry = z.object({ name: reply.text, uuid: reply.text }).meta({ id: 'WhitelistEntry' });
const OpEntry = z
  .object({
    name: reply.text,
    uuid: reply.text,
    level: reply.int32.describe('0 to 4.'),
    bypassesPlayerLimit: reply.flag.describe('Comes in where the server is full.'),
  })
  .meta({ id: 'OpEntry' });
const ban = {
  created: reply.text.describe("In the game's own words: `2026-11-20 20:00:00 +0000`."),
  source: reply.text.describe('Who banned; `Rcon` for this API.'),
  expires: reply.text.describe('A date as in `created`, or `forever`.'),
  reason: reply.text.describe('Shown to who is refused.'),
};
const BanEntry = z.object({ uuid: reply.text, name: reply.text, ...ban }).meta({ id: 'BanEntry' });
const IpBanEntry = z.object({ ip: reply.text, ...ban }).meta({ id: 'IpBanEntry' });
const PlayerLists = z
  .object({
    online: z.array(z.string()).default([]).describe('Who is playing, by name.'),
    running: reply.flag,
    withoutConsole: reply.flag.describe(
      'The running game takes no commands: who is online is told by the proxy, and a change of a list has effect in the game when it starts next; bans are kept at the door at once.',
    ),
    whitelistEnforced: reply.flag.describe('Only who is on the whitelist, and operators, may come in.'),
    whitelist: z.array(WhitelistEntry).default([]),
    ops: z.array(OpEntry).default([]),
    banned: z.array(BanEntry).default([]).describe('Bans in force.'),
    bannedIps: z.array(IpBanEntry).default([]).describe('Bans in force.'),
  })
  .meta({ id: 'PlayerLists' });

const PlayerName = text(17)
  .regex(PLAYER_NAME, 'must be a name of a player: 1 to 16 letters, digits and underscores')
  .describe('With a dot before it: a player of the Bedrock edition, who has joined before.');

/** Blanks count as one: a command's words are told apart by them. */
const Reason = text(256)
  .regex(
    /^[^\p{Cc}\p{Bidi_Control}\u2028\u2029@]*$/u,
    'must not contain control characters, nor @, which the game takes for a choice of players',
  )
  .transform((reason) => reason.trim().replaceAll(/\s+/g, ' '))
  .default('');

const Ip = text(64)
  .refine((ip) => isIP(ip) !== 0 && !ip.includes('%'), 'must be an IP address')
  .transform(canonical)
  .meta({ pattern: `${z.regexes.ipv4.source}|${z.regexes.ipv6.source}` });

const common = { role: 'member', tag: 'control', params: ServerParams } as const;
const change = { ...common, method: 'post', scope: 'servers:write', reply: PlayerLists } as const;
const BOTH_WAYS =
  'Told to the game where it runs, written into its files where it sleeps; not while it starts or stops. What is so already stays as it is.';

const getPlayerLists = (needs: Needs) =>
  needs.serverOperation({
    ...common,
    role: 'limited',
    id: 'GetPlayerLists',
    method: 'get',
    path: '/v1/servers/{id}/players',
    scope: 'servers:read',
    summary: 'Get whitelist, operators, bans and who is online',
    description: "The game's own lists, whatever they were changed by, in every state of the server.",
    reply: PlayerLists,
    run: async ({ params }) => listsOf(params.id, needs),
  });

const setWhitelistEnforced = (needs: Needs) =>
  needs.serverOperation({
    ...change,
    id: 'SetWhitelistEnforced',
    path: '/v1/servers/{id}/players:setWhitelistEnforced',
    summary: 'Turn the whitelist on or off',
    description: `The property \`white-list\`. While it is on, nobody else wakes the server either. ${BOTH_WAYS}`,
    precondition: 'the server must not be starting, stopping or installing.',
    body: message({ enforced: z.boolean().default(false) }).meta({ id: 'SetWhitelistEnforcedRequest' }),
    example: { enforced: true },
    async run(call) {
      const { enforced } = call.body;
      const record = recordOf(call, needs, 'players.whitelistEnforced', enforced ? 'on' : 'off');
      await needs.players.enforceWhitelist(call.params.id, enforced, record);
      return listsOf(call.params.id, needs);
    },
  });

const setWhitelistEntry = (needs: Needs) =>
  needs.serverOperation({
    ...change,
    id: 'SetWhitelistEntry',
    path: '/v1/servers/{id}/players:setWhitelist',
    summary: 'Put a player on the whitelist, or take them off',
    description: BOTH_WAYS,
    precondition: 'the server must not be starting, stopping or installing.',
    body: message({ name: PlayerName, allowed: z.boolean().default(false) }).meta({ id: 'SetWhitelistEntryRequest' }),
    example: { name: 'Steve', allowed: true },
    async run(call) {
      const { name, allowed: listed } = call.body;
      return changed(call, needs, { list: 'whitelist', name, listed }, listed ? 'whitelist.add' : 'whitelist.remove');
    },
  });

const setBanEntry = (needs: Needs) =>
  needs.serverOperation({
    ...change,
    id: 'SetBanEntry',
    path: '/v1/servers/{id}/players:setBan',
    summary: 'Ban a player, or lift their ban',
    description: `Who is banned does not wake the server either, and reads the reason. A ban in force keeps its reason: to give another, lift it first. ${BOTH_WAYS}`,
    precondition: 'the server must not be starting, stopping or installing.',
    body: message({ name: PlayerName, banned: z.boolean().default(false), reason: Reason }).meta({
      id: 'SetBanEntryRequest',
    }),
    example: { name: 'Herobrine', banned: true, reason: 'Took the torches' },
    async run(call) {
      const { name, banned: listed, reason } = call.body;
      return changed(call, needs, { list: 'banned', name, listed, reason }, listed ? 'ban' : 'unban');
    },
  });

const setIpBanEntry = (needs: Needs) =>
  needs.serverOperation({
    ...change,
    id: 'SetIpBanEntry',
    path: '/v1/servers/{id}/players:setIpBan',
    summary: 'Ban an address, or lift its ban',
    description: `Kept at the door, asleep and awake: the game itself sees all players come from the same address. Who is in already stays in: kick them. ${BOTH_WAYS}`,
    precondition: 'the server must not be starting, stopping or installing.',
    body: message({ ip: Ip, banned: z.boolean().default(false), reason: Reason }).meta({ id: 'SetIpBanEntryRequest' }),
    example: { ip: '203.0.113.7', banned: true, reason: 'Spam' },
    async run(call) {
      const { ip, banned: listed, reason } = call.body;
      return changed(call, needs, { list: 'bannedIps', ip, listed, reason }, listed ? 'banIp' : 'unbanIp');
    },
  });

const setOpEntry = (needs: Needs) =>
  needs.serverOperation({
    ...change,
    id: 'SetOpEntry',
    path: '/v1/servers/{id}/players:setOp',
    summary: 'Make a player an operator, or no longer',
    description: `Of the level that \`op-permission-level\` says. ${BOTH_WAYS}`,
    precondition: 'the server must not be starting, stopping or installing.',
    body: message({ name: PlayerName, op: z.boolean().default(false) }).meta({ id: 'SetOpEntryRequest' }),
    example: { name: 'Steve', op: true },
    async run(call) {
      const { name, op: listed } = call.body;
      return changed(call, needs, { list: 'ops', name, listed }, listed ? 'op' : 'deop');
    },
  });

const kickPlayer = (needs: Needs) =>
  needs.serverOperation({
    ...common,
    id: 'KickPlayer',
    method: 'post',
    path: '/v1/servers/{id}/players:kick',
    scope: 'console',
    summary: 'Throw a player out',
    description: 'Of a running server; they may come back. To keep them out: SetBanEntry.',
    precondition: 'the server must run.',
    body: message({ name: PlayerName, reason: Reason }).meta({ id: 'KickPlayerRequest' }),
    example: { name: 'Steve', reason: 'Dinner is ready' },
    reply: Nothing,
    async run(call) {
      const { name, reason } = call.body;
      await needs.players.kick(call.params.id, name, reason, recordOf(call, needs, 'players.kick', name));
      return {};
    },
  });

type AnyCall = Pick<Reached, 'server'> & { params: { id: string }; principal: Principal };

async function changed(call: AnyCall, needs: Needs, wanted: WantedChange, verb: string) {
  // An address may be a person's: the audit log, which more people read, does without.
  const detail = wanted.list === 'bannedIps' ? '' : wanted.name;
  await needs.players.change(call.params.id, wanted, recordOf(call, needs, `players.${verb}`, detail));
  return listsOf(call.params.id, needs);
}

function recordOf({ server, principal }: AnyCall, needs: Needs, action: string, detail: string) {
  return recordOnServer(principal, server.row, { action, detail, at: needs.clock.now() });
}

async function listsOf(serverId: string, { players, clock }: Needs): Promise<z.input<typeof PlayerLists>> {
  const { lists, ...now } = await players.now(serverId);
  return { ...now, ...listsView(lists, clock.now()) };
}

/** Entries with what is known of them, each in its type: anybody may have written the files. */
function listsView({ whitelist, ops, banned, bannedIps }: PlayersNow['lists'], at: number) {
  const inForce = (entry: { expires: string }) => isInForce(entry, at);
  return {
    whitelist: whitelist.filter(isEntry).map(profileView),
    ops: ops.filter(isEntry).map(opView),
    banned: banned.filter(isEntry).map(banView).filter(inForce),
    bannedIps: bannedIps.filter(isEntry).map(ipBanView).filter(inForce),
  };
}

type Entry = Readonly<Record<string, unknown>>;

function isEntry(entry: unknown): entry is Entry {
  return typeof entry === 'object' && entry !== null;
}

function profileView(entry: Entry) {
  return { name: textIn(entry, 'name'), uuid: textIn(entry, 'uuid') };
}

function opView(entry: Entry) {
  const level = Number.isInteger(entry['level']) ? Math.min(4, Math.max(0, Number(entry['level']))) : 0;
  return { ...profileView(entry), level, bypassesPlayerLimit: entry['bypassesPlayerLimit'] === true };
}

function banView(entry: Entry) {
  return { ...profileView(entry), ...banIn(entry) };
}

function ipBanView(entry: Entry) {
  return { ip: textIn(entry, 'ip'), ...banIn(entry) };
}

function banIn(entry: Entry) {
  return {
    created: textIn(entry, 'created'),
    source: textIn(entry, 'source'),
    expires: textIn(entry, 'expires'),
    reason: textIn(entry, 'reason'),
  };
}

function textIn(entry: Entry, field: string): string {
  const value = entry[field];
  return typeof value === 'string' ? value : '';
}

export const playerOperations = (needs: Needs): readonly Operation[] => [
  getPlayerLists(needs),
  setWhitelistEnforced(needs),
  setWhitelistEntry(needs),
  setBanEntry(needs),
  setIpBanEntry(needs),
  setOpEntry(needs),
  kickPlayer(needs),
];
