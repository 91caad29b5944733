import type { ExecutionContext } from 'ava';
import { codeOfStep, stepAt } from '../../../src/people/second-factor/totp.ts';
import type { ApiUnderTest, BrowserUnderTest } from '../../support/api-harness.ts';

const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

export const STEVE = { email: 'steve@example.com', password: 'correct horse' };

/** An app on a phone, which was given a key and looks at a clock. */
export function authenticator(key: string, clock: { now: () => number }): { code: () => string } {
  const bytes = bytesOf(key);
  return { code: () => codeOfStep(bytes, stepAt(clock.now())) };
}

/** The bytes of a key in Base32. */
export function bytesOf(key: string): Buffer {
  const bits = Array.from(key.replaceAll(' ', ''), (letter) => BASE32.indexOf(letter).toString(2).padStart(5, '0'));
  return Buffer.from((bits.join('').match(/.{8}/g) ?? []).map((eight) => Number.parseInt(eight, 2)));
}

/** Steve's account with a second factor, in the browser that set it up; its first half minute is over. */
export async function withSecondFactor(t: ExecutionContext, it: ApiUnderTest) {
  const browser = await it.browser();
  const me = await browser.ok('POST', '/v1/session/me:signUp', STEVE);
  const { key } = await browser.ok('POST', '/v1/session/secondFactor:begin');
  const app = authenticator(String(key), it.clock);
  const confirmed = await browser.ok('POST', '/v1/session/secondFactor:confirm', { code: app.code() });
  const recoveryCodes = confirmed['recoveryCodes'] as string[];
  t.is(recoveryCodes.length, 10);
  await it.clock.advance(30_000);
  const [userId, accountId] = [String(me['userId']), String(me['accountId'])];
  return { browser, app, key: String(key), recoveryCodes, userId, accountId };
}

/** A browser in which Steve's password has been given, and no code yet. */
export async function passwordGiven(t: ExecutionContext, it: ApiUnderTest, password = STEVE.password) {
  const browser = await it.browser();
  const asked = await browser.call('POST', '/v1/session/me:signIn', { body: { ...STEVE, password } });
  t.deepEqual([asked.status, asked.reason], [401, 'CODE_REQUIRED'], asked.text);
  t.regex(browser.cookie, /^signin=/);
  return browser;
}

/** Gives a code as the second step, and says what came of it: a reason, or '' for being in. */
export async function giveCode(browser: BrowserUnderTest, code: string): Promise<string> {
  return (await browser.call('POST', '/v1/session/me:signInWithCode', { body: { code } })).reason;
}
