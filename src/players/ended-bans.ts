import { isIP } from 'node:net';
import { pardonCommand, pardonIpCommand } from '../game/players/changes.ts';
import type { PlayerFiles } from '../game/players/files.ts';
import { PLAYER_NAME } from '../game/players/profiles.ts';
import { every } from '../kernel/every.ts';
import { MINUTE_MS } from '../kernel/units.ts';
import { hasNoConsole, runOnGame } from '../servers/game-console.ts';
import type { ServerNow } from '../servers/server-now.ts';
import type { Shared } from '../servers/shared.ts';
import type { TypedCommandAccess } from './typed-commands.ts';

/** How often the games' lists are checked. Checking an unchanged file is one system call. */
const LOOK_MS = 5_000;
/** Delay before the command is repeated to a game that did not obey. */
const AGAIN_MS = MINUTE_MS;

/**
 * Lifts expired bans in running games, which do not expire them (`ban-ends.ts`). Returns a function that stops this.
 */
export function liftEndedBans(
  { servers, clock, log }: Shared,
  access: TypedCommandAccess,
  files: PlayerFiles,
): () => void {
  /** When each command was last sent, by server and command. */
  let notified = new Map<string, number>();

  async function lift(server: ServerNow, now: Map<string, number>): Promise<void> {
    const { id } = server.row;
    const { names, ips } = await files.ended(id, clock.now());
    if (ips.length > 0) access.onAddressBan(id);
    const commands = [
      ...names.filter((name) => PLAYER_NAME.test(name)).map(pardonCommand),
      ...ips.filter((ip) => isIP(ip) !== 0).map(pardonIpCommand),
    ];
    for (const command of commands) {
      const key = `${id} ${command}`;
      const last = notified.get(key) ?? -Infinity;
      const isDue = Math.abs(clock.now() - last) >= AGAIN_MS;
      now.set(key, isDue ? clock.now() : last);
      if (isDue) await runOnGame(access, server, command);
    }
  }

  async function check(): Promise<void> {
    const now = new Map<string, number>();
    const running = servers.live().filter(({ state }) => state === 'running');
    await Promise.all(
      running.map((server) =>
        lift(server, now).catch((err: unknown) => {
          if (!hasNoConsole(err)) log.warn({ server: server.row.id, err }, 'could not lift an ended ban yet');
        }),
      ),
    );
    notified = now;
  }

  let isLooking = false;
  return every(clock, LOOK_MS, () => {
    if (isLooking) return;
    isLooking = true;
    void check().finally(() => (isLooking = false));
  });
}
