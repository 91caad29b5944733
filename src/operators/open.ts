/**
 * Operators see everything, and each of their actions is audited with its reason. A server's state changes only by
 * events that its statechart accepts.
 */
import type { AccountLimits } from '../billing/account-limits.ts';
import type { DiskQuota } from '../disk/quota.ts';
import type { GameConsoles } from '../engines/console/console.ts';
import type { Proxies } from '../joining/link/proxies.ts';
import { createKeyedMutex } from '../kernel/mutex.ts';
import type { Accounts } from '../accounts/accounts.ts';
import type { ServerView } from '../servers/api/view.ts';
import type { Shared } from '../servers/shared.ts';
import type { Sftp } from '../sftp/sftp.ts';
import type { Feature } from '../web/feature.ts';
import { html } from '../web/html.ts';
import { accountAccessOperations } from './access-api.ts';
import { accountOperations } from './accounts-api.ts';
import type { Fleet } from './fleet.ts';
import { accountInvitationOperations } from './invitations-api.ts';
import { operatorMachineOperations } from './machines-api.ts';
import type { Machines } from './machines.ts';
import { nodeOperations } from './nodes-api.ts';
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

/** Shown while the first operator still has a placeholder address. */
const UNREACHABLE = html`We can’t e-mail you warnings and password reset links.
  <a href="/profile">Change your e-mail address</a> to one where you receive mail.`;

/**
 * Opens the operators' room: state machines, nodes, orphans, accounts and suspensions, through the API and on pages.
 * `trouble` returns the problem of the join settings; undefined without one.
 */
export function openOperators(
  { servers, clock, log }: Shared,
  rooms: {
    accounts: Accounts;
    machines: Machines;
    fleet: Fleet;
    suspensions: Suspensions;
    orphans: Orphans;
    proxies: Proxies;
    serverView: ServerView;
    consoles: GameConsoles;
    disk: DiskQuota;
    sftp: Sftp;
    accountLimits: AccountLimits;
  },
  trouble: () => string | undefined,
): Feature {
  const { accounts, machines, fleet, suspensions, orphans, proxies, serverView, consoles, disk, sftp } = rooms;
  const { accountLimits } = rooms;
  const notes = ({ email }: { email: string }) => {
    const sentence = trouble();
    return [
      ...(sentence === undefined ? [] : [html`${sentence}`]),
      ...(accounts.post.isSetUp && email.endsWith('@localhost') ? [UNREACHABLE] : []),
    ];
  };
  return {
    operations: [
      ...nodeOperations(clock, fleet),
      ...proxyOperations(proxies),
      ...operatorServerOperations({ serverView, clock, consoles, disk, log, servers, sftp, suspensions }),
      ...operatorMachineOperations({ machines }),
      ...accountOperations({
        ...accounts,
        accountLimits,
        disk,
        suspensions,
        servers,
        withLock: createKeyedMutex(),
      }),
      ...accountInvitationOperations(accounts),
      ...accountAccessOperations(accounts),
      ...orphanOperations({ orphans, clock }),
    ],
    panel(panel) {
      mountMachines(panel, notes);
      mountMachine(panel);
      mountNodes(panel);
      mountAccounts(panel);
      mountAccount(panel, accounts);
      mountOrphans(panel);
      mountProxies(panel);
      mountApps(panel);
    },
  };
}
