/**
 * Each server is an actor that follows its statechart. No effect runs before the step that invokes it is stored.
 */
import { sandboxVersions } from '../engines/sandbox.ts';
import type { CoreRules } from '../game/core-rules.ts';
import type { Clock } from '../kernel/clock.ts';
import type { OnClose } from '../kernel/closers.ts';
import type { Log } from '../kernel/log.ts';
import type { SteadyClock } from '../kernel/steady-clock.ts';
import { MINUTE_MS } from '../kernel/units.ts';
import type { Accounts } from '../accounts/accounts.ts';
import type { Addresses } from './api/addresses.ts';
import { accountAuditOperations, serverAuditOperations } from './api/audit.ts';
import { createOperations } from './api/create-server.ts';
import { lifecycleOperations } from './api/lifecycle.ts';
import { serverListOperations } from './api/list-servers.ts';
import { machineOperations } from './api/machine.ts';
import { memberOperations } from './api/members.ts';
import { myServerOperations } from './api/my-servers.ts';
import { serverOperations } from './api/servers.ts';
import { settingOperations } from './api/settings.ts';
import { updateOperations } from './api/update-server.ts';
import { versionOperations } from './api/update-version.ts';
import type { ServerView } from './api/view.ts';
import { Creation, type CreationRules } from './creation.ts';
import type { EffectRooms, GameAccess } from './effect-host.ts';
import { ServerEffects } from './effects.ts';
import { mountAudit } from './pages/audit.ts';
import { mountCreate } from './pages/create.ts';
import { mountServerList } from './pages/list.ts';
import type { ListEntry } from './pages/list-entry.ts';
import { mountMachine } from './pages/machine.ts';
import { mountMembers } from './pages/members.ts';
import { mountOverview } from './pages/overview.ts';
import { mountDescriptionSettings } from './pages/settings/description.ts';
import { mountGameSettings } from './pages/settings/game.ts';
import { mountGeneralSettings } from './pages/settings/general.ts';
import { mountVersionSettings } from './pages/settings/version.ts';
import { serverPageOperations } from './pages/streams.ts';
import type { ServerBlocks } from './server-now.ts';
import type { OnStep } from './actors.ts';
import { Servers } from './servers.ts';
import type { Updates } from './updates.ts';
import type { Shared } from './shared.ts';
import type { Store, Tx } from '../store/store.ts';
import type { Feature } from '../web/feature.ts';

/** Time from the request of a stop until the game is killed; longer than the game's image waits before it kills. */
const STOP_MS = 120_000;
const INSTALL_MS = 30 * MINUTE_MS;

/**
 * Opens all servers. No actor runs before `openEffects` and `restore`, but other rooms may read and follow servers at
 * once. `onRefusal` is called with the stable reason whenever a wake is refused.
 */
export function openServers({
  startTimeoutSeconds,
  ...given
}: {
  store: Store;
  clock: Clock;
  steady: SteadyClock;
  log: Log;
  startTimeoutSeconds: number;
  onRefusal: (reason: string) => void;
}): Servers {
  const limits = { startMs: startTimeoutSeconds * 1_000, stopMs: STOP_MS, installMs: INSTALL_MS };
  return new Servers({ ...given, limits });
}

/**
 * Provides the effects of the servers' machines; servers accept commands from now on. `onStep`: hooks in the write of a
 * server's step, in order. Call the returned function each time the engine has come back after an outage.
 */
export function openEffects({
  servers,
  games,
  rooms,
  onStep,
  onClose,
}: {
  servers: Servers;
  games: GameAccess;
  rooms: EffectRooms;
  onStep: readonly OnStep[];
  onClose: OnClose;
}) {
  let outages = 0;
  servers.provide({
    effects: (host) => new ServerEffects(games, rooms, () => outages, host).actors(),
    async onStep(tx, now, step) {
      for (const each of onStep) await each(tx, now, step);
    },
  });
  onClose(() => servers.close());
  return { engineReturned: () => void outages++ };
}

interface ServerFeatureOptions extends Shared {
  accounts: Accounts;
  cores: CoreRules;
  blocks: ServerBlocks;
  serverView: ServerView;
  addresses: Addresses;
  /** Rooms that can refuse a new server. */
  capacity: CreationRules['capacity'];
  accountLimits: CreationRules['accountLimits'];
  drain: CreationRules['drain'];
  wakePolicies: { of(serverId: string): { mode: string; maintenanceText: string } };
  /** Returns the server's entry in server lists; undefined if it has none. */
  listEntry: (serverId: string) => Promise<ListEntry | undefined>;
  updates: Updates;
  /** Queues a test alert for a server's webhook. */
  testAlert: (tx: Tx, serverId: string, at: number) => Promise<void>;
  settings: { dataDir: string; region: string; nodeLabel: string; idleTimeoutMinutes: number };
}

/** Opens the API of servers. Returns `creation` for others that create servers. */
export function serverFeature(options: ServerFeatureOptions): { creation: Creation; feature: Feature } {
  const { servers, accounts, cores, blocks, serveServer, serverView, addresses, settings } = options;
  const { capacity, accountLimits, drain, wakePolicies, listEntry, testAlert } = options;
  const { store, clock } = accounts;
  const { region, nodeLabel } = settings;
  const playersWake = (id: string) => {
    const { mode, maintenanceText } = wakePolicies.of(id);
    return mode !== 'nobody' && maintenanceText === '';
  };
  const config = { region, nodeLabel };
  const rules = { cores, capacity, accountLimits, drain, sandboxVersions: sandboxVersions(), config };
  const creation = new Creation(servers, clock, rules);
  const needs = { ...rules, servers, clock, creation, store, serveServer, serverView };
  const operations = [
    ...accountAuditOperations(needs),
    ...serverAuditOperations(needs),
    ...myServerOperations({ servers, store, addresses }),
    ...serverListOperations(needs),
    ...createOperations(needs),
    ...serverOperations(needs),
    ...lifecycleOperations(needs),
    ...versionOperations({ ...needs, updates: options.updates }),
    ...settingOperations({ ...needs, testAlert }),
    ...updateOperations(needs),
    ...machineOperations({ ...needs, settings }),
    ...memberOperations({ ...accounts, serveServer }),
  ];
  return {
    creation,
    feature: {
      operations,
      pageOperations: serverPageOperations({ ...needs, blocks, accessChanges: accounts.accessChanges }),
      panel(panel) {
        mountServerList(panel, { servers, blocks, playersWake, addresses, accounts });
        // Mounted before the servers' pages, because `new` is not a server.
        mountCreate(panel);
        mountOverview(panel, { ...settings, servers, playersWake, listEntry, addresses });
        // Other settings pages are in the rooms of their subjects.
        mountGeneralSettings(panel);
        mountDescriptionSettings(panel);
        mountGameSettings(panel, settings);
        mountVersionSettings(panel);
        mountMachine(panel);
        mountMembers(panel, { signup: accounts.signup, operatorsWriteAlone: cores.operatorsWriteAlone });
        mountAudit(panel);
      },
    },
  };
}
