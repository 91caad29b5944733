import type { Profile } from '../engines/console/profile.ts';
import type { Pinger } from '../engines/pinger.ts';
import { onlinePlayers, sampledPlayers } from '../game/online-players.ts';
import {
  PLAYER_LISTS,
  type PlayerChange,
  type PlayerList,
  commandOf,
  isAsWanted,
  isEnded,
  isNewBan,
  kickCommand,
  withChange,
} from '../game/players/changes.ts';
import { entryOf } from '../game/players/files.ts';
import type { PlayerListFiles } from '../game/players/list-files.ts';
import type { Profiles } from '../game/players/minecraft-accounts.ts';
import { type Names, PLAYER_NAME, profileOf, rememberedAs } from '../game/players/profiles.ts';
import { isOn } from '../game/properties/format.ts';
import { inProgress } from '../jail/change-lock.ts';
import type { Clock } from '../kernel/clock.ts';
import { sleep } from '../kernel/sleep.ts';
import { StatusError } from '../kernel/status.ts';
import { serverNotFound } from '../access/owned-servers.ts';
import { hasNoConsole, rconOf, runOnGame } from '../servers/game-console.ts';
import { playerNotOnline, wrongState } from '../servers/refusals.ts';
import { isStopped } from '../servers/snapshots.ts';
import { type TypedCommandAccess, kickBanned } from './typed-commands.ts';
import type { ServerRow } from '../servers/rows.ts';
import type { RowChange, ServerNow } from '../servers/server-now.ts';
import type { Servers } from '../servers/servers.ts';
import type { Shared } from '../servers/shared.ts';
import type { Store, Tx } from '../store/store.ts';

/** Player lists and online players. Entries of lists are as in the game's files. */
export interface PlayersNow {
  running: boolean;
  /** Names; empty while the game does not run. */
  online: string[];
  /** The game accepts no commands: online players are those the proxy knows, and changes apply from the next start. */
  withoutConsole: boolean;
  /** The game verifies Minecraft accounts (`online-mode`). */
  accountsChecked: boolean;
  whitelistEnforced: boolean;
  lists: Readonly<Record<PlayerList, readonly unknown[]>>;
}

/**
 * A requested change of a list, by name or normalized address. `reason` '' means the game's default; `until` (epoch ms,
 * whole seconds) null is permanent.
 */
export type WantedChange =
  | { list: 'whitelist' | 'ops'; name: string; listed: boolean }
  | { list: 'banned'; name: string; listed: boolean; reason: string; until: number | null }
  | { list: 'bannedIps'; ip: string; listed: boolean; reason: string; until: number | null };

/** Runs in the write of a change, before the game is notified. */
type InWrite = (tx: Tx) => Promise<void>;

/** One change, as commands and as a change of files. */
interface TwoWays {
  /** Sent in order; the answer to the last one counts. */
  commands: readonly string[];
  /** Whether the game's files show the change. */
  isDone(): Promise<boolean>;
  /** Makes the change in the files of a game that is not running. */
  write(): Promise<void>;
  /** Changes of the server's row in the same write. */
  fields?: RowChange;
}

const WHITELIST = 'white-list';
/** Vanilla's default: operators have all permissions. */
const OP_LEVEL = 4;
/** Number of checks for a change. A game writes its files before it answers; one with plugins may be a little late. */
const LOOKS = 8;
const LOOK_MS = 250;
const SAID_UNITS = 200;
const STATUS_WITHIN_MS = 3_000;

/**
 * Player lists of a server. While it sleeps, changes are made in the game's files; while it runs, through its console,
 * with the same result. For a running game without a console, changes are also made in its files, which it reads at the
 * next start. Changes reject with FAILED_PRECONDITION: SERVER_PASSING while the game starts or stops, LIST_UNREADABLE,
 * or GAME_REFUSED if the game did not make the change; NOT_FOUND PLAYER_NOT_FOUND; UNAVAILABLE ACCOUNTS_UNAVAILABLE;
 * and with the errors of `runOnGame`.
 */
export class Players {
  readonly #servers: Servers;
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #access: TypedCommandAccess;
  readonly #files: PlayerListFiles;
  readonly #profiles: Profiles;
  readonly #pinger: Pinger;

  constructor(
    { servers, store, clock }: Shared,
    access: TypedCommandAccess,
    { files, profiles, pinger }: { files: PlayerListFiles; profiles: Profiles; pinger: Pinger },
  ) {
    this.#servers = servers;
    this.#store = store;
    this.#clock = clock;
    this.#access = access;
    this.#files = files;
    this.#profiles = profiles;
    this.#pinger = pinger;
  }

  async now(serverId: string): Promise<PlayersNow> {
    const now = await this.#get(serverId);
    const running = now.state === 'running';
    const [{ online, withoutConsole }, properties, whitelist, ops, banned, bannedIps] = await Promise.all([
      this.#onlineOn(now),
      this.#propertiesOf(now),
      this.#listOf(now, 'whitelist'),
      this.#listOf(now, 'ops'),
      this.#listOf(now, 'banned'),
      this.#listOf(now, 'bannedIps'),
    ]);
    const lists = { whitelist, ops, banned, bannedIps };
    const accountsChecked = isOnlineMode(properties);
    const whitelistEnforced = isOn(properties.get(WHITELIST));
    return { running, online, withoutConsole, accountsChecked, whitelistEnforced, lists };
  }

  async change(serverId: string, wanted: WantedChange, record: InWrite): Promise<void> {
    const now = await this.#get(serverId);
    const change = await this.#changeFor(now, wanted);
    const file = PLAYER_LISTS[change.list];
    const lifted = isNewBan(change) && isEnded(await this.#listOf(now, change.list), change, this.#clock.now());
    const commands = [...(lifted ? [commandOf({ ...change, listed: false })] : []), commandOf(change)];
    const isDone = async () => isAsWanted(await this.#files.read(serverId, file), change, this.#clock.now());
    const write = async () => {
      const changed = withChange(await this.#files.read(serverId, file), change, this.#clock.now());
      if (changed) await this.#files.write(serverId, file, changed);
    };
    await this.#apply(serverId, { commands, isDone, write }, record);
    if (change.list !== 'bannedIps') return;
    if (change.listed) await this.#kickBanned(serverId, change);
    this.#access.onAddressBan(serverId);
  }

  /**
   * Kicks the players of a banned address. The ban holds even if the game refuses the kick: the proxy then disconnects
   * them.
   */
  async #kickBanned(serverId: string, ban: { ip: string; reason: string }): Promise<void> {
    const now = await this.#get(serverId);
    if (now.state === 'running') await kickBanned(this.#access, now, ban).catch(() => {});
  }

  async enforceWhitelist(serverId: string, enforced: boolean, record: InWrite): Promise<void> {
    const value = String(enforced);
    const isDone = async () => {
      const isIt = (await this.#files.properties(serverId)).get(WHITELIST) === value;
      if (isIt) await this.#files.keepProperty(serverId, { name: WHITELIST });
      return isIt;
    };
    const write = () => this.#files.keepProperty(serverId, { name: WHITELIST, value });
    // The owner's property would otherwise overwrite the file at the next start.
    const fields = ({ properties }: ServerRow) =>
      Object.hasOwn(properties, WHITELIST) ? { properties: { ...properties, [WHITELIST]: value } } : {};
    const commands = [`whitelist ${enforced ? 'on' : 'off'}`];
    await this.#apply(serverId, { commands, isDone, write, fields }, record);
  }

  /**
   * Kicks a player. Rejects with NOT_FOUND PLAYER_NOT_ONLINE, FAILED_PRECONDITION SERVER_NOT_RUNNING, or the errors of
   * `runOnGame`.
   */
  async kick(serverId: string, name: string, reason: string, record: InWrite): Promise<void> {
    const now = await this.#get(serverId);
    rconOf(now);
    const isHim = (other: string) => other.toLowerCase() === name.toLowerCase();
    const player = (await this.#onlineOn(now)).online.find(isHim);
    if (player === undefined) throw playerNotOnline(now, name);
    await this.#store.write(record);
    const said = await runOnGame(this.#access, now, kickCommand(player, reason));
    const isGone = await this.#holdsSoon(async () => !(await this.#onlineOn(now)).online.some(isHim));
    // A player who rejoined at once was still kicked.
    if (!isGone && !said.startsWith('Kicked ')) throw gameRefused(now, said);
  }

  async #get(serverId: string): Promise<ServerNow> {
    const now = await this.#servers.get(serverId);
    if (!now) throw serverNotFound(serverId);
    return now;
  }

  #propertiesOf(now: ServerNow): Promise<ReadonlyMap<string, string>> {
    return this.#files.properties(now.row.id, isStopped(now) ? now.row : undefined);
  }

  async #listOf({ row, state }: ServerNow, list: PlayerList): Promise<unknown[]> {
    try {
      return await this.#files.read(row.id, PLAYER_LISTS[list]);
    } catch (error) {
      // The game may be writing the file.
      if (state !== 'running') throw error;
      await sleep(this.#clock, LOOK_MS);
      return this.#files.read(row.id, PLAYER_LISTS[list]);
    }
  }

  async #namesOf(now: ServerNow): Promise<Names> {
    const properties = await this.#propertiesOf(now);
    const remembered = await this.#remembered(now);
    const onlineMode = isOnlineMode(properties) || (await this.#files.accountsForwarded(now.row.id));
    return { onlineMode, remembered, at: this.#clock.now() };
  }

  /** Returns the profile of a name from its list entry, which works even if the account is gone or renamed. */
  async #listedAs(now: ServerNow, list: PlayerList, name: string): Promise<Profile> {
    const remembered = rememberedAs(name, await this.#namesOf(now));
    const entries = (await this.#listOf(now, list)).filter((entry) => typeof entry === 'object' && entry !== null);
    const named = entries.find((entry) => entryOf(entry).name === name.toLowerCase());
    const entry = named ?? entries.find((entry) => remembered && entryOf(entry).uuid === remembered.uuid);
    const { name: spelled } = (entry ?? {}) as { name?: unknown };
    const isName = typeof spelled === 'string' && PLAYER_NAME.test(spelled);
    return { name: isName ? spelled : name, uuid: remembered?.uuid ?? '' };
  }

  async #changeFor(now: ServerNow, wanted: WantedChange): Promise<PlayerChange> {
    if (wanted.list === 'bannedIps') return wanted;
    const { name, list, listed } = wanted;
    const who = listed
      ? await profileOf(name, await this.#namesOf(now), this.#profiles)
      : await this.#listedAs(now, list, name);
    if (wanted.list === 'banned') return { ...wanted, list: 'banned', who };
    if (wanted.list === 'whitelist') return { ...wanted, list: 'whitelist', who };
    const level = (await this.#propertiesOf(now)).get('op-permission-level') ?? '';
    return { ...wanted, list: 'ops', who, level: /^[0-4]$/.test(level) ? Number(level) : OP_LEVEL };
  }

  async #apply(serverId: string, change: TwoWays, record: InWrite): Promise<void> {
    const { commands, fields } = change;
    const now = await this.#get(serverId);
    if (isStopped(now)) {
      // Runs while the server accepts no other command, so no game can start until the files are complete.
      const write = async (tx: Tx) => {
        await record(tx);
        await change.write();
      };
      await this.#servers.patchAtRest(serverId, fields ?? {}, write).catch(async (error: unknown) => {
        const isAwake = error instanceof StatusError && error.reason === 'SERVER_NOT_STOPPED';
        throw isAwake ? passing(await this.#get(serverId)) : error;
      });
      return;
    }
    if (now.state !== 'running') throw passing(now);
    // Recorded before the command, because the game acts on it at once.
    await this.#store.write(record);
    const said = await orNoConsole(() => this.#runAll(now, commands));
    if (said === undefined) await change.write();
    else if (!(await this.#holdsSoon(() => change.isDone()))) throw gameRefused(now, said);
    if (fields) await this.#servers.patch(serverId, fields);
  }

  async #runAll(now: ServerNow, commands: readonly string[]): Promise<string> {
    let said = '';
    for (const command of commands) said = await runOnGame(this.#access, now, command);
    return said;
  }

  /**
   * Checks up to `LOOKS` times. An error also leads to another check, because a file that a game is writing is broken
   * for a moment.
   */
  async #holdsSoon(isDone: () => Promise<boolean>): Promise<boolean> {
    for (let attempt = 1; ; attempt++) {
      try {
        if (await isDone()) return true;
        if (attempt === LOOKS) return false;
      } catch (error) {
        if (attempt === LOOKS) throw error;
      }
      await sleep(this.#clock, LOOK_MS);
    }
  }

  async #onlineOn(now: ServerNow): Promise<{ online: string[]; withoutConsole: boolean }> {
    if (now.state !== 'running') return { online: [], withoutConsole: false };
    const said = await orNoConsole(() => runOnGame(this.#access, now, 'list'));
    const joined = this.#access.joined(now.row.id).map(({ name }) => name);
    if (said === undefined) return { online: [...new Set(joined)], withoutConsole: true };
    const remembered = (await this.#remembered(now)).flatMap((entry) => {
      const { name } = (entry ?? {}) as { name?: unknown };
      return typeof name === 'string' ? [name] : [];
    });
    return {
      online: await onlinePlayers(said, { joined, remembered, sample: () => this.#sample(now) }),
      withoutConsole: false,
    };
  }

  /** Returns the accounts cached by the game. Without them, accounts are looked up. */
  #remembered(now: ServerNow): Promise<unknown[]> {
    return this.#files.read(now.row.id, 'usercache.json').catch(() => []);
  }

  async #sample({ context }: ServerNow): Promise<string[] | undefined> {
    try {
      if (context.address === null) return undefined;
      return sampledPlayers((await this.#pinger.status(context.address, STATUS_WITHIN_MS)).raw);
    } catch {
      return undefined;
    }
  }
}

/** Resolves with undefined if the game has no console. */
async function orNoConsole<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (hasNoConsole(error)) return undefined;
    throw error;
  }
}

function passing({ row, state, context }: ServerNow): StatusError {
  if (context.job !== null) return inProgress(row.id, context.job.kind);
  const sentence = `The server is busy (${state}). Try again when it is running or asleep.`;
  return wrongState('SERVER_PASSING', sentence, { server: row.id, state });
}

function gameRefused({ row }: ServerNow, said: string): StatusError {
  const words = said
    .replaceAll(/§./g, '')
    .replaceAll(/\p{C}+/gu, ' ')
    .trim()
    .slice(0, SAID_UNITS);
  const answer = words === '' ? '' : ` It answered: "${words}".`;
  const sentence = `The game did not apply the change.${answer} Lists can also be changed while the server is asleep.`;
  return new StatusError('FAILED_PRECONDITION', 'GAME_REFUSED', sentence, { metadata: { server: row.id } });
}

function isOnlineMode(properties: ReadonlyMap<string, string>): boolean {
  const value = properties.get('online-mode');
  return value === undefined || isOn(value);
}
