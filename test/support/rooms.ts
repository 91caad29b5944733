import { createHmac } from 'node:crypto';
import { openOffSite } from '../../src/backups/offsite/offsite.ts';
import type { Machine } from '../../src/billing/capacity.ts';
import { openBilling } from '../../src/billing/open.ts';
import { type Checkout, createTestCheckout } from '../../src/billing/payments.ts';
import { loadConfig } from '../../src/config.ts';
import type { Databases } from '../../src/databases/databases.ts';
import type { Console } from '../../src/engines/console/console.ts';
import { createManagement } from '../../src/engines/console/management.ts';
import type { CoreBuilds } from '../../src/engines/process/cores/core-builds.ts';
import type { TrustedWithCode } from '../../src/engines/process/confined.ts';
import { openFiles } from '../../src/files/open.ts';
import { createPlayerFiles } from '../../src/game/players/files.ts';
import type { Profiles } from '../../src/game/players/minecraft-accounts.ts';
import type { AnsweredRequest } from '../../src/http/app.ts';
import { createStreamSlots } from '../../src/http/stream-slots.ts';
import type { Notice } from '../../src/insight/alerts/body.ts';
import type { WebhookOutbox } from '../../src/insight/alerts/outbox.ts';
import type { Exposition } from '../../src/insight/prometheus.ts';
import type { Disk } from '../../src/jail/space.ts';
import { createJoinPolicy, openWakePolicies } from '../../src/joining/join-policy.ts';
import type { Entrance } from '../../src/joining/open.ts';
import type { OpenedProxies } from '../../src/joining/link/open-proxies.ts';
import type { ProxyView } from '../../src/joining/link/proxies.ts';
import type { ResolveTxt } from '../../src/joining/own-names.ts';
import { openPublicStatuses } from '../../src/joining/public-status.ts';
import type { OnClose } from '../../src/kernel/closers.ts';
import type { Log } from '../../src/kernel/log.ts';
import { modOperations } from '../../src/mods/api.ts';
import type { Mods } from '../../src/mods/mods.ts';
import { openMods } from '../../src/mods/open.ts';
import type { ModRegistry } from '../../src/mods/registries/registry.ts';
import type { Mailer } from '../../src/mail/mail.ts';
import type { Joined } from '../../src/players/typed-commands.ts';
import { ServerPorts } from '../../src/ports/ports.ts';
import { type Settings, openRooms as openRealRooms } from '../../src/rooms.ts';
import type { Secret } from '../../src/store/secret.ts';
import { steadyOf } from '../fakes/clock.ts';
import { fakeDatabases } from '../fakes/databases.ts';
import { fakePasswords } from '../fakes/passwords.ts';
import { fakeRegistry } from '../fakes/registry.ts';
import { accountUuid } from './accounts.ts';
import type { World } from './world.ts';

/** The only connected proxy. */
const PROXY: ProxyView = {
  id: 'prx_1',
  name: 'edge',
  version: '1.0.0+abc',
  since: 1_700_000_000_000,
  listening: { host: '0.0.0.0', port: 25_565 },
  draining: false,
  connected: true,
  players: 2,
  held: 1,
  lagMs: 0.4,
};

/** A test's replacements for the default doubles. */
export interface RoomsOptions {
  /** Default: every name has an account. */
  profiles?: Profiles;
  /** Whether this machine can get a core without an upload. Default: all. */
  canGet?: (core: string) => boolean;
  /** The builds of cores. Default: none are known. */
  builds?: CoreBuilds;
  /** The accounts whose servers may run uploaded code. Default: all. */
  trusted?: TrustedWithCode;
  /** Replaces the bytes in use on the whole file system, which other programs change too. */
  usedBytes?: () => Promise<number>;
  /** The sources of mods. */
  registries?: ModRegistry[];
  /** The mods of the world's effects, if it has some. */
  mods?: () => Mods;
  /** Reserves space for files written through the API. Default: the quotas. */
  filesDisk?: Disk;
  /** Null: no database server. */
  databases?: Databases | null;
  /** Receives typed commands. */
  console?: Pick<Console, 'run'>;
  playersPort?: number;
  /** Returns the TXT records of a name. Default: none. */
  resolveTxt?: ResolveTxt;
  /** Gets the names of a server that players can use besides its address. */
  named?: (serverId: string, names: readonly string[]) => void;
  /** The addresses of the service. Default: no server is reachable without its name. */
  entrance?: Partial<Entrance>;
  machine?: Machine;
  /** Whether wakes are checked against wallets and limits. Default: false. */
  charged?: boolean;
  /** Null: wallets are not funded. */
  checkout?: Checkout | null;
  telemetry?: Exposition & { answered: (request: AnsweredRequest) => void };
  config?: Partial<Settings>;
}

/** The surroundings that exist before the rooms. */
export interface Around {
  /** Erase the data of a deleted server. The rooms add their own. */
  erasers: ((id: string) => Promise<void>)[];
  mailer: Mailer;
  joined: ReadonlyMap<string, readonly Joined[]>;
  /** Receives the id of each server whose address bans changed. */
  addressBans: string[];
  /** Receives the notices for servers' webhooks. */
  notices: [serverId: string, notice: Notice][];
  log: Log;
  onClose: OnClose;
}

/** The default settings of a test. */
const CONFIG: Settings = {
  ...loadConfig({}, { envFile: null }),
  baseUrl: 'http://panel.example',
  publicHost: 'play.example',
  region: 'na',
  nodeLabel: 'node-1',
  maxRamMb: 65_536,
  maxServersPerAccount: 0,
  idleTimeoutMinutes: 10,
  mysqlAddress: { host: 'mysql.example', port: 3_306 },
  signup: 'open',
  operatorsNeedSecondFactor: false,
  minecraftEula: 'accept',
  mail: true,
  pricePerGbHourMicros: 10_000,
  pricePerGbMonthMicros: 3_000_000,
  extraPorts: { from: 40_000, to: 40_019 },
};

const MACHINE: Machine = { cores: 4, ramMb: 65_536, diskFreeMb: 40_000, diskTotalMb: 50_000 };
const NO_FIGURES: Exposition = { expose: async () => '', contentType: 'text/plain' };
/** Every name has an account. */
const ACCOUNTS: Profiles = { find: async (name) => ({ name, uuid: accountUuid(name) }) };
const NO_ENTRANCE: Entrance = { meant: () => undefined, homeHost: () => undefined, trouble: () => undefined };
const VERSIONS = { versions: ['1.21.8', '1.21.7'], latest: '1.21.8' };

/** The rooms of the service on a world of fakes. No room listens, and nothing is charged unless `charged`. */
export async function openRooms(base: World, around: Around, options: RoomsOptions = {}) {
  const { store, clock, engine, games, dataDir } = base;
  const { mailer, log, onClose } = around;
  const settings = { ...CONFIG, dataDir, ...options.config };
  const secret: Secret = {
    derive: (purpose, id) => createHmac('sha256', 'test').update(`${purpose}\0${id}`).digest('base64url'),
  };
  const rooms = await openRealRooms(
    {
      outside: {
        store,
        secret,
        engine,
        console: games,
        typed: options.console ? { ...games, ...options.console } : games,
        management: createManagement(),
        passwords: fakePasswords('rcon-password'),
        owner: undefined,
        trusted: options.trusted ?? 'everybody',
        containerOf: undefined,
        canGet: options.canGet ?? (() => true),
        builds: options.builds ?? { newest: async () => undefined },
        pinger: games,
        catalogue: { versions: async () => VERSIONS },
        mailer,
        databaseServer: options.databases === undefined ? fakeDatabases() : (options.databases ?? undefined),
        registries: options.registries ?? [fakeRegistry()],
        profiles: options.profiles ?? ACCOUNTS,
        probe: async () => options.machine ?? MACHINE,
        offSite: openOffSite(settings, secret, store, clock, log),
        checkout: options.checkout === undefined ? createTestCheckout() : (options.checkout ?? undefined),
        resolveTxt: options.resolveTxt ?? (async () => []),
        ...(options.usedBytes && { usedBytes: options.usedBytes }),
      },
      telemetry: { stepped() {}, refusedWake() {}, ...(options.telemetry ?? NO_FIGURES) },
      steady: steadyOf(clock),
      settings,
      clock,
      log,
      onClose,
    },
    doublesOf(base, around, options),
  );
  onClose(() => rooms.sftp.close());
  return { ...rooms.accounts, ...rooms, log, config: settings, streamSlots: createStreamSlots() };
}

/** Doubles of the rooms that the world has opened already, and of rooms with parts from the test. */
function doublesOf(base: World, around: Around, options: RoomsOptions): Parameters<typeof openRealRooms>[1] {
  const { store, clock, servers, dataDir } = base;
  const { erasers, joined, addressBans, notices } = around;
  return {
    createChangeLock: () => base.lock,
    openServers: () => servers,
    createBackupRoom: () => ({ ...base.room(), erase: async () => {}, recover: async () => {} }),
    openEffects({ rooms }) {
      erasers.push(...rooms.erasers);
      return { engineReturned() {} };
    },
    startReconcile: async () => () => {},
    openFiles: (shared, folders, ...rest) =>
      openFiles(shared, { ...folders, disk: options.filesDisk ?? folders.disk }, ...rest),
    openPorts: ({ range }) =>
      ServerPorts.open({ store, range, onThisMachine: false, own: [], isFree: async () => true }),
    openMods(...given) {
      const room = openMods(...given);
      const mods = options.mods?.() ?? room.mods;
      return { ...room, mods, feature: { ...room.feature, operations: modOperations(given[0], mods) } };
    },
    openWebhooks: () => ({
      outbox: { add: async (_, id, notice) => void notices.push([id, notice]) } as WebhookOutbox,
      onStep: async () => {},
      testAlert: async (_, id, at) => void notices.push([id, { event: 'test', at }]),
    }),
    async openJoining() {
      const wakePolicies = await openWakePolicies(store);
      const playerFiles = createPlayerFiles(dataDir);
      return {
        publicStatuses: await openPublicStatuses(store),
        wakePolicies,
        playerFiles,
        proxies: {
          port: () => options.playersPort ?? 25_565,
          players: (id) => joined.get(id) ?? [],
          views: () => [PROXY],
          addressBansChanged: (id) => void addressBans.push(id),
        } as Partial<OpenedProxies> as OpenedProxies,
        joinPolicy: createJoinPolicy({ files: playerFiles, policies: wakePolicies, clock, store }),
        entrance: { ...NO_ENTRANCE, ...options.entrance },
        bedrock: { shown: () => undefined, wake: async () => {} },
        listEntry: async () => undefined,
        setNames: (id, names) => options.named?.(id, names),
      };
    },
    async openBilling(...given) {
      const real = await openBilling(...given);
      return options.charged ? real : { ...real, wakeRules: [] };
    },
  };
}

/** The opened rooms. */
export type Rooms = Awaited<ReturnType<typeof openRooms>>;
