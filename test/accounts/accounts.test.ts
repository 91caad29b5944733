import { createHash } from 'node:crypto';
import { hash } from '@node-rs/argon2';
import test, { type ExecutionContext } from 'ava';
import { type AccessChange, createAccessChanges } from '../../src/http/access-changes.ts';
import { checkCsrfToken, csrfToken, maskedCsrfToken, refuseCrossSite } from '../../src/http/session/csrf.ts';
import {
  SESSION_LIFE_MS,
  clearedSessionCookie,
  sessionCookie,
  sessionToken,
} from '../../src/http/session/session-cookie.ts';
import type { Visitor } from '../../src/http/session/visitor.ts';
import { backoff, createSlidingLog } from '../../src/kernel/limits/sliding-log.ts';
import { createLog } from '../../src/kernel/log.ts';
import { StatusError } from '../../src/kernel/status.ts';
import { type AuditRow, recordAudit, recordStep } from '../../src/audit/audit.ts';
import { LOGIN_RULES, createAttemptLimit, createLoginLimits } from '../../src/accounts/login-limits.ts';
import { type Mail, type Mailer, Post, normalizeEmail } from '../../src/mail/mail.ts';
import { requestSignUp, signUpToken } from '../../src/accounts/sign-up-links.ts';
import { type Accounts, signUpMode } from '../../src/accounts/accounts.ts';
import { getUser, markEmailVerified } from '../../src/accounts/rows.ts';
import {
  SESSION_IDLE_MS,
  endBrowserSession,
  findBrowserSession,
  openBrowserSession,
  browserSessionsOf,
} from '../../src/accounts/browser-sessions.ts';
import { type Credentials, signIn, signUp } from '../../src/accounts/sign-in.ts';
import { type FakeClock, fakeClock } from '../fakes/clock.ts';
import * as fc from '../support/property.ts';
import { freshStore } from '../support/store.ts';
import { hashPassword, isOutdated, verifyPassword, changePassword } from '../../src/accounts/passwords.ts';

const PASSWORD = 'correct horse';
const HOME = { address: '192.0.2.1', userAgent: 'test' };
const AWAY = { address: '198.51.100.7', userAgent: 'other' };
const MINUTE_MS = 60_000;

interface TestAccounts extends Accounts {
  clock: FakeClock;
  letters: Mail[];
  changes: AccessChange[];
}

async function testAccounts(
  t: ExecutionContext,
  { signup = 'open', mailer }: { signup?: Accounts['signup']; mailer?: Mailer } = {},
): Promise<TestAccounts> {
  const store = await freshStore(t);
  const clock = fakeClock(1_700_000_000_000);
  const letters: Mail[] = [];
  const changes: AccessChange[] = [];
  const accessChanges = createAccessChanges();
  accessChanges.onAccessChange((change) => changes.push(change));
  const sending: Mailer = mailer ?? { send: async (mail) => void letters.push(mail) };
  const config = { baseUrl: 'https://panel.example', isSetUp: true };
  const post = new Post(sending, createLog({ level: 'silent' }), config);
  t.teardown(() => post.settled());
  return {
    store,
    clock,
    letters,
    changes,
    accessChanges,
    post,
    loginLimits: createLoginLimits(clock),
    secret: { derive: (purpose, id) => createHash('sha256').update(`${purpose} ${id}`).digest('base64url') },
    signup,
    passwords: 'everyone',
  };
}

/** Signs in a user without a second factor. */
async function signedIn(it: Accounts, credentials: Credentials, visitor: Visitor) {
  const inside = await signIn(it, credentials, visitor);
  if ('pending' in inside) throw new Error('a code is asked for');
  return inside;
}

const reasonOf = async (work: Promise<unknown>) =>
  work.then(
    () => 'done',
    (error: unknown) => (error instanceof StatusError ? error.reason : String(error)),
  );

test('normalizeEmail returns one form per address and refuses anything that could break a mail header', (t) => {
  t.is(normalizeEmail('  Steve@Example.COM '), 'steve@example.com');
  t.is(normalizeEmail('operator@localhost'), 'operator@localhost');
  t.is(normalizeEmail('a+b@bücher.example'), 'a+b@xn--bcher-kva.example');
  t.is(normalizeEmail(`${'a'.repeat(64)}@example.com`), `${'a'.repeat(64)}@example.com`);
  const bad = ['', '@', 'a@', '@b', 'a b@c.d', 'a@b@c', 'a..b@c.d', '.a@b.c', 'a@b..c', 'a@-b.c', 'a,b@c.d', '"a"@b.c'];
  for (const text of [
    ...bad,
    'a@[::1]',
    'a\r\nbcc:x@y.z',
    'é@b.c',
    `${'a'.repeat(65)}@b.c`,
    `a@${'b.'.repeat(127)}c`,
  ]) {
    t.is(normalizeEmail(text), undefined, text);
  }
  fc.assert(
    fc.property(fc.oneof(fc.emailAddress(), fc.string()), (text) => {
      const email = normalizeEmail(text);
      return email === undefined || (/^[\x21-\x7e]{3,254}$/.test(email) && normalizeEmail(email) === email);
    }),
  );
});

test('sign-in attempts are free at first, then wait increasingly long, but are never locked out', async (t) => {
  const clock = fakeClock(0);
  const limit = createAttemptLimit(
    createSlidingLog(backoff({ free: 3, firstWaitMs: 1_000, longestWaitMs: 8_000, windowMs: MINUTE_MS }), clock),
  );
  const wait = () => {
    try {
      limit.take('a');
      return 0;
    } catch (error) {
      return (error as StatusError).options.retryAfterSeconds ?? -1;
    }
  };
  t.deepEqual([wait(), wait(), wait()], [0, 0, 0]);
  for (const seconds of [1, 2, 4, 8, 8, 8]) {
    t.is(wait(), seconds);
    t.is(wait(), seconds, 'a refused attempt does not count');
    await clock.advance(seconds * 1_000);
    t.is(wait(), 0);
  }
  limit.take('b').forgive();
  for (let n = 0; n < 3; n++) t.notThrows(() => limit.take('b'));
  t.throws(() => limit.take('b'), { instanceOf: StatusError });
  await clock.advance(MINUTE_MS);
  t.is(wait(), 0, 'old attempts expire');
});

test('the login limits allow the intended number of attempts in 15 minutes', async (t) => {
  const tries = async (name: 'network' | 'address') => {
    const clock = fakeClock(0);
    const limit = createLoginLimits(clock)[name];
    let passed = 0;
    for (; clock.now() < 15 * MINUTE_MS; await clock.advance(1_000)) {
      try {
        for (;;) {
          limit.take('x');
          passed++;
        }
      } catch {
        // The attempt came too soon.
      }
    }
    return passed;
  };
  const [network, address] = [await tries('network'), await tries('address')];
  t.true(network >= 8 && network <= 15, String(network));
  t.true(address >= 40 && address <= 60, String(address));
});

test('sign-up creates a user, an account and a session, sends one e-mail, and stores no secrets in plain text', async (t) => {
  const it = await testAccounts(t);
  const { user, token } = await signUp(it, { email: 'steve@example.com', password: PASSWORD }, HOME);
  t.like(await findBrowserSession(it.store, it.clock, token), {
    kind: 'session',
    userId: user.id,
    accountId: user.accountId,
    email: 'steve@example.com',
    emailVerified: false,
    operator: false,
  });
  t.true(await verifyPassword((await getUser(it.store, user.id))?.passwordHash, PASSWORD));
  t.is(await reasonOf(signUp(it, { email: 'steve@example.com', password: PASSWORD }, AWAY)), 'USER_EXISTS');
  const accounts = await it.store.query('SELECT * FROM "accounts"');
  t.is(accounts.length, 2, 'a refused sign-up leaves no account behind');
  t.is(it.letters.length, 1);
  t.regex(it.letters[0]?.text ?? '', /^https:\/\/panel\.example\/verify-email\?token=[\w-]{43}$/m);
  const stored = JSON.stringify(
    await Promise.all(
      ['users', 'sessions', 'email_tokens', 'audit'].map((table) => it.store.query(`SELECT * FROM "${table}"`)),
    ),
  );
  const linked = /token=([\w-]{43})/.exec(it.letters[0]?.text ?? '')?.[1] ?? '?';
  for (const secret of [PASSWORD, token, linked]) t.false(stored.includes(secret));
});

test('sign-up can be closed or require an e-mail link, and ignores a failing mail server', async (t) => {
  const closed = await testAccounts(t, { signup: 'closed' });
  const steve = { email: 'steve@example.com', password: PASSWORD };
  t.is(await reasonOf(signUp(closed, steve, HOME)), 'SIGNUP_CLOSED');
  t.is(await reasonOf(requestSignUp(closed, steve.email, HOME)), 'SIGNUP_CLOSED');
  const byLetter = { ...closed, signup: 'letter' as const };
  t.is(await reasonOf(signUp(byLetter, steve, HOME)), 'SIGNUP_CLOSED');
  t.is(signUpMode({ signup: 'open', smtpUrl: 'smtp://mail.example' }), 'letter');
  t.is(signUpMode({ signup: 'open', smtpUrl: null }), 'open', 'no server would deliver the e-mail');
  t.is(signUpMode({ signup: 'closed', smtpUrl: 'smtp://mail.example' }), 'closed');
  const now = byLetter.clock.now();
  const link = (email: string, expiresAt = now + 1) => signUpToken(byLetter.secret, email, expiresAt);
  for (const invitation of [
    link('alex@example.com'),
    link(steve.email, now),
    `${link(steve.email).slice(0, -1)}!`,
    'x',
  ]) {
    t.is(await reasonOf(signUp(byLetter, { ...steve, invitation }, HOME)), 'SIGNUP_CLOSED', invitation);
  }
  const invitation = link(steve.email);
  t.is(
    await reasonOf(signUp(closed, { ...steve, invitation }, HOME)),
    'SIGNUP_CLOSED',
    'a sign-up link does not open a closed sign-up',
  );
  const letters = closed.letters.length;
  t.true((await signUp(byLetter, { ...steve, invitation }, HOME)).user.emailVerified, 'the link proves the address');
  t.is(closed.letters.length, letters, 'no second e-mail is sent');
  t.is(await reasonOf(signUp(byLetter, { ...steve, invitation }, AWAY)), 'USER_EXISTS', 'a link works once');
  const open = await testAccounts(t, { mailer: { send: async () => Promise.reject(new Error('no')) } });
  t.is(await reasonOf(signUp(open, steve, HOME)), 'done');
});

test('a wrong password and an unknown address return the same error and take similarly long', async (t) => {
  const it = await testAccounts(t);
  await signUp(it, { email: 'steve@example.com', password: PASSWORD }, HOME);
  const failing = async (email: string) => {
    const begun = performance.now();
    const error = await t.throwsAsync(signIn(it, { email, password: 'wrong password' }, AWAY), {
      instanceOf: StatusError,
    });
    return {
      text: JSON.stringify([error.code, error.reason, error.message, error.options]),
      ms: performance.now() - begun,
    };
  };
  await failing('nobody@example.com');
  const [wrong, unknown] = [await failing('steve@example.com'), await failing('nobody@example.com')];
  t.is(wrong.text, unknown.text);
  // A hash takes longer than this on any machine; a user lookup does not.
  t.true(unknown.ms > 4 && wrong.ms > 4, `${unknown.ms} ms and ${wrong.ms} ms`);
  const before = await it.store.query('SELECT * FROM "sessions"');
  const { token } = await signedIn(it, { email: 'steve@example.com', password: PASSWORD }, AWAY);
  t.is(
    (await it.store.query('SELECT * FROM "sessions"')).length,
    before.length + 1,
    'each sign-in opens a new session',
  );
  t.truthy(await findBrowserSession(it.store, it.clock, token));
});

test('password guessing is slowed down, parallel guesses gain no extra tries, and the owner’s network can sign in', async (t) => {
  const it = await testAccounts(t);
  const steve = { email: 'steve@example.com', password: PASSWORD };
  await signUp(it, steve, HOME);
  const guesses = await Promise.all(
    Array.from({ length: 12 }, () => reasonOf(signIn(it, { ...steve, password: 'wrong password' }, AWAY))),
  );
  t.is(guesses.filter((reason) => reason === 'SIGN_IN_FAILED').length, LOGIN_RULES.network.burst);
  t.is(await reasonOf(signIn(it, steve, AWAY)), 'TOO_MANY_ATTEMPTS', 'even with the right password');
  t.is(await reasonOf(signIn(it, steve, HOME)), 'done', 'the owner has signed in from this network');
  await it.clock.advance(1_000 / LOGIN_RULES.network.perSecond);
  t.is(await reasonOf(signIn(it, steve, AWAY)), 'done', 'the limit is no lockout');
});

test('an attacker who polls a known address locks out only their own network', async (t) => {
  const it = await testAccounts(t);
  const steve = { email: 'steve@example.com', password: PASSWORD };
  await signUp(it, steve, HOME);
  const poller = { address: '203.0.113.9', userAgent: 'poller' };
  const outcomes: string[] = [];
  // The attacker guesses every two seconds. The owner travels and signs in from a new network each time.
  for (let round = 0; round < 20; round++) {
    for (let n = 0; n < 15; n++) {
      await reasonOf(signIn(it, { ...steve, password: 'wrong password' }, poller));
      await it.clock.advance(2_000);
    }
    outcomes.push(await reasonOf(signIn(it, steve, { address: `198.18.${round}.1`, userAgent: 'phone' })));
  }
  t.deepEqual(new Set(outcomes), new Set(['done']), `${outcomes.length} right passwords`);
});

test('a known device can sign in despite an attacker in its network, and a forged device token cannot', async (t) => {
  const it = await testAccounts(t);
  const steve = { email: 'steve@example.com', password: PASSWORD };
  const { device } = await signUp(it, steve, HOME);
  const alex = await signUp(it, { email: 'alex@example.com', password: PASSWORD }, HOME);
  const poll = () => reasonOf(signIn(it, { ...steve, password: 'wrong password' }, { ...HOME, address: '192.0.2.77' }));
  while ((await poll()) !== 'TOO_MANY_ATTEMPTS');
  t.is(await reasonOf(signIn(it, steve, HOME)), 'TOO_MANY_ATTEMPTS', 'the network has used its attempts');
  for (const forged of [`${device.slice(0, -1)}!`, `${'x'.repeat(22)}.${device.slice(23)}`, alex.device, 'x', '']) {
    t.is(await reasonOf(signIn(it, steve, { ...HOME, device: forged })), 'TOO_MANY_ATTEMPTS', forged);
  }
  const familiar = await signedIn(it, steve, { ...HOME, device });
  t.is(familiar.device, device, 'the device token stays the same');
  const guess = () => reasonOf(signIn(it, { ...steve, password: 'wrong password' }, { ...AWAY, device }));
  const guesses = new Set<string>();
  for (let n = 0; n <= LOGIN_RULES.own.burst; n++) guesses.add(await guess());
  t.deepEqual([...guesses], ['SIGN_IN_FAILED', 'TOO_MANY_ATTEMPTS'], 'a stolen device token is slowed down too');
});

test('a sign-in from a new network or browser sends an e-mail to a confirmed address, a familiar one does not', async (t) => {
  const it = await testAccounts(t);
  const steve = { email: 'steve@example.com', password: PASSWORD };
  const { user, device } = await signUp(it, steve, HOME);
  const told = () => it.letters.splice(0).map(({ text }) => /from (a \w+) that/.exec(text)?.[1] ?? 'other');
  told();
  await signIn(it, steve, AWAY);
  t.deepEqual(told(), [], 'the address is not confirmed');
  await it.store.write((tx) => markEmailVerified(tx, user.id));
  await signIn(it, steve, { ...HOME, address: '192.0.2.99', device });
  t.deepEqual(told(), [], 'the same browser in the same network');
  await signIn(it, steve, { ...AWAY, address: '203.0.113.1', device });
  t.deepEqual(told(), ['a network']);
  await signIn(it, steve, { ...HOME, address: '203.0.113.2', device });
  t.deepEqual(told(), [], 'the network is known from now on');
  const elsewhere = await signedIn(it, steve, HOME);
  t.deepEqual(told(), ['a browser']);
  await signIn(it, steve, { ...HOME, device: elsewhere.device });
  t.deepEqual(told(), []);
  await reasonOf(signIn(it, { ...steve, password: 'wrong password' }, { ...AWAY, address: '198.18.0.1' }));
  t.deepEqual(told(), [], 'a failed sign-in sends no e-mail');
});

test('failed sign-ins count against their network address across accounts', async (t) => {
  const it = await testAccounts(t);
  const guess = (email: string) => reasonOf(signIn(it, { email, password: 'wrong password' }, AWAY));
  for (let n = 0; n < LOGIN_RULES.address.burst; n++) await guess('steve@example.com');
  t.is(await guess('alex@example.com'), 'TOO_MANY_ATTEMPTS', 'the limit covers all accounts');
});

test('guessing from many networks shares one limit, and the owner can still sign in from a known network', async (t) => {
  const it = await testAccounts(t);
  const steve = { email: 'steve@example.com', password: PASSWORD };
  await signUp(it, steve, HOME);
  let looked = 0;
  for (let n = 0; n < LOGIN_RULES.account.burst + 20; n++) {
    const visitor = { address: `2001:db8:${n.toString(16)}::1`, userAgent: 'bot' };
    if ((await reasonOf(signIn(it, { ...steve, password: 'wrong password' }, visitor))) === 'SIGN_IN_FAILED') looked++;
  }
  t.is(looked, LOGIN_RULES.account.burst);
  t.is(await reasonOf(signIn(it, steve, { ...HOME, address: '192.0.2.200' })), 'done');
});

// Serial, because all tests of a file share the queue.
test.serial(
  'a full password queue returns BUSY without counting an attempt, and a flood does not delay others',
  async (t) => {
    const it = await testAccounts(t);
    const rule = { burst: 200, perSecond: 1e-9 };
    it.loginLimits = createLoginLimits(it.clock, { network: rule, account: rule, address: rule });
    const steve = { email: 'steve@example.com', password: PASSWORD };
    await signUp(it, steve, HOME);
    const flood = Array.from({ length: 80 }, () => reasonOf(signIn(it, { ...steve, password: 'wrong' }, AWAY)));
    // Wait until the flood has used its attempts.
    await Promise.race(flood);
    t.is(await reasonOf(signIn(it, steve, { ...HOME, address: '198.18.0.1' })), 'done');
    const reasons = await Promise.all(flood);
    const wrong = reasons.filter((reason) => reason === 'SIGN_IN_FAILED').length;
    t.true(wrong < 80);
    t.is(reasons.filter((reason) => reason === 'BUSY').length, 80 - wrong);
    let left = 0;
    const takeOne = async () => it.loginLimits.network.take('198.51.100.0/24 steve@example.com');
    while ((await reasonOf(takeOne())) === 'done') left++;
    t.is(left, 200 - wrong, 'only checked passwords count');
  },
);

test('an outdated password hash is renewed at sign-in, and a password changed meanwhile fails the sign-in', async (t) => {
  const it = await testAccounts(t);
  const { user } = await signUp(it, { email: 'steve@example.com', password: PASSWORD }, HOME);
  const weak = await hash(PASSWORD, { memoryCost: 8_192, timeCost: 1, parallelism: 1 });
  const store = (passwordHash: string) =>
    it.store.write((tx) => tx.run('UPDATE "users" SET "passwordHash" = $1 WHERE "id" = $2', [passwordHash, user.id]));
  const stored = async () => (await getUser(it.store, user.id))?.passwordHash ?? '';
  t.deepEqual([isOutdated(weak), isOutdated(await stored()), isOutdated('nonsense')], [true, false, true]);
  await store(weak);
  await signIn(it, { email: 'steve@example.com', password: PASSWORD }, HOME);
  t.false(isOutdated(await stored()));
  t.true(await verifyPassword(await stored(), PASSWORD));
  const other = await hashPassword('another password');
  const late = signIn(it, { email: 'steve@example.com', password: PASSWORD }, HOME);
  await store(other);
  t.is(await reasonOf(late), 'SIGN_IN_FAILED');
});

test('changing the password ends the other sessions and keeps the current one', async (t) => {
  const it = await testAccounts(t);
  const steve = { email: 'steve@example.com', password: PASSWORD };
  const here = (await signUp(it, steve, HOME)).token;
  const there = (await signedIn(it, steve, AWAY)).token;
  const principal = await findBrowserSession(it.store, it.clock, here);
  if (!principal) throw new Error('nobody is signed in');
  const change = (current: string) => changePassword(it, principal, { current, replacement: 'new password' }, HOME);
  t.is(await reasonOf(change('wrong password')), 'WRONG_PASSWORD');
  t.truthy(await findBrowserSession(it.store, it.clock, there));
  t.is(await reasonOf(change(PASSWORD)), 'done');
  t.truthy(await findBrowserSession(it.store, it.clock, here));
  t.is(await findBrowserSession(it.store, it.clock, there), undefined);
  t.is(await reasonOf(signIn(it, steve, HOME)), 'SIGN_IN_FAILED');
  t.is(await reasonOf(signIn(it, { ...steve, password: 'new password' }, HOME)), 'done');
  t.deepEqual(it.changes, [{ userId: principal.userId }]);
});

test('a session ends when idle or at its maximum age, and records its use once a minute', async (t) => {
  const { store, clock, accessChanges, changes } = await testAccounts(t);
  const open = () => store.write((tx) => openBrowserSession(tx, 'usr_test', HOME, clock.now()));
  const unused = await open();
  const used = await open();
  const begun = clock.now();
  t.is(await findBrowserSession(store, clock, 'x'.repeat(43)), undefined);
  t.is(await findBrowserSession(store, clock, `${unused}=`), undefined);
  const seenAt = async () => {
    await store.write(async () => {});
    const principal = await findBrowserSession(store, clock, used);
    const rows = principal ? await browserSessionsOf(store, clock, principal) : [];
    return rows.find(({ id }) => id === principal?.sessionId)?.seenAt;
  };
  await clock.advance(59_999);
  t.is(await seenAt(), begun);
  await clock.advance(1);
  await findBrowserSession(store, clock, used);
  t.is(await seenAt(), begun + 60_000);
  while (clock.now() < begun + SESSION_LIFE_MS - SESSION_IDLE_MS / 2) {
    await clock.advance(SESSION_IDLE_MS / 2);
    t.truthy(await findBrowserSession(store, clock, used));
    await store.write(async () => {});
  }
  t.is(await findBrowserSession(store, clock, unused), undefined);
  await clock.advance(begun + SESSION_LIFE_MS - clock.now());
  t.is(await findBrowserSession(store, clock, used), undefined);

  const principal = await findBrowserSession(store, clock, await open());
  t.is((await store.query('SELECT * FROM "sessions"')).length, 1, 'expired sessions are deleted');
  if (!principal) throw new Error('nobody is signed in');
  t.false(await endBrowserSession({ store, clock, accessChanges }, principal, 'of somebody else'));
  t.true(await endBrowserSession({ store, clock, accessChanges }, principal, principal.sessionId));
  t.deepEqual(changes, [{ sessionId: principal.sessionId }]);
  for (let n = 0; n < 55; n++) await open();
  t.is((await store.query('SELECT * FROM "sessions"')).length, 50);
});

test('the session cookie is Secure with the __Host- prefix over HTTPS, and plain over HTTP', (t) => {
  const secure = sessionCookie('https://panel.example', 'abc');
  t.regex(secure, /^__Host-sid=abc; Path=\/; Max-Age=\d+; HttpOnly; SameSite=Lax; Secure$/);
  t.regex(sessionCookie('http://localhost:8080', 'abc'), /^sid=abc; Path=\/; Max-Age=\d+; HttpOnly; SameSite=Lax$/);
  t.regex(clearedSessionCookie('https://panel.example'), /^__Host-sid=; Path=\/; Max-Age=0;/);
  const read = (header: string | undefined) => sessionToken('https://panel.example', header);
  t.is(read('a=b; __Host-sid=abc; c=d'), 'abc');
  for (const header of [undefined, '', 'sid=abc', 'x__Host-sid=abc', '__Host-sid=a; __Host-sid=b']) {
    t.is(read(header), undefined, header);
  }
});

test('changes are accepted only from the service’s own pages, with the session’s CSRF token', (t) => {
  const base = 'https://panel.example';
  const passes = (headers: Record<string, string>, method = 'POST', baseUrl = base) => {
    try {
      refuseCrossSite(method, headers, baseUrl);
      return true;
    } catch {
      return false;
    }
  };
  t.true(passes({}));
  t.true(passes({ origin: base }));
  t.true(passes({ origin: base }, 'POST', `${base}/panel`));
  t.true(passes({ 'sec-fetch-site': 'same-origin', origin: 'null' }));
  t.true(passes({ 'sec-fetch-site': 'none' }));
  t.true(passes({ 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }, 'GET'));
  t.false(passes({ 'sec-fetch-site': 'cross-site' }));
  t.false(passes({ 'sec-fetch-site': 'cross-site', origin: base }));
  t.false(passes({ 'sec-fetch-site': 'same-site', origin: 'https://evil.panel.example' }));
  for (const origin of ['https://evil.example', 'http://panel.example', 'https://panel.example:444', 'null', '']) {
    t.false(passes({ origin }), origin);
    t.false(passes({ origin }, 'DELETE'), origin);
  }
  const secret = { derive: (purpose: string, id: string) => `${purpose}-${id}` };
  const token = csrfToken(secret, 's1');
  t.notThrows(() => checkCsrfToken(secret, 's1', token));
  const masked = maskedCsrfToken(secret, 's1');
  t.not(masked, maskedCsrfToken(secret, 's1'), 'each page gets a different text');
  t.notThrows(() => checkCsrfToken(secret, 's1', masked));
  const others = [csrfToken(secret, 's2'), maskedCsrfToken(secret, 's2'), `${masked}x`, masked.slice(2)];
  for (const wrong of ['', 'x', ...others, `${token} `, 'é'.repeat(token.length)]) {
    t.throws(() => checkCsrfToken(secret, 's1', wrong), { instanceOf: StatusError }, wrong);
  }
});

test('the audit log keeps the order of time and writing, and sanitizes text from players', async (t) => {
  const { store } = await testAccounts(t);
  const server = { id: 'abc', accountId: 'acc_test' };
  const cause = { kind: 'player', id: 'Steve\n\u0000; key key_1', note: '' } as const;
  // All within a day, because writes sometimes delete old entries.
  const times = [5, 5, 5, 17, 16, 70_000_000];
  for (const [n, at] of times.entries()) {
    const entry = { action: `n${n}`, accountId: 'acc_test', at, detail: 'x'.repeat(2_000) };
    await store.write((tx) => recordAudit(tx, { userId: '', through: 'system' }, entry));
  }
  const rows = await store.query<AuditRow>('SELECT * FROM "audit" ORDER BY "id"');
  t.is(rows.map(({ action }) => action).join(' '), 'n0 n1 n2 n4 n3 n5');
  t.true(rows.every(({ detail }) => detail.length === 512));
  const step = { at: 1, event: 'JOIN', from: 'hibernated', to: 'starting', cause };
  await store.write((tx) => recordStep(tx, server, step));
  const [woken] = await store.query<AuditRow>(`SELECT * FROM "audit" WHERE "action" = 'server.wake'`);
  t.like(woken, { through: 'player Steve  ; key key_1', detail: 'hibernated → starting' });
});

test('an audit entry that cannot be written rolls back its change', async (t) => {
  const { store } = await testAccounts(t);
  const entry = { action: 'a', accountId: 'acc_test', at: Number.NaN };
  const work = store.write(async (tx) => {
    await tx.run('UPDATE "users" SET "email" = $1', ['other@example.com']);
    await recordAudit(tx, { userId: '', through: 'system' }, entry);
  });
  await t.throwsAsync(work);
  t.is((await getUser(store, 'usr_test'))?.email, 'test@example.org');
});
