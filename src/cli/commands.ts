import type { Command } from './command.ts';
import { completion } from './commands/completion.ts';
import { consoleCommand } from './commands/console.ts';
import { createServer } from './commands/create.ts';
import { deleteServer } from './commands/delete.ts';
import { invite } from './commands/invite.ts';
import { keys } from './commands/keys.ts';
import { kill, restart, start, stop } from './commands/lifecycle.ts';
import { login } from './commands/login.ts';
import { logout } from './commands/logout.ts';
import { logs } from './commands/logs.ts';
import { machine } from './commands/machine.ts';
import { servers } from './commands/servers.ts';
import { versions } from './commands/versions.ts';
import { whoami } from './commands/whoami.ts';

const completed: readonly Command[] = [
  login,
  logout,
  whoami,
  servers,
  createServer,
  start,
  stop,
  restart,
  kill,
  deleteServer,
  logs,
  consoleCommand,
  machine,
  keys,
  invite,
  versions,
];

/** All commands, in the order of help. */
export const commands: readonly Command[] = [...completed, completion(completed)];
