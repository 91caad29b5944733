import type { ExecutionContext } from 'ava';
import { codeOfStep, stepAt } from '../../../src/accounts/totp.ts';
import type { ApiUnderTest, BrowserUnderTest } from '../../support/api-harness.ts';

const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

export const STEVE = { email: 'steve@example.com', password: 'correct horse' };

/** An authenticator app with a key and a clock. */
export function authenticator(key: string, clock: { now: () => number }): { code: () => string } {
  const bytes = bytesOf(key);
  return { code: () => codeOfStep(bytes, stepAt(clock.now())) };
}

/** Decodes a key in Base32. */
export function bytesOf(key: string): Buffer {
  const bits = Array.from(key.replaceAll(' ', ''), (letter) => BASE32.indexOf(letter).toString(2).padStart(5, '0'));
  return Buffer.from((bits.join('').match(/.{8}/g) ?? []).map((eight) => Number.parseInt(eight, 2)));
}

/** Sets up Steve's account with a second factor. Advances the clock by half a minute, past the confirming code. */
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

/** Returns a browser that has sent Steve's password, but no code yet. */
export async function passwordGiven(t: ExecutionContext, it: ApiUnderTest, password = STEVE.password) {
  const browser = await it.browser();
  const asked = await browser.call('POST', '/v1/session/me:signIn', { body: { ...STEVE, password } });
  t.deepEqual([asked.status, asked.reason], [401, 'CODE_REQUIRED'], asked.text);
  t.regex(browser.cookie, /^signin=/);
  return browser;
}

/** Sends a code as the second step. Returns the reason of a refusal, or '' if the sign-in succeeds. */
export async function giveCode(browser: BrowserUnderTest, code: string): Promise<string> {
  return (await browser.call('POST', '/v1/session/me:signInWithCode', { body: { code } })).reason;
}
