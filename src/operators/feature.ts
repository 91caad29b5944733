/**
 * Operators see everything, and each of their actions is audited with its reason. A server's state changes only by
 * events that its statechart accepts.
 */
import type { AccountLimits } from '../billing/account-limits.ts';
import type { Capacity } from '../billing/capacity.ts';
import type { DiskQuota } from '../disk/quota.ts';
import type { GameConsoles } from '../engines/console/console.ts';
import type { LostGames } from '../engines/lost-games.ts';
import type { EngineNodes } from '../engines/engine.ts';
import type { Reachability } from '../engines/reachability.ts';
import type { Proxies } from '../joining/link/proxies.ts';
import { createKeyedMutex } from '../kernel/mutex.ts';
import type { Grants } from '../people/grants/grants.ts';
import type { People } from '../people/people.ts';
import type { ServerView } from '../servers/api/view.ts';
import type { Shared } from '../servers/shared.ts';
import type { Sftp } from '../sftp/sftp.ts';
import type { Feature } from '../web/feature.ts';
import { html } from '../web/html.ts';
import { accountAccessOperations } from './access-api.ts';
import { accountOperations } from './accounts-api.ts';
import { accountInvitationOperations } from './invitations-api.ts';
import { operatorMachineOperations } from './machines-api.ts';
import { type Machines, createMachines } from './machines.ts';
import type { NodeDrain } from './node-drain.ts';
import { nodeOperations } from './nodes-api.ts';
import { createFleet } from './fleet.ts';
import { orphanOperations } from './orphans-api.ts';
import type { Orphans } from './orphans.ts';
import { mountAccount } from './pages/account.ts';
import { mountAccounts } from './pages/accounts.ts';
import { mountApps } from './pages/apps.ts';
import { mountMachine } from './pages/machine.ts';
import { mountMachines } from './pages/machines.ts';
import { mountNodes } from './pages/nodes.ts';
import { mountOrphans } from './pages/orphans.ts';
import { mountProxies } from './pages/proxies.ts';
import { proxyOperations } from './proxies-api.ts';
import { operatorServerOperations } from './servers-api.ts';
import type { Suspensions } from './suspensions.ts';

export interface OperatorFeatureOptions extends Shared {
  people: People;
  grants: Grants;
  serverView: ServerView;
  consoles: GameConsoles;
  /** Quotas set through it apply at once. */
  disk: DiskQuota;
  sftp: Sftp;
  suspensions: Suspensions;
  drain: NodeDrain;
  /** The machines that games run on, if there are several, and the games on unresponsive ones. */
  nodes?: EngineNodes | undefined;
  lostGames?: LostGames | undefined;
  orphans: Orphans;
  proxies: Pick<Proxies, 'views'>;
  capacity: Capacity;
  reachability: Reachability;
  accountLimits: AccountLimits;
  /** Returns the problem of the join settings; undefined without one. */
  trouble: () => string | undefined;
  settings: { nodeLabel: string; region: string; maxServersPerAccount: number };
}

/** Shown while the first operator still has a placeholder address. */
const UNREACHABLE = html`We can’t e-mail you warnings and password reset links.
  <a href="/profile">Change your e-mail address</a> to one where you receive mail.`;

/** State machines, this node, orphans, accounts and suspensions, through the API and on pages. */
export function operatorFeature(options: OperatorFeatureOptions): { machines: Machines; feature: Feature } {
  const { people, grants, servers, serverView, consoles, disk, sftp, suspensions } = options;
  const {
    drain,
    nodes,
    lostGames,
    orphans,
    proxies,
    capacity,
    reachability,
    accountLimits,
    trouble,
    settings: config,
  } = options;
  const { store, clock, log } = people;
  const machines = createMachines({ store, clock, servers, grants, lostGames });
  const notes = ({ email }: { email: string }) => {
    const sentence = trouble();
    return [
      ...(sentence === undefined ? [] : [html`${sentence}`]),
      ...(people.config.mail && email.endsWith('@localhost') ? [UNREACHABLE] : []),
    ];
  };
  return {
    machines,
    feature: {
      operations: [
        ...nodeOperations({
          fleet: createFleet({ store, nodes, capacity, reachability, drain, clock, config }),
          clock,
        }),
        ...proxyOperations({ proxies }),
        ...operatorServerOperations({
          serverView,
          clock,
          consoles,
          disk,
          log,
          servers,
          sftp,
          suspensions,
        }),
        ...operatorMachineOperations({ machines }),
        ...accountOperations({ ...people, accountLimits, disk, servers, suspensions, withLock: createKeyedMutex() }),
        ...accountInvitationOperations(people),
        ...accountAccessOperations(people),
        ...orphanOperations({ orphans, clock }),
      ],
      panel(panel) {
        mountMachines(panel, notes);
        mountMachine(panel);
        mountNodes(panel);
        mountAccounts(panel);
        mountAccount(panel, people);
        mountOrphans(panel);
        mountProxies(panel);
        mountApps(panel);
      },
    },
  };
}
