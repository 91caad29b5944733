import { plainName } from '../web/text.ts';

/** An audit entry in words. */
interface AuditWords {
  who: string;
  what: string;
  /** For example, in the panel or by a key; '' if the actor implies it. */
  through: string;
  /** The recorded detail. */
  detail: string;
}

/** The reader, and the e-mail addresses visible to them, by user. */
export interface AuditReader {
  userId: string;
  emails: ReadonlyMap<string, string>;
}

/** The fields of an entry that its words need, as in the API. */
interface Entry {
  userId: string;
  through: string;
  action: string;
  detail: string;
}

/** Returns an entry in words. */
export function auditWords({ userId, through, action, detail }: Entry, reader: AuditReader): AuditWords {
  const [kind = '', ...named] = through.split(' ');
  const name = plainName(named.join(' '));
  const what = WHAT[action] ?? action;
  return { what, detail: plainName(detail, 300), ...whoOf(kind, name, userId, reader) };
}

/** Least number of entries that become one line. */
const GROUP = 3;

/** Groups consecutive entries of the same actor, action and folder. Fewer than three stay apart. */
export function groupedEntries<Of extends Entry>(entries: readonly Of[]): [Of, ...Of[]][] {
  const runs: [Of, ...Of[]][] = [];
  for (const entry of entries) {
    const last = runs.at(-1);
    if (last !== undefined && groupOf(last[0]) === groupOf(entry)) last.push(entry);
    else runs.push([entry]);
  }
  return runs.flatMap((run) => (run.length < GROUP ? run.map((entry): [Of] => [entry]) : [run]));
}

function groupOf({ userId, through, action, detail }: Entry): string {
  return JSON.stringify([userId, through, action, action in MANY ? folderOf(detail) : '']);
}

function folderOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf('/')));
}

/** Returns a group in words: `uploaded 80 files to plugins`. */
export function groupWords(group: readonly Entry[]): string {
  const [{ action, detail } = { action: '', detail: '' }] = group;
  const many = MANY[action];
  if (many === undefined) return `${WHAT[action] ?? action}, ${group.length} times`;
  return many.replace('#', String(group.length)) + (plainName(folderOf(detail), 100) || 'the server’s folder');
}

/** Phrases of several files. The folder follows. */
const MANY: Record<string, string> = {
  'file.write': 'wrote # files in ',
  'file.upload': 'uploaded # files to ',
  'file.delete': 'deleted # times in ',
  'file.mkdir': 'created # folders in ',
};

function whoOf(kind: string, name: string, userId: string, reader: AuditReader): { who: string; through: string } {
  switch (kind) {
    case 'player':
      return { who: name, through: 'in the game' };
    case 'schedule':
      return { who: 'A schedule', through: name };
    case 'system':
      return { who: 'Dormouse', through: SYSTEM[name] ?? name };
    case 'operator':
      return { who: userId === reader.userId ? 'You' : 'The operator', through: 'as the operator' };
    default: {
      const somebody = reader.emails.get(userId) ?? (userId === '' ? 'Unknown' : 'Someone else');
      return { who: userId !== '' && userId === reader.userId ? 'You' : somebody, through: throughOf(kind, name) };
    }
  }
}

function throughOf(kind: string, name: string): string {
  if (kind === 'session') return 'in the panel';
  if (kind === 'key') return `with the API key ${name}`;
  if (kind === 'app') return `through the app ${name}`;
  return [kind, name].filter((part) => part !== '').join(' ');
}

/** Reasons for actions of the service itself. */
export const SYSTEM: Record<string, string> = {
  idle: 'no players online',
  crash: 'the game exited',
  hung: 'the game did not respond',
  quota: 'disk quota reached',
  funds: 'wallet empty',
  group: 'by the groups at the sign-in provider',
  deadline: 'timed out',
  false_wake: 'woken, but no player joined',
  stopped_inside: 'stopped by a game command',
  unexpected: 'was running while meant to be asleep',
  lost: 'engine or machine lost',
  shutdown: 'the service stopped',
  spend_cap: 'monthly spend cap reached',
  access: 'its author lost permission',
  checkout: 'reported by the payment provider',
  builds: 'builds are updated while it sleeps',
  names: 'DNS was checked, or a name expired',
  update: 'a new build failed',
};

/** Kinds of actions: the part before the dot. */
export const KINDS: Record<string, string> = {
  server: 'Server',
  console: 'Console',
  file: 'Files',
  sftp: 'SFTP',
  sshKey: 'SSH keys',
  backup: 'Backups',
  world: 'Worlds',
  mod: 'Mods and plugins',
  players: 'Players',
  schedule: 'Schedules',
  database: 'Database',
  member: 'Members',
  session: 'Sign-ins',
  secondFactor: 'Two-factor sign-in',
  account: 'Account',
  key: 'API keys',
  app: 'Apps',
  grant: 'Devices',
  client: 'Registered apps',
  template: 'Templates',
  webhook: 'Webhooks',
  wallet: 'Wallet',
  checkout: 'Payments',
  usage: 'Usage',
  node: 'Nodes',
  orphan: 'Orphans',
};

/** Phrases that follow the actor's name, keyed by action. */
export const WHAT: Record<string, string> = {
  'server.create': 'created the server',
  'server.import': 'filled it with uploaded files',
  'server.start': 'started it',
  'server.wake': 'woke it by joining',
  'server.stop': 'stopped it',
  'server.restart': 'restarted it',
  'server.kill': 'killed the game',
  'server.install': 'reinstalled it',
  'server.retryInstall': 'retried the install',
  'server.keepAwake': 'kept it awake',
  'server.delete': 'deleted the server',
  'server.alarm': 'sent it an event',
  'server.crash': 'saw the game crash',
  'server.startFailed': 'saw the start fail',
  'server.installFailed': 'saw the install fail',
  'server.properties': 'changed game settings',
  'server.motd': 'changed the description',
  'server.webhook': 'changed the alert webhook',
  'server.alertGivenUp': 'gave up on an alert: the webhook refused it',
  'server.update': 'changed settings',
  'server.version': 'changed software or version',
  'server.newBuild': 'set a newer build for the next start',
  'server.buildTakenBack': 'returned to the build before the update',
  'server.publicStatus': 'changed the public page',
  'server.wakePolicy': 'changed who can wake it',
  'server.hostname': 'changed the address',
  'server.network': 'changed its place in a network',
  'server.name.add': 'added an own name',
  'server.name.remove': 'removed a name',
  'server.name.prove': 'found an own name proved by DNS',
  'server.name.release': 'released an own name without proof',
  'server.name.expire': 'released a former address',
  'server.port.add': 'opened a port',
  'server.port.remove': 'closed a port',
  'server.suspend': 'suspended it',
  'server.unsuspend': 'lifted the suspension',
  'server.setDiskQuota': 'changed the disk quota',
  'server.quotaExceeded': 'disk quota exceeded',
  'server.quotaFreed': 'back under the disk quota',
  'account.diskExceeded': 'account disk space used up',
  'account.diskFreed': 'account back under its disk space',
  'console.command': 'ran a command',
  'players.kick': 'kicked a player',
  'players.ban': 'banned a player',
  'players.unban': 'unbanned a player',
  'players.banIp': 'banned an address',
  'players.unbanIp': 'unbanned an address',
  'players.op': 'added an operator',
  'players.deop': 'removed an operator',
  'players.whitelist.add': 'added a player to the whitelist',
  'players.whitelist.remove': 'removed a player from the whitelist',
  'players.whitelistEnforced': 'turned the whitelist on or off',
  'file.write': 'wrote a file',
  'file.upload': 'uploaded a file',
  'file.copy': 'copied files',
  'file.rename': 'moved a file',
  'file.delete': 'deleted files',
  'file.mkdir': 'created a folder',
  'file.archive': 'created an archive',
  'file.extract': 'extracted an archive',
  'backup.create': 'created a backup',
  'backup.delete': 'deleted a backup',
  'backup.restore': 'restored a backup',
  'backup.lock': 'locked a backup',
  'backup.unlock': 'unlocked a backup',
  'backup.setRetention': 'changed backup retention',
  'world.setActive': 'changed the active world',
  'world.reset': 'reset a world',
  'world.import': 'added an uploaded world',
  'world.delete': 'deleted a world',
  'mod.add': 'added a mod',
  'mod.remove': 'removed a mod',
  'mod.update': 'updated mods',
  'schedule.create': 'created a schedule',
  'schedule.change': 'changed a schedule',
  'schedule.delete': 'deleted a schedule',
  'schedule.enable': 'turned a schedule on',
  'schedule.disable': 'turned a schedule off',
  'schedule.run': 'ran a schedule',
  'database.create': 'created the database',
  'database.drop': 'deleted the database',
  'database.rotate': 'changed the database’s password',
  'sftp.enable': 'turned SFTP on',
  'sftp.disable': 'turned SFTP off',
  'sftp.rotatePassword': 'changed the SFTP password',
  'member.invite': 'invited',
  'member.accept': 'accepted the invitation',
  'member.decline': 'declined the invitation',
  'member.leave': 'left',
  'member.setRole': 'changed a role',
  'member.remove': 'removed a member',
  'session.signIn': 'signed in',
  'session.signOut': 'signed out',
  'session.signUp': 'created the account',
  'session.end': 'ended a session',
  'session.endOthers': 'ended all other sessions',
  'session.lock': 'locked sign-in for a while',
  'session.changePassword': 'changed the password',
  'session.resetPassword': 'reset the password',
  'session.changeEmail': 'changed the address',
  'session.verifyEmail': 'confirmed the address',
  'session.linkProvider': 'linked the sign-in provider',
  'session.unlinkProvider': 'removed the link to the sign-in provider',
  'secondFactor.on': 'turned on two-factor sign-in',
  'secondFactor.off': 'turned off two-factor sign-in',
  'secondFactor.newCodes': 'created new recovery codes',
  'secondFactor.remove': 'turned off the account’s two-factor sign-in',
  'key.mint': 'created an API key',
  'key.revoke': 'revoked an API key',
  'sshKey.add': 'added an SSH key',
  'sshKey.remove': 'removed an SSH key',
  'app.connect': 'connected an app',
  'app.revoke': 'disconnected an app',
  'grant.approve': 'approved a device',
  'grant.deny': 'denied a device',
  'template.create': 'created a template',
  'template.delete': 'deleted a template',
  'client.register': 'registered an app',
  'client.disable': 'disabled an app for everyone',
  'client.enable': 'enabled an app again',
  'orphan.remove': 'removed an orphan',
  'node.drain': 'drained a node',
  'node.resume': 'resumed a node',
  'node.fence': 'marked a node as off',
  'node.region': 'set a node’s region',
  'webhook.create': 'created a webhook',
  'webhook.update': 'changed a webhook',
  'webhook.delete': 'deleted a webhook',
  'webhook.rotateSecret': 'rotated the secret of a webhook',
  'webhook.test': 'tested a webhook',
  'webhook.resend': 'sent a message to a webhook again',
  'webhook.off': 'switched a failing webhook off',
  'wallet.credit': 'credited the wallet',
  'wallet.topup': 'topped up the wallet',
  'wallet.refund': 'refunded a payment',
  'wallet.dispute': 'disputed a payment',
  'checkout.open': 'began a payment',
  'usage.writeOff': 'wrote usage off',
  'account.acceptEula': 'agreed to Minecraft’s EULA',
  'account.setLimits': 'changed the account’s limits',
  'account.setSpendCap': 'changed the spend cap',
  'account.spendCapReached': 'found the spend cap reached',
  'account.invite': 'invited someone to the service',
  'account.makeOperator': 'made the account an operator',
  'account.endOperator': 'removed the account’s operator rights',
  'account.makeResetLink': 'created a password reset link',
  'account.cancelInvitation': 'cancelled an invitation to the service',
};
