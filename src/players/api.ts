import { isIP } from 'node:net';
import * as z from 'zod';
import { PLAYER_NAME } from '../game/players/profiles.ts';
import { invalidFields } from '../http/errors.ts';
import { message, text } from '../http/fields.ts';
import { Nothing } from '../http/nothing.ts';
import { operation } from '../http/operation.ts';
import type { Served } from '../http/serve.ts';
import type { Principal } from '../http/principal.ts';
import type { Clock } from '../kernel/clock.ts';
import { canonical } from '../kernel/ip.ts';
import { ServerParams } from '../servers/api/messages.ts';
import { recordOnServer } from '../servers/api/reach.ts';
import { PlayerLists, listsView } from './lists-view.ts';
import type { Players, WantedChange } from './players.ts';
import { SECOND_MS } from '../kernel/units.ts';
import type { Shared } from '../servers/shared.ts';
import type { ServerNow } from '../servers/server-now.ts';

const PlayerName = text(17)
  .regex(PLAYER_NAME, 'must be a player name: 1 to 16 letters, digits and underscores')
  .describe('Player name. A prefix (one of `.*+~!`) means a Bedrock player who has joined before.');

/** A run of blanks becomes one, because commands separate words by blanks. */
const Reason = text(256)
  .regex(
    /^[^\p{Cc}\p{Bidi_Control}\u2028\u2029@]*$/u,
    'must not contain control characters or @, which the game treats as a player selector',
  )
  .transform((reason) => reason.trim().replaceAll(/\s+/g, ' '))
  .default('');

/** Dates in lists have seconds and years of four digits. */
const LAST_AT = Date.UTC(9999, 0);
const Expires = z.iso
  .datetime({ offset: true, error: 'must be a time such as 2030-01-31T12:00:00Z' })
  .transform((instant) => Math.ceil(Date.parse(instant) / SECOND_MS) * SECOND_MS)
  .refine((at) => at < LAST_AT, 'must be before the year 9999')
  .optional()
  .describe('When the ban ends. Absent: never.');

const Ip = text(64)
  .refine((ip) => isIP(ip) !== 0 && !ip.includes('%'), 'must be an IP address')
  .transform(canonical)
  .meta({ pattern: `${z.regexes.ipv4.source}|${z.regexes.ipv6.source}` });

const COMMON = { auth: 'key', role: 'member', section: 'Players', params: ServerParams } as const;
const CHANGE = { ...COMMON, method: 'post', scope: 'servers:write', reply: PlayerLists } as const;
const ENDS =
  'With `expires`, the ban ends automatically at that time, in every state of the server. A ban in force keeps its ' +
  'reason and its end: lift it first to change them. The console of a running game does not support an end, so the game shows ' +
  'the end as part of the reason until its next start.';
const BOTH_WAYS =
  'Applied through the console while the game runs, and in its files while the server is asleep. Fails while the ' +
  'server starts or stops. Does nothing if nothing would change.';

export const GetPlayerLists = operation({
  ...COMMON,
  role: 'limited',
  id: 'GetPlayerLists',
  expensive: true,
  method: 'get',
  path: '/v1/servers/{id}/players',
  scope: 'servers:read',
  summary: 'Get whitelist, operators, bans and who is online',
  description: "Returns the game's own lists, whatever changed them. Works in every state.",
  reply: PlayerLists,
});

export const SetWhitelistEnforced = operation({
  ...CHANGE,
  id: 'SetWhitelistEnforced',
  path: '/v1/servers/{id}/players:setWhitelistEnforced',
  summary: 'Turn the whitelist on or off',
  description: `Sets the property \`white-list\`. While it is on, only listed players and operators can join or wake the server. ${BOTH_WAYS}`,
  precondition: 'the server must not be starting, stopping or installing.',
  body: message({ enforced: z.boolean().default(false) }).meta({ id: 'SetWhitelistEnforcedRequest' }),
  example: { enforced: true },
});

export const SetWhitelistEntry = operation({
  ...CHANGE,
  id: 'SetWhitelistEntry',
  path: '/v1/servers/{id}/players:setWhitelist',
  summary: 'Add a player to the whitelist, or remove them',
  description: BOTH_WAYS,
  precondition: 'the server must not be starting, stopping or installing.',
  body: message({ name: PlayerName, allowed: z.boolean().default(false) }).meta({ id: 'SetWhitelistEntryRequest' }),
  example: { name: 'Steve', allowed: true },
});

export const SetBanEntry = operation({
  ...CHANGE,
  id: 'SetBanEntry',
  path: '/v1/servers/{id}/players:setBan',
  summary: 'Ban a player, or lift their ban',
  description: `Banned players can’t join or wake the server. They see the reason. ${ENDS} ${BOTH_WAYS}`,
  precondition: 'the server must not be starting, stopping or installing.',
  body: message({
    name: PlayerName,
    banned: z.boolean().default(false),
    reason: Reason,
    expires: Expires,
  }).meta({ id: 'SetBanEntryRequest' }),
  example: { name: 'Herobrine', banned: true, reason: 'Took the torches', expires: '2030-01-31T12:00:00Z' },
});

export const SetIpBanEntry = operation({
  ...CHANGE,
  id: 'SetIpBanEntry',
  path: '/v1/servers/{id}/players:setIpBan',
  summary: 'Ban an address, or lift its ban',
  description: `The proxy refuses the address in every state, because the game sees all players under one address. Players online from it are kicked. ${ENDS} ${BOTH_WAYS}`,
  precondition: 'the server must not be starting, stopping or installing.',
  body: message({
    ip: Ip,
    banned: z.boolean().default(false),
    reason: Reason,
    expires: Expires,
  }).meta({ id: 'SetIpBanEntryRequest' }),
  example: { ip: '203.0.113.7', banned: true, reason: 'Spam' },
});

export const SetOpEntry = operation({
  ...CHANGE,
  id: 'SetOpEntry',
  path: '/v1/servers/{id}/players:setOp',
  summary: 'Add or remove an operator of the game',
  description: `New operators get the level in \`op-permission-level\`. ${BOTH_WAYS}`,
  precondition: 'the server must not be starting, stopping or installing.',
  body: message({ name: PlayerName, op: z.boolean().default(false) }).meta({ id: 'SetOpEntryRequest' }),
  example: { name: 'Steve', op: true },
});

export const KickPlayer = operation({
  ...COMMON,
  id: 'KickPlayer',
  method: 'post',
  path: '/v1/servers/{id}/players:kick',
  scope: 'console',
  summary: 'Kick a player',
  description: 'Disconnects a player from a running server. They can rejoin. To keep them out, use SetBanEntry.',
  precondition: 'the server must be running.',
  body: message({ name: PlayerName, reason: Reason }).meta({ id: 'KickPlayerRequest' }),
  example: { name: 'Steve', reason: 'Dinner is ready' },
  reply: Nothing,
});

/** Returns the end in epoch ms; null for a permanent ban. Throws INVALID_FIELD for an instant in the past. */
function endOf({ banned, expires }: { banned: boolean; expires?: number | undefined }, clock: Clock): number | null {
  if (!banned || expires === undefined) return null;
  if (expires <= clock.now()) throw invalidFields([{ field: 'expires', description: 'must be in the future' }]);
  return expires;
}

interface AnyCall {
  server: ServerNow;
  params: { id: string };
  principal: Principal;
}

export function playerOperations({ serveServer, clock }: Shared, players: Players): readonly Served[] {
  async function changed(call: AnyCall, wanted: WantedChange, action: string) {
    // IP addresses are omitted: they may be personal data, and the audit log has more readers.
    const detail = wanted.list === 'bannedIps' ? '' : wanted.name;
    await players.change(call.params.id, wanted, recordOf(call, action, detail));
    return listsOf(call.params.id);
  }

  function recordOf({ server, principal }: AnyCall, action: string, detail: string) {
    return recordOnServer(principal, server.row, { action, detail, at: clock.now() });
  }

  async function listsOf(serverId: string): Promise<z.input<typeof PlayerLists>> {
    const { lists, ...now } = await players.now(serverId);
    return { ...now, ...listsView(lists, clock.now()) };
  }

  return [
    serveServer(GetPlayerLists, async ({ params }) => listsOf(params.id)),
    serveServer(SetWhitelistEnforced, async (call) => {
      const { enforced } = call.body;
      const record = recordOf(call, 'players.whitelistEnforced', enforced ? 'on' : 'off');
      await players.enforceWhitelist(call.params.id, enforced, record);
      return listsOf(call.params.id);
    }),
    serveServer(SetWhitelistEntry, async (call) => {
      const { name, allowed: listed } = call.body;
      return changed(
        call,
        { list: 'whitelist', name, listed },
        listed ? 'players.whitelist.add' : 'players.whitelist.remove',
      );
    }),
    serveServer(SetBanEntry, async (call) => {
      const { name, banned: listed, reason } = call.body;
      const until = endOf(call.body, clock);
      return changed(call, { list: 'banned', name, listed, reason, until }, listed ? 'players.ban' : 'players.unban');
    }),
    serveServer(SetIpBanEntry, async (call) => {
      const { ip, banned: listed, reason } = call.body;
      const until = endOf(call.body, clock);
      return changed(
        call,
        { list: 'bannedIps', ip, listed, reason, until },
        listed ? 'players.banIp' : 'players.unbanIp',
      );
    }),
    serveServer(SetOpEntry, async (call) => {
      const { name, op: listed } = call.body;
      return changed(call, { list: 'ops', name, listed }, listed ? 'players.op' : 'players.deop');
    }),
    serveServer(KickPlayer, async (call) => {
      const { name, reason } = call.body;
      await players.kick(call.params.id, name, reason, recordOf(call, 'players.kick', name));
    }),
  ];
}
