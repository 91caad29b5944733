/** The kinds of events that a webhook can choose. */
export const NOTICE_KINDS = [
  'started',
  'asleep',
  'startFailed',
  'crashed',
  'players',
  'backups',
  'disk',
  'money',
  'members',
  'updates',
] as const;

export type NoticeKind = (typeof NOTICE_KINDS)[number];

interface NoticeEvent {
  /** `test`: sent on request, whatever kinds are chosen. */
  kind: NoticeKind | 'test';
  /** Whether it needs no action. */
  isGood: boolean;
  /** The message's first line. `name`: of the server or the account. */
  title: (name: string, detail: string) => string;
}

const good = (kind: NoticeEvent['kind'], title: NoticeEvent['title']): NoticeEvent => ({ kind, isGood: true, title });
const bad = (kind: NoticeKind, title: NoticeEvent['title']): NoticeEvent => ({ kind, isGood: false, title });

/** The events that webhooks are notified of. An event with an audit entry has the name of the entry's action. */
export const EVENTS: Readonly<Record<string, NoticeEvent>> = {
  test: good('test', (name) => `Test message for ${name}`),
  'server.started': good('started', (name) => `${name} is awake`),
  'server.asleep': good('asleep', (name) => `${name} is asleep`),
  'server.startFailed': bad('startFailed', (name) => `${name} could not start`),
  'server.installFailed': bad('startFailed', (name) => `${name} could not be installed`),
  'server.crash': bad('crashed', (name) => `${name} crashed`),
  'server.hung': bad('crashed', (name) => `${name} stopped responding and was ended`),
  'player.join': good('players', (name, player) => `${player} joined ${name}`),
  'player.leave': good('players', (name, player) => `${player} left ${name}`),
  'backup.finish': good('backups', (name) => `A backup of ${name} is ready`),
  'backup.fail': bad('backups', (name) => `A backup of ${name} failed`),
  'server.quotaExceeded': bad('disk', (name) => `${name} exceeds its disk quota`),
  'server.quotaFreed': good('disk', (name) => `${name} is within its disk quota again`),
  'account.diskExceeded': bad('disk', (name) => `${name} exceeds its disk limit`),
  'account.diskFreed': good('disk', (name) => `${name} is within its disk limit again`),
  'account.spendCapReached': bad('money', (name) => `${name} has reached this month’s spend cap`),
  'wallet.credit': good('money', (name) => `The wallet of ${name} was changed by an operator`),
  'wallet.topup': good('money', (name) => `The wallet of ${name} was topped up`),
  'wallet.refund': bad('money', (name) => `A payment of ${name} was refunded`),
  'wallet.dispute': bad('money', (name) => `A payment of ${name} is disputed`),
  'member.invite': good('members', (name) => `A member was invited to ${name}`),
  'member.accept': good('members', (name) => `A member joined the team of ${name}`),
  'member.decline': good('members', (name) => `An invitation to ${name} was declined`),
  'member.setRole': good('members', (name) => `The role of a member of ${name} was changed`),
  'member.remove': good('members', (name) => `A member was removed from ${name}`),
  'member.leave': good('members', (name) => `A member left the team of ${name}`),
  'server.version': good('updates', (name) => `The software of ${name} was changed`),
  'server.newBuild': good('updates', (name) => `A newer build of ${name} is set for its next start`),
  'server.buildTakenBack': bad('updates', (name) => `${name} returned to the build before its update`),
  'mod.update': good('updates', (name) => `The mods of ${name} were updated`),
};

/** An event for the webhooks of an account. Must not contain secrets. */
export interface NewNotice {
  /** A key of `EVENTS`. */
  event: string;
  accountId: string;
  /** '' if it is not about a server. */
  serverId: string;
  /** A few words, from outside in part. */
  detail: string;
  at: number;
}
