import { maintenance, transitions } from './servers/machine-rows.ts';
import { backupUploads, offsiteRemovals } from './backups/offsite/rows.ts';
import { backupMods, backupRetention, backups, savingOff } from './backups/rows.ts';
import { checkouts } from './billing/checkout-rows.ts';
import { ledger } from './billing/ledger-rows.ts';
import { accountLimits } from './billing/account-limits.ts';
import { awakeSessions } from './billing/awake-session-rows.ts';
import { ticks } from './billing/tick-rows.ts';
import { wallets } from './billing/wallet-rows.ts';
import { serverDatabases } from './databases/rows.ts';
import { serverDisks } from './disk/rows.ts';
import { consoleSalts } from './engines/console/salt-rows.ts';
import { tpsIncidents } from './insight/alerts/rows.ts';
import { metricSamples } from './insight/metric-rows.ts';
import { publicStatuses, serverNames, wakePolicies } from './joining/rows.ts';
import { serverMods } from './mods/rows.ts';
import { webhookMessages, webhooks } from './notices/rows.ts';
import { suspensions } from './operators/suspension-rows.ts';
import { accountInvitations, emailTokens } from './accounts/link-rows.ts';
import { clients, appTokens } from './grants/app-rows.ts';
import { audit } from './audit/audit.ts';
import { eulaAcceptances } from './access/eula.ts';
import { grants, grantStarts, sealedTokens } from './grants/rows.ts';
import { apiKeys } from './access/key-rows.ts';
import { members } from './access/member-rows.ts';
import { signInPlaces } from './accounts/sign-in-places.ts';
import { providerLinks } from './accounts/provider-rows.ts';
import { accounts, users } from './accounts/rows.ts';
import { recoveryCodes, secondFactors } from './accounts/second-factor-rows.ts';
import { browserSessions } from './accounts/browser-session-rows.ts';
import { serverPorts } from './ports/rows.ts';
import { schedules } from './schedules/rows.ts';
import { diagnostics } from './servers/diagnostics.ts';
import { servers } from './servers/rows.ts';
import { sftpUsers } from './sftp/users.ts';
import { sshKeys } from './sftp/ssh-keys.ts';
import type { Tables } from './store/data-source.ts';
import { leases } from './store/lease-rows.ts';
import { meta } from './store/meta.ts';
import { templates } from './templates/rows.ts';

/** All tables of the service, for `openStore`. Migrations create the same tables, and a test compares the two. */
export const TABLES: Tables = [
  accounts,
  users,
  apiKeys,
  servers,
  transitions,
  meta,
  leases,
  browserSessions,
  emailTokens,
  accountInvitations,
  clients,
  grants,
  grantStarts,
  appTokens,
  members,
  audit,
  wallets,
  ledger,
  awakeSessions,
  ticks,
  accountLimits,
  checkouts,
  metricSamples,
  diagnostics,
  serverDatabases,
  schedules,
  templates,
  serverPorts,
  serverDisks,
  suspensions,
  webhooks,
  webhookMessages,
  tpsIncidents,
  publicStatuses,
  wakePolicies,
  serverNames,
  backups,
  backupMods,
  backupRetention,
  backupUploads,
  offsiteRemovals,
  savingOff,
  maintenance,
  sftpUsers,
  signInPlaces,
  sshKeys,
  consoleSalts,
  sealedTokens,
  serverMods,
  secondFactors,
  recoveryCodes,
  providerLinks,
  eulaAcceptances,
];
