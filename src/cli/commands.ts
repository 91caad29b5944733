import { type Command, type Section, isSubject } from './command.ts';
import { accounts, invite, quota, suspend, unsuspend } from './commands/accounts.ts';
import { apiCall } from './commands/api.ts';
import { backups } from './commands/backups.ts';
import { completion } from './commands/completion.ts';
import { createServer, deleteServer } from './commands/create.ts';
import { database } from './commands/database.ts';
import { files } from './commands/files.ts';
import { eula } from './commands/eula.ts';
import { events } from './commands/events.ts';
import { consoleCommand, interactive, say } from './commands/interactive.ts';
import { installRetry, kill, restart, start, stop } from './commands/lifecycle.ts';
import { keys, login, logout, whoami } from './commands/login.ts';
import { logs } from './commands/logs.ts';
import { machine } from './commands/machine.ts';
import { members } from './commands/members.ts';
import { metrics } from './commands/metrics.ts';
import { mods } from './commands/mods.ts';
import { players } from './commands/players.ts';
import { capacity, invitations, machines, nodes, orphans } from './commands/operator.ts';
import { ports } from './commands/ports.ts';
import { schedules } from './commands/schedules.ts';
import { audit, servers, why } from './commands/servers.ts';
import { settings } from './commands/settings.ts';
import { sftp } from './commands/sftp.ts';
import { templates } from './commands/templates.ts';
import { regions, software, versions } from './commands/versions.ts';
import { wake } from './commands/wake.ts';
import { usage, wallet } from './commands/wallet.ts';
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
  { title: 'Running servers', entries: [interactive, logs, events, metrics, consoleCommand, say, players] },
  { title: 'Contents of a server', entries: [backups, worlds, files, sftp, mods] },
  { title: 'Settings of a server', entries: [settings, software, wake, schedules, members, ports, database, audit] },
  { title: 'Money', entries: [wallet, usage] },
  {
    title: 'Operators',
    entries: [invite, invitations, accounts, suspend, unsuspend, quota, nodes, capacity, machines, orphans],
  },
  { title: 'Everything else', entries: [apiCall] },
];

/** All commands and subjects, in the order of help. */
export const SECTIONS: readonly Section[] = [...COMPLETED, { title: 'Your shell', entries: [completion(COMPLETED)] }];

/** All commands. */
export const commands: readonly Command[] = SECTIONS.flatMap(({ entries }) => entries).flatMap((entry) =>
  isSubject(entry) ? entry.commands : [entry],
);
