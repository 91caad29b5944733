import * as z from 'zod';
import { isInForce, termsOf } from '../game/players/ban-ends.ts';
import { reply } from '../http/fields.ts';
import type { PlayersNow } from './players.ts';

type Entry = Readonly<Record<string, unknown>>;

const WhitelistEntry = z.object({ name: reply.text, uuid: reply.text }).meta({ id: 'WhitelistEntry' });
const OpEntry = z
  .object({
    name: reply.text,
    uuid: reply.text,
    level: reply.int32.describe('0 to 4.'),
    bypassesPlayerLimit: reply.flag.describe('Can join a full server.'),
  })
  .meta({ id: 'OpEntry' });
const ban = {
  created: reply.text.describe("In the game's format: `2026-11-20 20:00:00 +0000`."),
  source: reply.text.describe('Who created the ban. `Rcon` for this API.'),
  expires: reply.text.describe('When the ban ends: a date as in `created`, or `forever`.'),
  reason: reply.text.describe('Shown to the player.'),
};
const BanEntry = z.object({ uuid: reply.text, name: reply.text, ...ban }).meta({ id: 'BanEntry' });
const IpBanEntry = z.object({ ip: reply.text, ...ban }).meta({ id: 'IpBanEntry' });
/** The lists of a server's players, as the API shows them. */
export const PlayerLists = z
  .object({
    online: z.array(z.string()).default([]).describe('Online players, by name.'),
    running: reply.flag,
    withoutConsole: reply.flag.describe(
      'The running game accepts no commands. `online` comes from the proxy, and list changes apply in the game at ' +
        'its next start. The proxy applies address bans immediately.',
    ),
    accountsChecked: reply.flag.describe(
      'Whether the game checks Minecraft accounts (`online-mode`). If not, anyone can join under any name.',
    ),
    whitelistEnforced: reply.flag.describe('Whether only whitelisted players and operators can join.'),
    whitelist: z.array(WhitelistEntry).default([]),
    ops: z.array(OpEntry).default([]),
    banned: z.array(BanEntry).default([]).describe('Bans in force.'),
    bannedIps: z.array(IpBanEntry).default([]).describe('Bans in force.'),
  })
  .meta({ id: 'PlayerLists' });

/** Returns list entries with their known fields, each checked for its type, because the files may have any content. */
export function listsView({ whitelist, ops, banned, bannedIps }: PlayersNow['lists'], at: number) {
  const inForce = (entry: { expires: string }) => isInForce(entry, at);
  return {
    whitelist: whitelist.filter(isEntry).map(profileView),
    ops: ops.filter(isEntry).map(opView),
    banned: banned.filter(isEntry).map(banView).filter(inForce),
    bannedIps: bannedIps.filter(isEntry).map(ipBanView).filter(inForce),
  };
}

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
  return termsOf({
    created: textIn(entry, 'created'),
    source: textIn(entry, 'source'),
    expires: textIn(entry, 'expires'),
    reason: textIn(entry, 'reason'),
  });
}

function textIn(entry: Entry, field: string): string {
  const value = entry[field];
  return typeof value === 'string' ? value : '';
}
