import { type Answer, done } from './api.ts';
import { DORMOUSE } from './called.ts';
import { type Command, type Section, command, isSubject } from './command.ts';
import { accounts, invite, quota, suspend, unsuspend } from './commands/accounts.ts';
import { backups } from './commands/backups.ts';
import { completion } from './commands/completion.ts';
import { database, network, ownNames, ports, sftp } from './commands/connections.ts';
import { consoleCommand, interactive, say } from './commands/console.ts';
import { createServer, deleteServer, templates } from './commands/create.ts';
import { events, metrics } from './commands/events.ts';
import { files, worlds } from './commands/files.ts';
import { exportServer, importServer } from './commands/import.ts';
import { installRetry, kill, restart, start, stop } from './commands/lifecycle.ts';
import { logs } from './commands/logs.ts';
import { members } from './commands/members.ts';
import { mods } from './commands/mods.ts';
import { capacity, invitations, machines, nodes, orphans } from './commands/operator.ts';
import { players } from './commands/players.ts';
import { schedules } from './commands/schedules.ts';
import { audit, machine, servers, why } from './commands/servers.ts';
import { settings } from './commands/settings.ts';
import { back, regions, software, versions } from './commands/versions.ts';
import { wake } from './commands/wake.ts';
import { usage, wallet } from './commands/wallet.ts';
import { webhooks } from './commands/webhooks.ts';
import { eula, keys, login, logout, whoami } from './commands/you.ts';
import { wrongUsage } from './errors.ts';
import { wholeInput } from './terminal.ts';

const METHODS = ['GET', 'POST', 'DELETE'] as const;
/** The form of the API's paths, with a query. Two dots would lead elsewhere. */
const PATH = /^\/(?!.*\.\.)[\w./:~%-]{1,500}(?:\?[^#\s]{0,2000})?$/;

/** A call of an arbitrary path. */
type AnyCall = (path: string, init: object) => Promise<Answer<object>>;

/** `dormouse api`. */
const apiCall: Command = command({
  usage: 'api <GET|POST|DELETE> <path> [json]',
  summary: 'Call any API operation and print its JSON.',
  details: `With -, reads the JSON from standard input. The service lists its operations at /docs.

Examples: ${DORMOUSE} api GET /v1/servers/castle/metrics
          ${DORMOUSE} api POST /v1/servers/castle:setMotd '{"motd":"Hello"}'`,
  async run({ slow, document, input, signal }, [word = '', path = '', json]) {
    const method = METHODS.find((each) => each === word.toUpperCase());
    if (method === undefined) throw wrongUsage('The method must be GET, POST or DELETE.');
    if (!PATH.test(path)) throw wrongUsage('The path must look like /v1/servers/castle/metrics.');
    const text = json === '-' ? await wholeInput(input, signal) : (json ?? '{}');
    const ask = slow[method] as unknown as AnyCall;
    document(await done(ask(path, method === 'POST' ? { body: parsed(text) } : {})));
  },
});

function parsed(text: string): object {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  } catch {
    // The error below explains it.
  }
  throw wrongUsage('The JSON must be an object, like {"motd":"Hello"}.');
}

const COMPLETED: readonly Section[] = [
  { title: 'You', entries: [login, logout, whoami, keys, eula] },
  {
    title: 'Servers',
    entries: [
      servers,
      createServer,
      importServer,
      exportServer,
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
  {
    title: 'Settings of a server',
    entries: [settings, software, back, wake, schedules, members, ports, ownNames, network, database, webhooks, audit],
  },
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
