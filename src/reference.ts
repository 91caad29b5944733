import { AcceptEula, GetEula } from './access/eula-api.ts';
import { AcceptInvitation, DeclineInvitation, ListInvitations } from './access/invitations-api.ts';
import { ListKeys, MintKey, RevokeKey } from './access/keys-api.ts';
import { EndOtherSessions, EndSession, ListSessions } from './accounts/browser-sessions-api.ts';
import { WhoAmI } from './accounts/me-api.ts';
import { ChangeEmail, RequestPasswordReset, ResetPassword } from './accounts/recovery-api.ts';
import {
  BeginSecondFactor,
  ConfirmSecondFactor,
  GetSecondFactor,
  RemoveSecondFactor,
  RenewRecoveryCodes,
} from './accounts/second-factor-api.ts';
import {
  ChangePassword,
  GetMe,
  ProvePassword,
  RequestSignUp,
  SendVerification,
  SignIn,
  SignInWithCode,
  SignOut,
  SignUp,
  VerifyEmail,
} from './accounts/sign-in-api.ts';
import {
  CreateBackup,
  DeleteBackup,
  DownloadBackup,
  ListBackups,
  RestoreBackup,
  SetBackupLocked,
  SetBackupRetention,
} from './backups/api.ts';
import { GetSpendCap, GetWallet, ListLedger, ReconcileLedger, SetSpendCap } from './billing/api.ts';
import { GetCapacity } from './billing/capacity-api.ts';
import { CheckoutCallback, CreateCheckoutLink } from './billing/checkout-api.ts';
import { GetAccountLimits } from './billing/limits-api.ts';
import { ListRegions } from './billing/regions.ts';
import { GetServerUsage } from './billing/usage-api.ts';
import {
  CreateServerDatabase,
  DropServerDatabase,
  GetServerDatabase,
  RotateServerDatabasePassword,
} from './databases/api.ts';
import { CopyPath, DeletePath, ListFiles, MakeDirectory, ReadFile, RenamePath, WriteFile } from './files/api.ts';
import { ArchivePaths, DownloadPath, ExtractArchive, UploadFile } from './files/transfers-api.ts';
import { ListMinecraftVersions } from './game/catalogue/api.ts';
import { DisableClient, EnableClient, ListClients, RegisterClient } from './grants/clients-api.ts';
import { DisconnectApp, ListConnectedApps } from './grants/connected-apps-api.ts';
import { ApproveDevice, DenyDevice, LookUpDevice } from './grants/consent-api.ts';
import { PollDevice, StartDevice } from './grants/device-api.ts';
import { DeviceAuthorization, DeviceToken, OAuthMetadata, RevokeToken } from './grants/oauth-api.ts';
import { GetReadiness, Health } from './http/health.ts';
import { RunCommand } from './insight/console-api.ts';
import { ListDiagnostics } from './insight/diagnostics-api.ts';
import { StreamServerEvents } from './insight/events-api.ts';
import { GetServerLogs, StreamServerLogs } from './insight/logs-api.ts';
import {
  CreateWebhook,
  DeleteWebhook,
  ListWebhookDeliveries,
  ListWebhooks,
  ResendWebhookDelivery,
  RotateWebhookSecret,
  TestWebhook,
  UpdateWebhook,
} from './insight/alerts/webhooks-api.ts';
import { GetServerMetrics } from './insight/metrics-api.ts';
import { Metrics } from './insight/prometheus.ts';
import { SetPublicStatus } from './joining/public-setting-api.ts';
import { GetPublicStatus } from './joining/public-status-api.ts';
import { SetWakePolicy } from './joining/wake-policy-api.ts';
import { AddServerMod, ListServerMods, RemoveServerMod, SearchMods, UpdateServerMods } from './mods/api.ts';
import { SetModpack } from './mods/set-modpack.ts';
import { MakeResetLink, RemoveAccountSecondFactor, SetAccountOperator } from './operators/access-api.ts';
import { CreditAccount, GetAccount, ListAccounts, SetAccountLimits } from './operators/accounts-api.ts';
import { CancelAccountInvitation, InviteAccount, ListAccountInvitations } from './operators/invitations-api.ts';
import { GetMachine, ListMachines, SendToMachine, StreamMachines } from './operators/machines-api.ts';
import { DrainNode, FenceNode, ListNodes, ResumeNode, SetNodeRegion } from './operators/nodes-api.ts';
import { ListOrphans, RemoveOrphan } from './operators/orphans-api.ts';
import { ListProxies } from './operators/proxies-api.ts';
import { SetDiskQuota, SuspendServer, UnsuspendServer } from './operators/servers-api.ts';
import {
  GetPlayerLists,
  KickPlayer,
  SetBanEntry,
  SetIpBanEntry,
  SetOpEntry,
  SetWhitelistEnforced,
  SetWhitelistEntry,
} from './players/api.ts';
import { SetServerNetwork } from './joining/network-api.ts';
import { AddServerName, ListServerNames, RemoveServerName, SetServerHostname } from './joining/names-api.ts';
import { AddServerPort, RemoveServerPort } from './ports/api.ts';
import { CreateSchedule, DeleteSchedule, ListSchedules, RunScheduleNow, SetScheduleEnabled } from './schedules/api.ts';
import { ListAccountAudit, ListServerAudit } from './servers/api/audit.ts';
import { CreateServer } from './servers/api/create-server.ts';
import {
  KeepAwake,
  KillServer,
  RestartServer,
  RetryInstall,
  StartServer,
  StopServer,
} from './servers/api/lifecycle.ts';
import { ListServers } from './servers/api/list-servers.ts';
import { InspectMachine } from './servers/api/machine.ts';
import { InviteMember, ListMembers, RemoveMember, SetMemberRole } from './servers/api/members.ts';
import { ListMyServers } from './servers/api/my-servers.ts';
import { DeleteServer, GetServer } from './servers/api/servers.ts';
import { SetServerAlertWebhook, SetServerMotd, SetServerProperties } from './servers/api/settings.ts';
import { UpdateServer } from './servers/api/update-server.ts';
import { UpdateServerVersion } from './servers/api/update-version.ts';
import { DisableSftp, EnableSftp, GetSftp, RotateSftpPassword } from './sftp/api.ts';
import { AddSshKey, ListSshKeys, RemoveSshKey } from './sftp/ssh-keys-api.ts';
import { ExportServer } from './imports/export.ts';
import { ConfirmImport, CreateImport, DeleteImport, GetImport, ListImports } from './imports/api.ts';
import { CreateServerFromTemplate, CreateTemplate, DeleteTemplate, ListTemplates } from './templates/api.ts';
import { ImportServerWorld } from './worlds/import.ts';
import { DeleteServerWorld, ListServerWorlds, ResetServerWorld, SetActiveWorld } from './worlds/api.ts';
import type { Operation } from './http/operation.ts';

/**
 * All operations of the API in the reference's order: those for API keys, those of operators, those of the panel, and
 * those without authentication. A test compares them with the operations that the rooms serve.
 */
export const OPERATIONS: readonly Operation[] = [
  WhoAmI,
  ListMyServers,
  GetWallet,
  ListLedger,
  GetAccountLimits,
  CreateCheckoutLink,
  GetSpendCap,
  SetSpendCap,
  ListAccountAudit,
  GetCapacity,
  ListRegions,
  ListMinecraftVersions,
  ListServers,
  CreateServer,
  GetServer,
  DeleteServer,
  StartServer,
  StopServer,
  RestartServer,
  RetryInstall,
  UpdateServerVersion,
  SetServerProperties,
  SetServerMotd,
  SetServerAlertWebhook,
  SetPublicStatus,
  UpdateServer,
  KillServer,
  KeepAwake,
  SetWakePolicy,
  SetModpack,
  AddServerPort,
  RemoveServerPort,
  ListServerNames,
  AddServerName,
  RemoveServerName,
  SetServerHostname,
  SetServerNetwork,
  RunCommand,
  GetServerLogs,
  StreamServerLogs,
  GetServerMetrics,
  ListServerAudit,
  StreamServerEvents,
  ListDiagnostics,
  ListWebhooks,
  CreateWebhook,
  UpdateWebhook,
  DeleteWebhook,
  RotateWebhookSecret,
  TestWebhook,
  ListWebhookDeliveries,
  ResendWebhookDelivery,
  InspectMachine,
  GetServerUsage,
  GetServerDatabase,
  CreateServerDatabase,
  DropServerDatabase,
  RotateServerDatabasePassword,
  GetSftp,
  EnableSftp,
  DisableSftp,
  RotateSftpPassword,
  ListServerMods,
  AddServerMod,
  RemoveServerMod,
  UpdateServerMods,
  SearchMods,
  ListBackups,
  CreateBackup,
  DeleteBackup,
  RestoreBackup,
  DownloadBackup,
  SetBackupLocked,
  SetBackupRetention,
  ListFiles,
  ReadFile,
  WriteFile,
  CopyPath,
  RenamePath,
  DeletePath,
  MakeDirectory,
  DownloadPath,
  UploadFile,
  ArchivePaths,
  ExtractArchive,
  ListSchedules,
  CreateSchedule,
  DeleteSchedule,
  RunScheduleNow,
  SetScheduleEnabled,
  ListServerWorlds,
  SetActiveWorld,
  DeleteServerWorld,
  ResetServerWorld,
  ImportServerWorld,
  GetPlayerLists,
  SetWhitelistEnforced,
  SetWhitelistEntry,
  SetBanEntry,
  SetIpBanEntry,
  SetOpEntry,
  KickPlayer,
  ListTemplates,
  CreateServerFromTemplate,
  CreateTemplate,
  DeleteTemplate,
  CreateImport,
  ListImports,
  GetImport,
  ConfirmImport,
  DeleteImport,
  ExportServer,
  ListMembers,
  InviteMember,
  SetMemberRole,
  RemoveMember,
  GetEula,
  AcceptEula,
  ListNodes,
  DrainNode,
  ResumeNode,
  FenceNode,
  SetNodeRegion,
  ListProxies,
  SetDiskQuota,
  SuspendServer,
  UnsuspendServer,
  ListMachines,
  GetMachine,
  SendToMachine,
  StreamMachines,
  ListClients,
  RegisterClient,
  DisableClient,
  EnableClient,
  ListAccounts,
  GetAccount,
  CreditAccount,
  SetAccountLimits,
  InviteAccount,
  ListAccountInvitations,
  CancelAccountInvitation,
  SetAccountOperator,
  MakeResetLink,
  RemoveAccountSecondFactor,
  ReconcileLedger,
  ListOrphans,
  RemoveOrphan,
  Metrics,
  GetMe,
  RequestSignUp,
  SignUp,
  SignIn,
  SignInWithCode,
  SignOut,
  ChangePassword,
  ProvePassword,
  SendVerification,
  VerifyEmail,
  RequestPasswordReset,
  ResetPassword,
  ChangeEmail,
  GetSecondFactor,
  BeginSecondFactor,
  ConfirmSecondFactor,
  RemoveSecondFactor,
  RenewRecoveryCodes,
  ListSessions,
  EndSession,
  EndOtherSessions,
  ListKeys,
  MintKey,
  RevokeKey,
  ListSshKeys,
  AddSshKey,
  RemoveSshKey,
  ListConnectedApps,
  DisconnectApp,
  ListInvitations,
  AcceptInvitation,
  DeclineInvitation,
  LookUpDevice,
  ApproveDevice,
  DenyDevice,
  Health,
  GetReadiness,
  GetPublicStatus,
  StartDevice,
  PollDevice,
  DeviceAuthorization,
  DeviceToken,
  RevokeToken,
  OAuthMetadata,
  CheckoutCallback,
];
