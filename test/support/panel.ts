import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ExecutionContext } from 'ava';
import type { BrowserContextOptions } from 'playwright-core';
import { type Answer, type ApiTestOptions, type ApiUnderTest, type BrowserUnderTest, api } from './api-harness.ts';
import { type Page, type Tab, openTab } from './browser.ts';

/** The owners' pages over HTTP, on real rooms. `usr_test` is signed in with `owner`. */
export interface PanelUnderTest extends ApiUnderTest {
  owner: BrowserUnderTest;
  get: (path: string, browser?: BrowserUnderTest) => Promise<Answer>;
  /**
   * Submits a form as a browser without scripts does, with the token of the page that holds it. Does not follow
   * redirects.
   */
  submit: (path: string, fields?: Record<string, string>, browser?: BrowserUnderTest) => Promise<Response>;
  /** Opens a tab of Chromium in which a user is signed in, on a page of the panel. */
  open: (path: string, options?: BrowserContextOptions & { userId?: string }) => Promise<Tab>;
}

export const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };

const INSPECT = readFileSync(join(import.meta.dirname, '../web/inspect.js'), 'utf8');

export async function openPanel(t: ExecutionContext, options: ApiTestOptions = {}): Promise<PanelUnderTest> {
  const it = await api(t, { site: '127.0.0.1', ...options });
  const owner = await it.browser('usr_test');
  return {
    ...it,
    owner,
    get: (path, browser = owner) => browser.call('GET', path, { headers: { accept: 'text/html' } }),
    submit: (path, fields = {}, browser = owner) =>
      fetch(it.origin + path, {
        method: 'POST',
        redirect: 'manual',
        headers: { cookie: browser.cookie, origin: it.origin, accept: 'text/html' },
        body: new URLSearchParams({ csrf: browser.csrf, ...fields }),
      }),
    async open(path, { userId, ...context } = {}) {
      const tab = await openTab(t, context);
      const { cookie } = userId === undefined ? owner : await it.browser(userId);
      const [name = '', value = ''] = cookie.split('=');
      await tab.context.addCookies([{ name, value, url: it.origin }]);
      await tab.page.goto(it.origin + path);
      return tab;
    },
  };
}

/**
 * Checks that the page breaks no rule of axe-core (WCAG 2.2 AA and good practice), fits its screen, and has touch
 * targets that are big enough.
 */
export async function accessible(t: ExecutionContext, page: Page): Promise<void> {
  // A form in flight is dimmed.
  await page.locator('form[aria-busy=true]').first().waitFor({ state: 'hidden' });
  await page.evaluate(readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8'));
  await keepsAxesRules(t, page);
  const found = await page.evaluate<Record<string, unknown>>(INSPECT);
  const { small, tooWide, headings, sameIds, danglingIds, formsWithoutToken } = found;
  t.deepEqual(
    { small, tooWide, headings, sameIds, danglingIds, formsWithoutToken },
    { small: [], tooWide: 0, headings: 1, sameIds: [], danglingIds: [], formsWithoutToken: 0 },
    page.url(),
  );
}

/** Checks the contrast in dark mode of a page that `accessible` has checked in light mode. Nothing else differs. */
export async function legibleInTheDark(t: ExecutionContext, page: Page): Promise<void> {
  await keepsAxesRules(t, page, ['color-contrast']);
}

/**
 * Checks all rules of axe-core, or the given ones. It collects only violations, because collecting the other results is
 * most of axe-core's work.
 */
async function keepsAxesRules(t: ExecutionContext, page: Page, runOnly?: string[]): Promise<void> {
  const options = JSON.stringify({ resultTypes: ['violations'], runOnly });
  const violations = await page.evaluate<Violation[]>(`axe.run(${options}).then(({ violations }) => violations)`);
  t.deepEqual(
    violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html.slice(0, 120)).join(' | ')}`),
    [],
    page.url(),
  );
}

interface Violation {
  id: string;
  nodes: { html: string }[];
}
