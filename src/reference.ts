import { backupOperations } from './backups/api.ts';
import { ledgerOperations, spendCapOperations, walletOperations } from './billing/api.ts';
import { capacityOperations } from './billing/capacity-api.ts';
import { checkoutCallbackOperations, checkoutOperations } from './billing/checkout-api.ts';
import { limitOperations } from './billing/limits-api.ts';
import { regionOperations } from './billing/regions.ts';
import { usageOperations } from './billing/usage-api.ts';
import { databaseOperations } from './databases/api.ts';
import { fileOperations } from './files/api.ts';
import { transferOperations } from './files/transfers-api.ts';
import { catalogueOperations } from './game/catalogue/api.ts';
import { healthOperations } from './http/health.ts';
import type { ApiDescription } from './http/openapi.ts';
import { consoleOperations } from './insight/console-api.ts';
import { diagnosticOperations } from './insight/diagnostics-api.ts';
import { eventOperations } from './insight/events-api.ts';
import { logOperations } from './insight/logs-api.ts';
import { metricOperations } from './insight/metrics-api.ts';
import { prometheusOperations } from './insight/prometheus.ts';
import { publicSettingOperations } from './joining/public-setting-api.ts';
import { publicStatusOperations } from './joining/public-status-api.ts';
import { wakePolicyOperations } from './joining/wake-policy-api.ts';
import { modOperations } from './mods/api.ts';
import { modpackOperations } from './mods/set-modpack.ts';
import { accountAccessOperations } from './operators/access-api.ts';
import { accountOperations } from './operators/accounts-api.ts';
import { accountInvitationOperations } from './operators/invitations-api.ts';
import { operatorMachineOperations } from './operators/machines-api.ts';
import { nodeOperations } from './operators/nodes-api.ts';
import { proxyOperations } from './operators/proxies-api.ts';
import { orphanOperations } from './operators/orphans-api.ts';
import { operatorServerOperations } from './operators/servers-api.ts';
import { recoveryOperations } from './accounts/recovery-api.ts';
import { connectedAppOperations } from './grants/connected-apps-api.ts';
import { clientOperations } from './grants/clients-api.ts';
import { eulaOperations } from './access/eula-api.ts';
import { deviceGrantOperations } from './grants/device-api.ts';
import { oauthOperations } from './grants/oauth-api.ts';
import { deviceOperations } from './grants/consent-api.ts';
import { keyOperations } from './access/keys-api.ts';
import { whoAmIOperations } from './accounts/me-api.ts';
import { invitationOperations } from './access/invitations-api.ts';
import { signInOperations } from './accounts/sign-in-api.ts';
import { secondFactorOperations } from './accounts/second-factor-api.ts';
import { sessionListOperations } from './accounts/browser-sessions-api.ts';
import { playerOperations } from './players/api.ts';
import { portOperations } from './ports/api.ts';
import { scheduleOperations } from './schedules/api.ts';
import { accountAuditOperations, serverAuditOperations } from './servers/api/audit.ts';
import { createOperations } from './servers/api/create-server.ts';
import { forcedOperations, lifecycleOperations } from './servers/api/lifecycle.ts';
import { machineOperations } from './servers/api/machine.ts';
import { memberOperations } from './servers/api/members.ts';
import { myServerOperations } from './servers/api/my-servers.ts';
import { createServerOperation } from './servers/api/operation.ts';
import { serverListOperations } from './servers/api/list-servers.ts';
import { serverOperations } from './servers/api/servers.ts';
import { settingOperations } from './servers/api/settings.ts';
import { updateOperations } from './servers/api/update-server.ts';
import { versionOperations } from './servers/api/update-version.ts';
import { sftpOperations } from './sftp/api.ts';
import { sshKeyOperations } from './sftp/ssh-keys-api.ts';
import { templateOperations } from './templates/api.ts';
import { worldOperations } from './worlds/api.ts';

/** All operations of the control API, in the reference's order, followed by those of operators. */
const CONTROL = [
  whoAmIOperations,
  myServerOperations,
  walletOperations,
  limitOperations,
  checkoutOperations,
  spendCapOperations,
  accountAuditOperations,
  capacityOperations,
  regionOperations,
  catalogueOperations,
  serverListOperations,
  createOperations,
  serverOperations,
  lifecycleOperations,
  versionOperations,
  settingOperations,
  publicSettingOperations,
  updateOperations,
  forcedOperations,
  wakePolicyOperations,
  modpackOperations,
  portOperations,
  consoleOperations,
  logOperations,
  metricOperations,
  serverAuditOperations,
  eventOperations,
  diagnosticOperations,
  machineOperations,
  usageOperations,
  databaseOperations,
  sftpOperations,
  modOperations,
  backupOperations,
  fileOperations,
  transferOperations,
  scheduleOperations,
  worldOperations,
  playerOperations,
  templateOperations,
  memberOperations,
  eulaOperations,
  nodeOperations,
  proxyOperations,
  operatorServerOperations,
  operatorMachineOperations,
  clientOperations,
  accountOperations,
  accountInvitationOperations,
  accountAccessOperations,
  ledgerOperations,
  orphanOperations,
  prometheusOperations,
] as const;

/** All operations of the panel. */
const SESSION = [
  signInOperations,
  recoveryOperations,
  secondFactorOperations,
  sessionListOperations,
  keyOperations,
  sshKeyOperations,
  connectedAppOperations,
  invitationOperations,
  deviceOperations,
] as const;

/** All operations without authentication. */
const PUBLIC = [
  healthOperations,
  publicStatusOperations,
  deviceGrantOperations,
  oauthOperations,
  checkoutCallbackOperations,
] as const;

/**
 * Returns the description of the API without a running service: operations access their dependencies only when called.
 * A test compares it with the operations that the rooms serve.
 */
export function describeApi(): ApiDescription {
  const nothing = { serverOperation: createServerOperation({} as never) } as never;
  return {
    operations: CONTROL.flatMap((list) => list(nothing)),
    sessionOperations: SESSION.flatMap((list) => list(nothing)),
    publicOperations: PUBLIC.flatMap((list) => list(nothing)),
  };
}
