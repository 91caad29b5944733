import { sandboxVersions } from '../engines/sandbox.ts';
import type { CoreRules } from '../game/core-rules.ts';
import { forgetBuild } from '../game/installed-build.ts';
import { dataRoot } from '../jail/data-root.ts';
import type { FileOwner } from '../kernel/atomic-file.ts';
import type { Accounts } from '../accounts/accounts.ts';
import type { Tx } from '../store/store.ts';
import type { Feature } from '../web/feature.ts';
import type { Panel } from '../web/panel/panel.ts';
import type { Addresses } from './api/addresses.ts';
import { accountAuditOperations, serverAuditOperations } from './api/audit.ts';
import { createOperations } from './api/create-server.ts';
import { forcedOperations, lifecycleOperations } from './api/lifecycle.ts';
import { serverListOperations } from './api/list-servers.ts';
import { machineOperations } from './api/machine.ts';
import { memberOperations } from './api/members.ts';
import { myServerOperations } from './api/my-servers.ts';
import { serverOperations } from './api/servers.ts';
import { settingOperations } from './api/settings.ts';
import { updateOperations } from './api/update-server.ts';
import { type VersionNeeds, versionOperations } from './api/update-version.ts';
import type { ServerView } from './api/view.ts';
import { type Creation, type CreationOptions, openCreation } from './creation.ts';
import { mountAudit } from './pages/audit.ts';
import { mountCreate } from './pages/create.ts';
import { mountServerList } from './pages/list.ts';
import { mountMachine } from './pages/machine.ts';
import { mountMembers } from './pages/members.ts';
import { mountOverview } from './pages/overview.ts';
import { mountDescriptionSettings } from './pages/settings/description.ts';
import { mountGameSettings } from './pages/settings/game.ts';
import { mountGeneralSettings } from './pages/settings/general.ts';
import { mountVersionSettings } from './pages/settings/version.ts';
import { serverPageOperations } from './pages/streams.ts';
import type { Shared } from './shared.ts';
import { type ServerBlocksOptions, createServerBlocks } from './server-blocks.ts';

export interface ServerFeatureOptions extends Shared, ServerBlocksOptions {
  accounts: Accounts;
  cores: CoreRules;
  serverView: ServerView;
  addresses: Addresses;
  /** Rooms that can refuse a new server. */
  capacity: CreationOptions['capacity'];
  accountLimits: CreationOptions['accountLimits'];
  drain: CreationOptions['drain'];
  /** The wake policies of servers. */
  wakePolicies: { of(serverId: string): { mode: string; maintenanceText: string } };
  worlds: VersionNeeds['worlds'];
  /** Queues a test alert for a server's webhook. */
  testAlert: (tx: Tx, serverId: string, at: number) => Promise<void>;
  owner: FileOwner | undefined;
  settings: { dataDir: string; region: string; nodeLabel: string; idleTimeoutMinutes: number };
}

/** Opens the API of servers. Returns `creation` for others that create servers. */
export function serverFeature(options: ServerFeatureOptions): { creation: Creation; feature: Feature } {
  const { servers, accounts, cores, serverOperation, serverView, addresses, owner, settings } = options;
  const { capacity, accountLimits, drain, wakePolicies, testAlert } = options;
  const { store, clock } = accounts;
  const { dataDir, region, nodeLabel } = settings;
  const config = { region, nodeLabel };
  const blocks = createServerBlocks(options);
  const playersWake = (id: string) => {
    const { mode, maintenanceText } = wakePolicies.of(id);
    return mode !== 'nobody' && maintenanceText === '';
  };
  const shared = {
    servers,
    clock,
    cores,
    capacity,
    accountLimits,
    drain,
    sandboxVersions: sandboxVersions(),
    config,
  };
  const creation = openCreation(shared);
  const needs = { ...shared, creation, store, serverOperation, serverView };
  const operations = [
    ...accountAuditOperations(needs),
    ...serverAuditOperations(needs),
    ...myServerOperations({ servers, store, addresses }),
    ...serverListOperations(needs),
    ...createOperations(needs),
    ...serverOperations(needs),
    ...lifecycleOperations(needs),
    ...forcedOperations(needs),
    ...versionOperations({
      ...needs,
      worlds: options.worlds,
      forgetBuild: (id) => forgetBuild(dataRoot(dataDir, id), owner),
    }),
    ...settingOperations({ ...needs, testAlert }),
    ...updateOperations(needs),
    ...machineOperations({ ...needs, settings }),
    ...memberOperations({ ...accounts, serverOperation }),
  ];
  return {
    creation,
    feature: {
      operations,
      pageOperations: serverPageOperations({ ...needs, blocks, accessChanges: accounts.accessChanges }),
      panel(panel) {
        mountServerList(panel, { servers, blocks, playersWake, addresses, firstRunFile: accounts.firstRunFile });
        // Mounted before the servers' pages, because `new` is not a server.
        mountCreate(panel);
        mountOverview(panel, { ...settings, servers, playersWake, addresses });
        mountServerSettings(panel, settings);
        mountMachine(panel);
        mountMembers(panel, { signup: accounts.signup, operatorsWriteAlone: cores.operatorsWriteAlone });
        mountAudit(panel);
      },
    },
  };
}

/** Mounts the settings of the server itself. Other settings pages are in the rooms of their subjects. */
function mountServerSettings(panel: Panel, settings: { idleTimeoutMinutes: number }): void {
  mountGeneralSettings(panel);
  mountDescriptionSettings(panel);
  mountGameSettings(panel, settings);
  mountVersionSettings(panel);
}
