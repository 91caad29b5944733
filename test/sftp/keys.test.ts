import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import ssh2 from 'ssh2';
import { createAccessChanges } from '../../src/http/access-changes.ts';
import type { SessionPrincipal } from '../../src/http/principal.ts';
import { createLog } from '../../src/kernel/log.ts';
import { StatusError } from '../../src/kernel/status.ts';
import { systemClock } from '../../src/kernel/system-clock.ts';
import { PASSWORD_FRESH_MS } from '../../src/accounts/passwords.ts';
import { createLoginLimits } from '../../src/accounts/login-limits.ts';
import { type Mailer, Post } from '../../src/mail/mail.ts';
import type { Accounts } from '../../src/accounts/accounts.ts';
import { insertUser } from '../../src/accounts/rows.ts';
import { MOST_SSH_KEYS, addSshKey, removeSshKey, sshKeysOf } from '../../src/sftp/ssh-keys.ts';
import { isHere } from '../support/needs.ts';
import { revokeSftpLogin } from '../../src/sftp/users.ts';
import { fakeClock } from '../fakes/clock.ts';
import { addPerson } from '../support/store.ts';
import { type SftpUnderTest, connect, openSftp, openssh, startSftp } from './support.ts';

const { generateKeyPairSync } = ssh2.utils;

/** Starts SFTP with a server whose owner can store public keys. */
async function start(t: ExecutionContext) {
  const it = await startSftp(t, { limits: { refusalDelayMs: 0 } });
  const { store } = it;
  const user = { id: 'usr_test', accountId: 'acc_test', email: 'owner@example.org', emailVerified: true };
  await store.write((tx) => insertUser(tx, { ...user, passwordHash: '', operator: false, createdAt: 1 }));
  const letters: string[] = [];
  const mailer: Mailer = { send: async ({ text }) => void letters.push(text) };
  const accounts: Accounts = {
    store,
    clock: systemClock,
    post: new Post(mailer, createLog({ level: 'silent' }), { baseUrl: 'https://panel.example', isSetUp: true }),
    loginLimits: createLoginLimits(systemClock),
    secret: { derive: () => '' },
    accessChanges: createAccessChanges(),
    signup: 'closed',
    passwords: 'everyone',
  };
  const who = (userId: string, accountId: string) =>
    ({
      kind: 'session',
      userId,
      accountId,
      email: user.email,
      emailVerified: true,
      provedAt: Date.now(),
    }) as SessionPrincipal;
  const owner = who('usr_test', 'acc_test');
  const add = (publicKey: string, principal = owner) => addSshKey(accounts, principal, { name: 'laptop', publicKey });
  return { ...it, accounts, letters, owner, who, add };
}

const reasonOf = (work: Promise<unknown>) =>
  work.then(
    () => 'done',
    (error: unknown) => (error instanceof StatusError ? error.reason : String(error)),
  );

async function signsIn(t: ExecutionContext, it: SftpUnderTest, privateKey: string, username = it.login.username) {
  try {
    const login = { username, password: '' };
    const client = await connect(t, { port: it.port, login }, { privateKey, authHandler: ['publickey'] });
    await openSftp(client);
    client.end();
    return 'done';
  } catch (error) {
    return (error as Error).message;
  }
}

const REFUSED = 'All configured authentication methods failed';

test('an owner signs in with a registered ECDSA, RSA or Ed25519 key; other keys are refused', async (t) => {
  const it = await start(t);
  const pairs = [generateKeyPairSync('ecdsa', { bits: 256 }), generateKeyPairSync('rsa', { bits: 2_048 }), ed25519()];
  for (const pair of pairs) {
    t.is(await signsIn(t, it, pair.private), REFUSED);
    const { type, fingerprint } = await it.add(`${pair.public} me@laptop`);
    t.regex(fingerprint, /^SHA256:[A-Za-z0-9+/]{43}$/);
    t.is(await signsIn(t, it, pair.private), 'done', type);
  }
  t.is(await signsIn(t, it, ed25519().private), REFUSED);
  t.is(await signsIn(t, it, pairs[0]!.private, 'lobby.00000000'), REFUSED, 'under another name');
  await addPerson(it.store, 'other');
  const foreign = ed25519();
  await it.add(foreign.public, it.who('usr_other', 'acc_other'));
  t.is(await signsIn(t, it, foreign.private), REFUSED, 'somebody else’s key');
  await it.store.write((tx) => tx.run('UPDATE "servers" SET "sftpEnabled" = $1', [false]));
  t.is(await signsIn(t, it, pairs[0]!.private), REFUSED, 'SFTP is off');
  const keys = await sshKeysOf(it.store, it.owner);
  t.true(keys.every(({ lastUsedAt }) => lastUsedAt !== null));
  t.is(it.letters.length, 4);
  t.true(it.letters[0]?.includes(keys[0]!.fingerprint));
});

test('adding an SSH key refuses invalid, weak, private, duplicate or excess keys, and needs a recent password check', async (t) => {
  const it = await start(t);
  const { public: good, private: secret } = ed25519();
  const weak = generateKeyPairSync('rsa', { bits: 1_024 }).public;
  for (const bad of ['', 'ssh-ed25519', 'ssh-ed25519 AAAA', 'x'.repeat(4_000), weak, secret, good.slice(0, -9)]) {
    t.is(await reasonOf(it.add(bad)), 'SSH_KEY_INVALID', bad.slice(0, 40));
  }
  const stale = { ...it.owner, provedAt: Date.now() - PASSWORD_FRESH_MS };
  t.is(await reasonOf(it.add(good, stale)), 'PASSWORD_REQUIRED');
  t.is(await reasonOf(it.add(good)), 'done');
  t.is(await reasonOf(it.add(good)), 'SSH_KEY_EXISTS');
  for (let n = 1; n < MOST_SSH_KEYS; n++) t.is(await reasonOf(it.add(ed25519().public)), 'done');
  t.is(await reasonOf(it.add(ed25519().public)), 'MAX_SSH_KEYS');
});

test('removing an SSH key ends its open session and blocks its sign-in; other keys keep working', async (t) => {
  const it = await start(t);
  const [kept, removed] = [ed25519(), ed25519()];
  const { id: keptId } = await it.add(kept.public);
  const { id } = await it.add(removed.public);
  const open = async (privateKey: string) => {
    const client = await connect(t, it, { privateKey, authHandler: ['publickey'] });
    await openSftp(client);
    return client;
  };
  const stays = await open(kept.private);
  const ended = await open(removed.private);
  const closed = new Promise<void>((resolve) => void ended.once('close', () => resolve()));
  t.is(
    await reasonOf(removeSshKey({ ...it.accounts, sftp: it.sftp }, it.who('usr_x', 'acc_x'), id)),
    'SSH_KEY_NOT_FOUND',
  );
  t.is(await reasonOf(removeSshKey({ ...it.accounts, sftp: it.sftp }, it.owner, id)), 'done');
  await closed;
  t.is(await signsIn(t, it, removed.private), REFUSED);
  t.is(it.sftp.sessions('lobby'), 1);
  stays.end();
  t.is((await sshKeysOf(it.store, it.owner)).map((key) => key.id).join(), keptId);
});

test('a session ends within a minute after its login is revoked, even if the SFTP service is not notified', async (t) => {
  const clock = fakeClock(Date.now());
  const it = await startSftp(t, { clock });
  const client = await connect(t, it);
  await openSftp(client);
  const closed = new Promise<void>((resolve) => void client.once('close', () => resolve()));
  await clock.advance(60_000);
  t.is(it.sftp.sessions('lobby'), 1, 'its password is right');
  await it.store.write((tx) => revokeSftpLogin(tx, 'lobby', 2));
  await clock.advance(60_000);
  await closed;
  t.is(it.sftp.sessions('lobby'), 0);
});

test.runIf(isHere('openssh'))('OpenSSH signs in with an Ed25519 and an RSA key', async (t) => {
  const it = await start(t);
  for (const pair of [ed25519(), generateKeyPairSync('rsa', { bits: 3_072 })]) {
    await it.add(pair.public);
    const file = join(it.folder, 'id_test');
    writeFileSync(file, pair.private);
    chmodSync(file, 0o600);
    const only = ['IdentitiesOnly=yes', 'PreferredAuthentications=publickey'].flatMap((option) => ['-o', option]);
    const { code, output } = await openssh(it, ['mkdir made', 'rmdir made'], ['-i', file, ...only]);
    t.is(code, 0, output);
  }
});

/**
 * Returns a pair of Ed25519 keys. One in 256 of the library's keys is invalid, because it drops a zero as the first
 * byte.
 */
function ed25519() {
  for (;;) {
    const pair = generateKeyPairSync('ed25519');
    if (!(ssh2.utils.parseKey(pair.private) instanceof Error) && !(ssh2.utils.parseKey(pair.public) instanceof Error)) {
      return pair;
    }
  }
}
