import { backupOperations } from '../backups/api.ts';
import { reconcileLedger, spendCapOperations, walletOperations } from '../billing/api.ts';
import { getCapacity } from '../billing/capacity-api.ts';
import { createCheckoutLink } from '../billing/checkout-api.ts';
import { getAccountLimits } from '../billing/limits-api.ts';
import { listRegions } from '../billing/regions.ts';
import { getServerUsage } from '../billing/usage-api.ts';
import {
  createServerDatabase,
  dropServerDatabase,
  getServerDatabase,
  rotateServerDatabasePassword,
} from '../databases/api.ts';
import { copyPath, deletePath, listFiles, makeDirectory, readFile, renamePath, writeFile } from '../files/api.ts';
import { archivePaths, downloadPath, extractArchive, uploadFile } from '../files/transfers-api.ts';
import { listMinecraftVersions } from '../game/catalogue/api.ts';
import { runCommand } from '../insight/console-api.ts';
import { listServerDiagnostics } from '../insight/diagnostics-api.ts';
import { streamServerEvents } from '../insight/events-api.ts';
import { getServerLogs, streamServerLogs } from '../insight/logs-api.ts';
import { getServerMetrics } from '../insight/metrics-api.ts';
import { setWakePolicy } from '../joining/wake-policy-api.ts';
import { modOperations } from '../mods/api.ts';
import { setModpack } from '../mods/set-modpack.ts';
import { accountOperations } from '../operators/accounts-api.ts';
import { machineOperations } from '../operators/machines-api.ts';
import { nodeOperations } from '../operators/nodes-api.ts';
import { orphanOperations } from '../operators/orphans-api.ts';
import { operatorServerOperations } from '../operators/servers-api.ts';
import { clientOperations } from '../people/apps/clients-api.ts';
import { whoAmI } from '../people/me.ts';
import {
  getPlayerLists,
  kickPlayer,
  setBanEntry,
  setIpBanEntry,
  setOpEntry,
  setWhitelistEnforced,
  setWhitelistEntry,
} from '../players/api.ts';
import { addServerPort, removeServerPort } from '../ports/api.ts';
import { createSchedule, deleteSchedule, listSchedules, runScheduleNow, setScheduleEnabled } from '../schedules/api.ts';
import { listAccountAuditOperation, listServerAuditOperation } from '../servers/api/audit.ts';
import { createServer } from '../servers/api/create-server.ts';
import {
  keepAwake,
  killServer,
  restartServer,
  retryInstall,
  startServer,
  stopServer,
} from '../servers/api/lifecycle.ts';
import { inspectMachine } from '../servers/api/machine.ts';
import { inviteMember, listMembers, removeMember, setMemberRole } from '../servers/api/members.ts';
import { listMyServers } from '../servers/api/my-servers.ts';
import { deleteServer, getServer, listServers } from '../servers/api/servers.ts';
import { setPublicStatus, setServerAlertWebhook, setServerMotd, setServerProperties } from '../servers/api/settings.ts';
import { updateServer } from '../servers/api/update-server.ts';
import { updateServerVersion } from '../servers/api/update-version.ts';
import { disableSftp, enableSftp, getSftp, rotateSftpPassword } from '../sftp/api.ts';
import { createServerFromTemplate, createTemplate, deleteTemplate, listTemplates } from '../templates/api.ts';
import { worldOperations } from '../worlds/api.ts';
import type { Operation } from './operation.ts';

/** All operations of the control API, in the reference's order; behind them those of operators. */
export const operations: readonly Operation[] = [
  whoAmI,
  listMyServers,
  ...walletOperations,
  getAccountLimits,
  createCheckoutLink,
  ...spendCapOperations,
  listAccountAuditOperation,
  getCapacity,
  listRegions,
  listMinecraftVersions,
  listServers,
  createServer,
  getServer,
  deleteServer,
  startServer,
  stopServer,
  restartServer,
  retryInstall,
  updateServerVersion,
  setServerProperties,
  setServerMotd,
  setServerAlertWebhook,
  setPublicStatus,
  updateServer,
  killServer,
  keepAwake,
  setWakePolicy,
  setModpack,
  addServerPort,
  removeServerPort,
  runCommand,
  getServerLogs,
  streamServerLogs,
  getServerMetrics,
  listServerAuditOperation,
  streamServerEvents,
  listServerDiagnostics,
  inspectMachine,
  getServerUsage,
  getServerDatabase,
  createServerDatabase,
  dropServerDatabase,
  rotateServerDatabasePassword,
  getSftp,
  enableSftp,
  disableSftp,
  rotateSftpPassword,
  ...modOperations,
  ...backupOperations,
  listFiles,
  readFile,
  writeFile,
  copyPath,
  renamePath,
  deletePath,
  makeDirectory,
  downloadPath,
  uploadFile,
  archivePaths,
  extractArchive,
  listSchedules,
  createSchedule,
  deleteSchedule,
  runScheduleNow,
  setScheduleEnabled,
  ...worldOperations,
  getPlayerLists,
  setWhitelistEnforced,
  setWhitelistEntry,
  setBanEntry,
  setIpBanEntry,
  setOpEntry,
  kickPlayer,
  listTemplates,
  createServerFromTemplate,
  createTemplate,
  deleteTemplate,
  listMembers,
  inviteMember,
  setMemberRole,
  removeMember,
  ...nodeOperations,
  ...operatorServerOperations,
  ...machineOperations,
  ...clientOperations,
  ...accountOperations,
  reconcileLedger,
  ...orphanOperations,
];
