import { Initial1795132800000 } from './1795132800000-initial.ts';
import { People1795219200000 } from './1795219200000-people.ts';
import { Money1795305600000 } from './1795305600000-money.ts';
import { Metrics1795308300000 } from './1795308300000-metrics.ts';
import { Machines1795478400000 } from './1795478400000-machines.ts';
import { Alerts1795564800000 } from './1795564800000-alerts.ts';
import { Sftp1795651200000 } from './1795651200000-sftp.ts';
import { Backups1795737600000 } from './1795737600000-backups.ts';
import { Quota1795824000000 } from './1795824000000-quota.ts';
import { Settings1795910400000 } from './1795910400000-settings.ts';
import { Databases1795996800000 } from './1795996800000-databases.ts';
import { Schedules1796083200000 } from './1796083200000-schedules.ts';
import { Templates1796169600000 } from './1796169600000-templates.ts';
import { Ports1796256000000 } from './1796256000000-ports.ts';
import { Mods1796342400000 } from './1796342400000-mods.ts';
import { SessionServer1796439600000 } from './1796439600000-session-server.ts';
import { Restores1796515200000 } from './1796515200000-restores.ts';
import { Insights1796601600000 } from './1796601600000-insights.ts';
import { Usage1796608800000 } from './1796608800000-usage.ts';
import { SignInPlaces1796695200000 } from './1796695200000-sign-in-places.ts';
import { CredentialAges1796697000000 } from './1796697000000-credential-ages.ts';
import { SshKeys1796698800000 } from './1796698800000-ssh-keys.ts';
import { ConsoleSalts1796700600000 } from './1796700600000-console-salts.ts';
import { SealedTokens1796702400000 } from './1796702400000-sealed-tokens.ts';
import { ScheduleAuthors1796704200000 } from './1796704200000-schedule-authors.ts';
import { WaitingRooms1796706000000 } from './1796706000000-waiting-rooms.ts';
import { ClientVersions1796707800000 } from './1796707800000-client-versions.ts';
import { ServerPages1796720000000 } from './1796720000000-server-pages.ts';
import { SecondFactors1796721800000 } from './1796721800000-second-factors.ts';
import { AccountInvitations1796723600000 } from './1796723600000-account-invitations.ts';
import { EulaAcceptances1796725400000 } from './1796725400000-eula-acceptances.ts';
import { BackupsOffSite1796727200000 } from './1796727200000-backups-off-site.ts';
import { BackupNotes1796729000000 } from './1796729000000-backup-notes.ts';

/** All migrations, oldest first. One that has been released never changes. */
export const MIGRATIONS = [
  Initial1795132800000,
  People1795219200000,
  Money1795305600000,
  Metrics1795308300000,
  Machines1795478400000,
  Alerts1795564800000,
  Sftp1795651200000,
  Backups1795737600000,
  Quota1795824000000,
  Settings1795910400000,
  Databases1795996800000,
  Schedules1796083200000,
  Templates1796169600000,
  Ports1796256000000,
  Mods1796342400000,
  SessionServer1796439600000,
  Restores1796515200000,
  Insights1796601600000,
  Usage1796608800000,
  SignInPlaces1796695200000,
  CredentialAges1796697000000,
  SshKeys1796698800000,
  ConsoleSalts1796700600000,
  SealedTokens1796702400000,
  ScheduleAuthors1796704200000,
  WaitingRooms1796706000000,
  ClientVersions1796707800000,
  ServerPages1796720000000,
  SecondFactors1796721800000,
  AccountInvitations1796723600000,
  EulaAcceptances1796725400000,
  BackupsOffSite1796727200000,
  BackupNotes1796729000000,
];
