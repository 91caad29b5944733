import type { ReplyOf } from '../../http/calls.ts';
import { plainName } from '../../web/text.ts';

type Entry = ReplyOf<'ListServerAudit'>['entries'][number];

/** An entry of an audit log as people say it. */
export interface AuditWords {
  who: string;
  what: string;
  /** In the panel, by a key …; '' where who it was says it. */
  through: string;
  /** What exactly, as it was recorded. */
  detail: string;
}

/** Who reads it, and the addresses of those whom the reader knows, by user. */
export interface AuditReader {
  userId: string;
  emails: ReadonlyMap<string, string>;
}

export function auditWords({ userId, action, detail }: Entry, reader: AuditReader): AuditWords {
  const [way = '', ...rest] = detail.split('; ');
  const [kind = '', ...named] = way.split(' ');
  const name = plainName(named.join(' '));
  const what = WHAT[action] ?? action;
  return { what, detail: plainName(rest.join('; '), 300), ...whoOf(kind, name, userId, reader) };
}

function whoOf(kind: string, name: string, userId: string, reader: AuditReader): Pick<AuditWords, 'who' | 'through'> {
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
      const somebody = reader.emails.get(userId) ?? (userId === '' ? 'Unknown' : 'Somebody else');
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

/** Why the service did something by itself. */
export const SYSTEM: Record<string, string> = {
  idle: 'as nobody was in',
  crash: 'as the game had ended by itself',
  hung: 'as the game did not answer',
  quota: 'as the disk quota was reached',
  funds: 'as the wallet was empty',
  deadline: 'as it took too long',
  false_wake: 'as it had been woken and nobody came in',
  stopped_inside: 'as a command in the game had stopped it',
  unexpected: 'as it ran though it was to be asleep',
  lost: 'as its engine or machine had gone away',
  shutdown: 'as the service ended',
  spend_cap: 'as the spend cap of the month was reached',
  access: 'as its author may not do so any more',
  checkout: 'as the payment provider told it',
};

/** By its action, behind who did it. */
export const WHAT: Record<string, string> = {
  'server.create': 'made the server',
  'server.start': 'started it',
  'server.wake': 'woke it by joining',
  'server.stop': 'stopped it',
  'server.restart': 'restarted it',
  'server.kill': 'killed the game',
  'server.install': 'installed it anew',
  'server.retryInstall': 'tried the install again',
  'server.keepAwake': 'kept it awake',
  'server.delete': 'deleted the server',
  'server.alarm': 'told it of something',
  'server.crash': 'saw the game crash',
  'server.startFailed': 'saw the start fail',
  'server.installFailed': 'saw the install fail',
  'server.properties': 'changed game settings',
  'server.motd': 'changed the description',
  'server.webhook': 'changed where alerts go',
  'server.alertGivenUp': 'gave an alert up, as the webhook did not take it',
  'server.update': 'changed settings',
  'server.version': 'changed software or version',
  'server.publicStatus': 'changed the public page',
  'server.wakePolicy': 'changed who may wake it',
  'server.port.add': 'opened a port',
  'server.port.remove': 'closed a port',
  'server.suspend': 'suspended it',
  'server.unsuspend': 'lifted the suspension',
  'server.setDiskQuota': 'changed the disk quota',
  'server.quotaExceeded': 'found the disk quota exceeded',
  'server.quotaFreed': 'found space on the disk again',
  'account.diskExceeded': 'found the disk space of the account used up',
  'account.diskFreed': 'found disk space for the account again',
  'console.command': 'ran a command',
  'players.kick': 'threw a player out',
  'players.ban': 'banned a player',
  'players.unban': 'lifted a ban',
  'players.banIp': 'banned an address',
  'players.unbanIp': 'lifted the ban of an address',
  'players.op': 'made an operator',
  'players.deop': 'took an operator’s rights',
  'players.whitelist.add': 'put a player on the whitelist',
  'players.whitelist.remove': 'took a player off the whitelist',
  'players.whitelistEnforced': 'switched the whitelist',
  'file.write': 'wrote a file',
  'file.upload': 'uploaded a file',
  'file.copy': 'copied files',
  'file.rename': 'moved a file',
  'file.delete': 'deleted files',
  'file.mkdir': 'made a folder',
  'file.archive': 'made an archive',
  'file.extract': 'unpacked an archive',
  'backup.create': 'made a backup',
  'backup.delete': 'deleted a backup',
  'backup.restore': 'restored a backup',
  'backup.lock': 'locked a backup',
  'backup.unlock': 'unlocked a backup',
  'backup.setRetention': 'changed how many backups are kept',
  'world.setActive': 'chose another world',
  'world.reset': 'reset a world',
  'world.delete': 'deleted a world',
  'mod.add': 'added a mod',
  'mod.remove': 'removed a mod',
  'mod.update': 'updated mods',
  'schedule.create': 'made a schedule',
  'schedule.change': 'changed a schedule',
  'schedule.delete': 'deleted a schedule',
  'schedule.enable': 'switched a schedule on',
  'schedule.disable': 'switched a schedule off',
  'schedule.run': 'ran a schedule',
  'database.create': 'made the database',
  'database.drop': 'deleted the database',
  'database.rotate': 'changed the database’s password',
  'sftp.enable': 'switched SFTP on',
  'sftp.disable': 'switched SFTP off',
  'sftp.rotatePassword': 'changed the SFTP password',
  'member.invite': 'invited',
  'member.accept': 'accepted the invitation',
  'member.decline': 'declined the invitation',
  'member.leave': 'left',
  'member.setRole': 'changed a role',
  'member.remove': 'removed a member',
  'session.signIn': 'signed in',
  'session.signOut': 'signed out',
  'session.signUp': 'made the account',
  'session.end': 'ended a session',
  'session.endOthers': 'ended all other sessions',
  'session.lock': 'locked sign-in for a while',
  'session.changePassword': 'changed the password',
  'session.resetPassword': 'reset the password',
  'session.changeEmail': 'changed the address',
  'session.verifyEmail': 'confirmed the address',
  'secondFactor.on': 'switched the second factor on',
  'secondFactor.off': 'switched the second factor off',
  'secondFactor.newCodes': 'made new recovery codes',
  'secondFactor.remove': 'switched the account’s second factor off',
  'key.mint': 'made an API key',
  'key.revoke': 'revoked an API key',
  'sshKey.add': 'added an SSH key',
  'sshKey.remove': 'removed an SSH key',
  'app.connect': 'connected an app',
  'app.revoke': 'disconnected an app',
  'grant.approve': 'let a device in',
  'grant.deny': 'turned a device away',
  'template.create': 'made a template',
  'template.delete': 'deleted a template',
  'client.register': 'registered an app',
  'client.disable': 'disabled an app for everybody',
  'client.enable': 'enabled an app again',
  'orphan.remove': 'removed an orphan',
  'node.drain': 'drained a node',
  'node.resume': 'resumed a node',
  'node.fence': 'said that a node is surely off',
  'node.region': 'said in which region a node stands',
  'wallet.credit': 'credited the wallet',
  'wallet.topup': 'topped the wallet up',
  'wallet.refund': 'refunded a payment',
  'wallet.dispute': 'disputed a payment',
  'checkout.open': 'began a payment',
  'usage.writeOff': 'wrote usage off',
  'account.acceptEula': 'agreed to Minecraft’s EULA',
  'account.setLimits': 'changed the account’s limits',
  'account.setSpendCap': 'changed the spend cap',
  'account.spendCapReached': 'found the spend cap reached',
  'account.invite': 'invited somebody to the service',
  'account.makeOperator': 'made them an operator',
  'account.endOperator': 'ended their being an operator',
  'account.makeResetLink': 'made a link for another password',
  'account.cancelInvitation': 'took an invitation to the service back',
};
