import { type Command, type Section, isSubject } from './command.ts';
import { accounts } from './commands/accounts.ts';
import { apiCall } from './commands/api.ts';
import { audit } from './commands/audit.ts';
import { backups } from './commands/backups.ts';
import { completion } from './commands/completion.ts';
import { consoleCommand } from './commands/console.ts';
import { createServer } from './commands/create.ts';
import { database } from './commands/database.ts';
import { files } from './commands/files.ts';
import { deleteServer } from './commands/delete.ts';
import { eula } from './commands/eula.ts';
import { events } from './commands/events.ts';
import { interactive, say } from './commands/interactive.ts';
import { invite } from './commands/invite.ts';
import { keys } from './commands/keys.ts';
import { installRetry, kill, restart, start, stop } from './commands/lifecycle.ts';
import { login } from './commands/login.ts';
import { logout } from './commands/logout.ts';
import { logs } from './commands/logs.ts';
import { machine } from './commands/machine.ts';
import { members } from './commands/members.ts';
import { metrics } from './commands/metrics.ts';
import { mods } from './commands/mods.ts';
import { players } from './commands/players.ts';
import { capacity, invitations, machines, nodes } from './commands/operator.ts';
import { orphans } from './commands/orphans.ts';
import { ports } from './commands/ports.ts';
import { schedules } from './commands/schedules.ts';
import { servers } from './commands/servers.ts';
import { settings } from './commands/settings.ts';
import { sftp } from './commands/sftp.ts';
import { software } from './commands/software.ts';
import { quota, suspend, unsuspend } from './commands/suspension.ts';
import { templates } from './commands/templates.ts';
import { regions, versions } from './commands/versions.ts';
import { wake } from './commands/wake.ts';
import { usage, wallet } from './commands/wallet.ts';
import { whoami } from './commands/whoami.ts';
import { why } from './commands/why.ts';
import { worlds } from './commands/worlds.ts';

const COMPLETED: readonly Section[] = [
  { title: 'You', entries: [login, logout, whoami, keys, eula] },
  {
    title: 'Servers',
    entries: [
      servers,
      createServer,
      start,
      stop,
      restart,
      kill,
      installRetry,
      deleteServer,
      machine,
      why,
      versions,
      regions,
      templates,
    ],
  },
  { title: 'While it runs', entries: [interactive, logs, events, metrics, consoleCommand, say, players] },
  { title: 'What is in a server', entries: [backups, worlds, files, sftp, mods] },
  { title: 'Around a server', entries: [settings, software, wake, schedules, members, ports, database, audit] },
  { title: 'Money', entries: [wallet, usage] },
  {
    title: 'As an operator',
    entries: [invite, invitations, accounts, suspend, unsuspend, quota, nodes, capacity, machines, orphans],
  },
  { title: 'For all else', entries: [apiCall] },
];

/** All commands and subjects, in the order of help. */
export const SECTIONS: readonly Section[] = [...COMPLETED, { title: 'Your shell', entries: [completion(COMPLETED)] }];

/** All commands. */
export const commands: readonly Command[] = SECTIONS.flatMap(({ entries }) => entries).flatMap((entry) =>
  isSubject(entry) ? entry.commands : [entry],
);
