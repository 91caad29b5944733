import type { BannedAddress } from '../../proxy/link/messages.ts';
import { ACCOUNT_NAME, JoinRefused, type Player } from '../../proxy/ports.ts';
import { TEXTS } from '../../proxy/texts.ts';
import { SANDBOX } from '../game/cores.ts';
import { motdCodes, parseMotd } from '../game/motd/motd.ts';
import { isOn } from '../game/properties/format.ts';
import type { Ban, IpBan, PlayerFiles } from '../game/players/files.ts';
import { offlineUuid } from '../game/players/profiles.ts';
import type { Clock } from '../kernel/clock.ts';
import { StatusError } from '../kernel/status.ts';
import { DAY_MS } from '../kernel/units.ts';
import type { ServerRow } from '../servers/rows.ts';
import type { WakeCheck } from '../servers/wake-checks.ts';
import { openRowCache } from '../store/row-cache.ts';
import type { Sql, Store, Tx } from '../store/store.ts';
import { instantText } from '../web/text.ts';
import { listWakes, listWakesOfAccount, type WakePolicyRow, listWakePolicies, saveWakePolicy } from './rows.ts';

/** Players who can wake a server by joining, and its server-list text while asleep. */
export type WakePolicy = Readonly<Omit<WakePolicyRow, 'serverId'>>;

export type WakePolicies = Awaited<ReturnType<typeof openWakePolicies>>;

const ANYONE: WakePolicy = Object.freeze({ mode: 'anyone', maxWakesPerDay: 0, asleepMotd: '', maintenanceText: '' });

/** Opens the wake policies of all servers, held in memory because every login and every server list needs them. */
export async function openWakePolicies(store: Store) {
  const policies = await openRowCache(store, listWakePolicies, ({ serverId, ...policy }) => [serverId, policy]);
  return {
    of: (serverId: string) => policies.of(serverId) ?? ANYONE,
    /** Stores the policy. `also` runs in the same write. */
    async set(
      serverId: string,
      { mode, maxWakesPerDay, asleepMotd, maintenanceText }: WakePolicy,
      also: (tx: Tx) => Promise<void>,
    ): Promise<void> {
      const policy = { mode, maxWakesPerDay, asleepMotd, maintenanceText };
      await policies.set(serverId, policy, async (tx) => {
        await saveWakePolicy(tx, { serverId, ...policy });
        await also(tx);
      });
    },
    /** Forgets a deleted server, whose row is already gone. */
    forget: (serverId: string) => policies.forget(serverId),
  };
}

/** Decides who can join and wake servers, except for checks that the game makes itself. */
export interface JoinPolicy {
  policyOf(serverId: string): WakePolicy;
  /**
   * For a running game. It sees all players at the proxy's address, so address bans are enforced here. Rejects with
   * JoinRefused.
   */
  admit(serverId: string, player: Pick<Player, 'ip'>): Promise<void>;
  /**
   * Returns the bans that `admit` enforces, for proxies that decide on their own. The same array is returned until the
   * bans change.
   */
  bannedAddresses(serverId: string): Promise<readonly BannedAddress[]>;
  /** For a sleeping server: checks the owner's wake policy and the game's own bans. Rejects with JoinRefused. */
  mayWake(row: ServerRow, player: Player): Promise<void>;
  /**
   * For a sleeping server and a player of the Bedrock edition, who has no name yet: only a server that anyone may wake is
   * woken. Rejects with JoinRefused.
   */
  mayWakeUnnamed(row: ServerRow, ip: string): Promise<void>;
  /** The daily limit of wakes by players, checked for joins only: RESOURCE_EXHAUSTED WAKES_USED_UP. */
  wakeCap: WakeCheck;
}

const ADDRESS_BANNED = 'Your address is banned from this server.';

export function createJoinPolicy({
  files,
  policies,
  clock,
  store,
}: {
  files: PlayerFiles;
  policies: WakePolicies;
  clock: Clock;
  store: Sql;
}): JoinPolicy {
  const banTexts = new WeakMap<readonly IpBan[], readonly BannedAddress[]>();

  /** Returns why the player must not wake the server; undefined if they can. Cheap and informative rules come first. */
  async function refusal(row: ServerRow, player: Player): Promise<string | undefined> {
    const { mode, maintenanceText } = policies.of(row.id);
    const { id, name } = row;
    const ban = await files.banOf(id, player, clock.now());
    if (ban) return banText(`You are banned from ${name}.`, ban);
    if (!ACCOUNT_NAME.test(player.name) && !(await acceptsOtherNames(row))) return TEXTS.badName;
    if (maintenanceText !== '') return motdCodes(parseMotd(maintenanceText), { anyColor: true });
    if (mode === 'nobody') return `${name} is asleep. Only its owner can wake it.`;
    if (mode === 'verified' && !player.verified)
      return `${name} is asleep. Join again to verify your account and wake it.`;
    if (mode === 'known' && !(await isKnown(row, player)))
      return `${name} is asleep. Only players who have played here before can wake it.`;
    const isListed = (mode === 'whitelist' || (await isWhitelistOn(row))) && !(await files.isListed(id, player));
    return isListed ? `${name} is asleep. Only whitelisted players can wake it.` : undefined;
  }

  async function isKnown(row: ServerRow, player: Player): Promise<boolean> {
    if ((await files.isListed(row.id, player)) || (await files.hasPlayed(row.id, player))) return true;
    // Clients send their account's UUID, but a game that does not check accounts uses another one.
    return (
      !(await checksAccounts(row)) && (await files.hasPlayed(row.id, { ...player, uuid: offlineUuid(player.name) }))
    );
  }

  async function checksAccounts(row: ServerRow): Promise<boolean> {
    return isOn((await property(row, 'online-mode')) || 'true');
  }

  /** Whether the game may accept names that no account has, such as those of Bedrock players. */
  async function acceptsOtherNames(row: ServerRow): Promise<boolean> {
    const isSandboxDefault = row.type === SANDBOX && (await property(row, 'online-mode')) === '';
    return isSandboxDefault || !(await checksAccounts(row)) || files.hasFloodgate(row.id);
  }

  async function isWhitelistOn(row: ServerRow): Promise<boolean> {
    return isOn(await property(row, 'white-list'));
  }

  /**
   * Returns a property; '' if it is not set. The owner's setting takes precedence because the next boot writes it to
   * the file. Otherwise the file counts: the game may have changed it.
   */
  async function property({ id, properties }: ServerRow, name: string): Promise<string> {
    return properties[name] ?? (await files.property(id, name));
  }

  async function admit(serverId: string, { ip }: Pick<Player, 'ip'>): Promise<void> {
    const ban = await files.ipBanOf(serverId, ip, clock.now());
    if (ban) throw new JoinRefused(banText(ADDRESS_BANNED, ban));
  }

  return {
    policyOf: (serverId) => policies.of(serverId),
    admit,
    async bannedAddresses(serverId) {
      const bans = await files.ipBans(serverId, clock.now());
      const known = banTexts.get(bans) ?? bans.map((ban) => [ban.ip, ban.until, banText(ADDRESS_BANNED, ban)]);
      banTexts.set(bans, known);
      return known;
    },
    async mayWake(row, player) {
      await admit(row.id, player);
      const text = await refusal(row, player);
      if (text !== undefined) throw new JoinRefused(text);
    },
    async mayWakeUnnamed(row, ip) {
      await admit(row.id, { ip });
      const { mode, maintenanceText } = policies.of(row.id);
      if (maintenanceText !== '') throw new JoinRefused(motdCodes(parseMotd(maintenanceText), { anyColor: true }));
      if (mode !== 'anyone' || (await isWhitelistOn(row))) throw new JoinRefused('Asleep. A Java player must wake it');
    },
    async wakeCap({ id, accountId }, batchRead) {
      const { maxWakesPerDay } = policies.of(id);
      if (maxWakesPerDay === 0) return () => {};
      const at = clock.now();
      const since = at - (at % DAY_MS);
      const wakes = await (batchRead === undefined
        ? listWakes(store, id, since)
        : batchRead.once(listWakesOfAccount, accountId, () => listWakesOfAccount(store, accountId, since)));
      const byPlayers = wakes.filter(({ serverId, cause }) => serverId === id && isByPlayer(cause)).length;
      return () => {
        if (byPlayers >= maxWakesPerDay) throw usedUp(id, maxWakesPerDay);
      };
    },
  };
}

function isByPlayer(cause: string): boolean {
  return (JSON.parse(cause) as { kind?: unknown }).kind === 'player';
}

function banText(sentence: string, { reason, until }: Ban): string {
  const why = reason === '' ? '' : `\nReason: ${reason}`;
  return `${sentence}${why}${until === null ? '' : `\nIt ends on ${instantText(until)}.`}`;
}

function usedUp(server: string, limit: number): StatusError {
  const sentence = `This server reached its limit of ${limit} wakes by players per day. Start it, or raise the limit.`;
  return new StatusError('RESOURCE_EXHAUSTED', 'WAKES_USED_UP', sentence, {
    metadata: { server, limit: String(limit) },
    words: {
      player: 'This server reached its daily wake limit. Try again tomorrow, or ask its owner.',
      list: '§7Asleep: §fdaily wake limit reached',
      owner: {
        title: 'Daily wake limit reached. Press Start to wake it',
        mend: ['member', 'settings/joining', 'raise the limit'],
        others: 'joining works again tomorrow',
      },
    },
  });
}
