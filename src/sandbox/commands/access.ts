import { isIP } from 'node:net';
import type { Game } from '../game.ts';
import { type Profile, sameName, vanillaDate } from '../player-lists.ts';
import { type Call, type Command, CommandError, playerName, rest, word } from './command.ts';

const DEFAULT_BAN_REASON = 'Banned by an operator.';

/** Commands for whitelist, operators and bans. */
export const ACCESS_COMMANDS: Command[] = [
  { name: 'kick', usage: 'kick <target> [<reason>]', run: kick },
  { name: 'ban', usage: 'ban <target> [<reason>]', run: ban },
  { name: 'pardon', usage: 'pardon <target>', run: pardon },
  { name: 'ban-ip', usage: 'ban-ip <target> [<reason>]', run: banIp },
  { name: 'pardon-ip', usage: 'pardon-ip <target>', run: pardonIp },
  { name: 'banlist', usage: 'banlist [ips|players]', silent: true, run: banlist },
  { name: 'op', usage: 'op <target>', run: op },
  { name: 'deop', usage: 'deop <target>', run: deop },
];

function kick(call: Call): string {
  const player = call.game.online(word(call, 0));
  if (!player) throw new CommandError('No player was found');
  const reason = rest(call, 1, 'Kicked by an operator');
  player.kick(reason);
  return `Kicked ${player.name}: ${reason}`;
}

function ban(call: Call): string {
  const { game, source } = call;
  const profile = profileOf(game, playerName(call, 0));
  const reason = rest(call, 1, DEFAULT_BAN_REASON);
  game.lists.dropExpired();
  if (game.lists.banOf(profile)) throw new CommandError('Nothing changed. The player is already banned');
  game.lists.bans.add({
    ...profile,
    created: vanillaDate(Date.now()),
    source: source.name,
    expires: 'forever',
    reason,
  });
  game.online(profile.name)?.kick('You are banned from this server');
  return `Banned ${profile.name}: ${reason}`;
}

function pardon(call: Call): string {
  const name = playerName(call, 0);
  const pardoned = call.game.lists.bans.remove((entry) => sameName(entry.name, name));
  if (!pardoned) throw new CommandError("Nothing changed. The player isn't banned");
  return `Unbanned ${pardoned.name}`;
}

function banIp(call: Call): string {
  const { game, source } = call;
  const target = word(call, 0);
  const ip = isIP(target) ? target : game.online(target)?.ip;
  if (!ip) throw new CommandError('Invalid IP address or unknown player');
  const reason = rest(call, 1, DEFAULT_BAN_REASON);
  game.lists.dropExpired();
  if (game.lists.ipBanOf(ip)) throw new CommandError('Nothing changed. That IP is already banned');
  game.lists.ipBans.add({ ip, created: vanillaDate(Date.now()), source: source.name, expires: 'forever', reason });
  const affected = [...game.players.values()].filter((player) => player.ip === ip);
  for (const player of affected) player.kick('You have been IP banned.');
  const names = affected.map(({ name }) => name).join(', ');
  const effect = affected.length > 0 ? `\nThis ban affects ${affected.length} player(s): ${names}` : '';
  return `Banned IP ${ip}: ${reason}${effect}`;
}

function pardonIp(call: Call): string {
  const ip = word(call, 0);
  if (!isIP(ip)) throw new CommandError('Invalid IP address');
  if (!call.game.lists.ipBans.remove((entry) => entry.ip === ip)) {
    throw new CommandError("Nothing changed. That IP isn't banned");
  }
  return `Unbanned IP ${ip}`;
}

function banlist({ game: { lists }, words }: Call): string {
  lists.dropExpired();
  const players = words[0] === 'ips' ? [] : lists.bans.entries.map((ban) => ({ ...ban, who: ban.name }));
  const ips = words[0] === 'players' ? [] : lists.ipBans.entries.map((ban) => ({ ...ban, who: ban.ip }));
  const bans = [...players, ...ips];
  if (bans.length === 0) return 'There are no bans';
  const lines = bans.map(({ who, source, reason }) => `${who} was banned by ${source}: ${reason}`);
  return [`There are ${bans.length} ban(s):`, ...lines].join('\n');
}

function op(call: Call): string {
  const { lists, properties } = call.game;
  const profile = profileOf(call.game, playerName(call, 0));
  if (lists.operator(profile)) throw new CommandError('Nothing changed. The player already is an operator');
  lists.ops.add({ ...profile, level: properties.number('op-permission-level', 0, 4), bypassesPlayerLimit: false });
  return `Made ${profile.name} a server operator`;
}

function deop(call: Call): string {
  const name = playerName(call, 0);
  const operator = call.game.lists.ops.remove((entry) => sameName(entry.name, name));
  if (!operator) throw new CommandError('Nothing changed. The player is not an operator');
  return `Made ${operator.name} no longer a server operator`;
}

/** Returns the profile of a typed name: the online player, else a known one, else an offline player. */
export function profileOf(game: Game, name: string): Profile {
  const player = game.online(name);
  return player ? { uuid: player.uuid, name: player.name } : game.lists.profile(name);
}
