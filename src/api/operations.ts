import { listAccountAuditOperation, listServerAuditOperation } from './audit.ts';
import { backupOperations } from './backups.ts';
import { reconcileLedger, spendCapOperations, walletOperations } from './billing.ts';
import { getCapacity } from './capacity.ts';
import { listMinecraftVersions } from './catalogue.ts';
import { createCheckoutLink } from './checkout.ts';
import { clientOperations } from './clients.ts';
import { runCommand } from './console.ts';
import {
  createServerDatabase,
  dropServerDatabase,
  getServerDatabase,
  rotateServerDatabasePassword,
} from './database.ts';
import { createServer } from './create-server.ts';
import { keepAwake, killServer, restartServer, retryInstall, startServer, stopServer } from './lifecycle.ts';
import { archivePaths, downloadPath, extractArchive, uploadFile } from './file-transfers.ts';
import { copyPath, deletePath, listFiles, makeDirectory, readFile, renamePath, writeFile } from './files.ts';
import { getAccountLimits } from './limits.ts';
import { modOperations } from './mods.ts';
import { setModpack } from './set-modpack.ts';
import { getServerLogs, streamServerLogs } from './logs.ts';
import { listServerDiagnostics } from './diagnostics.ts';
import { inspectMachine } from './machine.ts';
import { whoAmI } from './me.ts';
import { inviteMember, listMembers, removeMember, setMemberRole } from './members.ts';
import { getServerMetrics } from './metrics.ts';
import { listMyServers } from './my-servers.ts';
import { accountOperations } from './operator-accounts.ts';
import { nodeOperations } from './operator-nodes.ts';
import { orphanOperations } from './operator-orphans.ts';
import { operatorServerOperations } from './operator-servers.ts';
import { machineOperations } from './operator-machines.ts';
import type { Operation } from './operation.ts';
import { addServerPort, removeServerPort } from './ports.ts';
import { listRegions } from './regions.ts';
import { createSchedule, deleteSchedule, listSchedules, runScheduleNow, setScheduleEnabled } from './schedules.ts';
import { streamServerEvents } from './server-events.ts';
import {
  getPlayerLists,
  kickPlayer,
  setBanEntry,
  setIpBanEntry,
  setOpEntry,
  setWhitelistEnforced,
  setWhitelistEntry,
} from './players.ts';
import { deleteServer, getServer, listServers } from './servers.ts';
import { setPublicStatus, setServerAlertWebhook, setServerMotd, setServerProperties } from './settings.ts';
import { createServerFromTemplate, createTemplate, deleteTemplate, listTemplates } from './templates.ts';
import { disableSftp, enableSftp, getSftp, rotateSftpPassword } from './sftp.ts';
import { updateServer } from './update-server.ts';
import { updateServerVersion } from './update-version.ts';
import { getServerUsage } from './usage.ts';
import { setWakePolicy } from './wake-policy.ts';
import { worldOperations } from './worlds.ts';

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
