import { setTimeout as delay } from 'node:timers/promises';
import type { Engine } from '../engines/engine.ts';
import { kickCommand } from '../game/players/changes.ts';
import { PLAYER_NAME } from '../game/players/profiles.ts';
import { canonical } from '../kernel/ip.ts';
import { StatusError } from '../kernel/status.ts';
import { type ConsoleAccess, hasNoConsole, runOnGame } from '../servers/game-console.ts';
import { playerNotOnline } from '../servers/refusals.ts';
import type { ServerNow } from '../servers/server-now.ts';

/** A player joined to a game, as the proxy knows them. */
export interface Joined {
  name: string;
  ip: string;
}

export interface TypedCommandAccess extends ConsoleAccess {
  engine: Engine;
  joined: (serverId: string) => readonly Joined[];
  /** Called when a game's list of banned addresses has changed. */
  onAddressBan: (serverId: string) => void;
}

/** `ban-ip <target> [<reason>]`, as in vanilla and in plugins that replace it. */
const BAN_IP = /^(\s*(?:\w+:)?ban-?ip\s+)(\S+)(.*)$/is;
const OPENS_WITHIN_MS = 3_000;
const RETRY_MS = 250;
const PARDON_IP = /^\s*(?:\w+:)?(?:pardon|un-?ban)-?ip\b/i;

/**
 * Runs a typed command. The game sees all players at the proxy's address, so a ban of a player's address would lock
 * everyone out. It becomes a ban of the address that the proxy knows: the join policy enforces it, and players from
 * there are kicked. Rejects like `runOnGame`, and with NOT_FOUND PLAYER_NOT_ONLINE or FAILED_PRECONDITION
 * PROXY_ADDRESS.
 */
export async function runTyped(access: TypedCommandAccess, server: ServerNow, command: string): Promise<string> {
  const [, words, target, reason = ''] = BAN_IP.exec(command) ?? [];
  if (words === undefined || target === undefined) {
    const said = await onceItListens(() => runOnGame(access, server, command));
    if (PARDON_IP.test(command)) access.onAddressBan(server.row.id);
    return said;
  }
  const joined = access.joined(server.row.id);
  const ip = canonical(target) || canonical(joined.find(({ name }) => isName(name, target))?.ip ?? '');
  if (ip === '') throw playerNotOnline(server, target);
  if ((await access.engine.proxyAddresses()).includes(ip)) throw everybodys(server);
  const said = await onceItListens(() => runOnGame(access, server, `${words}${ip}${reason}`));
  await kickBanned(access, server, { ip, reason: reason.trim() });
  access.onAddressBan(server.row.id);
  return said;
}

/**
 * Retries for a while. A game opens its console after its port, and later on a busy machine. Until then it must not
 * count as a game without a console.
 */
async function onceItListens(run: () => Promise<string>): Promise<string> {
  for (let tries = 1; ; tries++) {
    try {
      return await run();
    } catch (error) {
      if (!hasNoConsole(error) || tries * RETRY_MS > OPENS_WITHIN_MS) throw error;
      await delay(RETRY_MS);
    }
  }
}

/**
 * Kicks the players of a banned address with the reason. The game cannot, because all players come from the proxy's
 * address; the proxy would disconnect them without a message.
 */
export async function kickBanned(
  access: TypedCommandAccess,
  server: ServerNow,
  { ip, reason }: { ip: string; reason: string },
): Promise<void> {
  const text = `You have been IP banned.${reason === '' ? '' : ` Reason: ${reason}`}`;
  const players = access.joined(server.row.id).filter((player) => canonical(player.ip) === ip);
  for (const { name } of players) if (PLAYER_NAME.test(name)) await runOnGame(access, server, kickCommand(name, text));
}

function isName(name: string, typed: string): boolean {
  return name.toLowerCase() === typed.toLowerCase();
}

function everybodys({ row }: ServerNow): StatusError {
  const sentence =
    'The game sees all players come from this address: they play on the machine that runs Dormouse, or it is the ' +
    'address of Dormouse itself. Ban the player by name.';
  return new StatusError('FAILED_PRECONDITION', 'PROXY_ADDRESS', sentence, { metadata: { server: row.id } });
}
