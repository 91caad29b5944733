import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { fewAtATime } from './few.ts';
import { CHROMIUM } from './needs.ts';

export type { Page } from 'playwright-core';

/** A tab of a browser of its own: no cookies, nothing kept. */
export interface Tab {
  page: Page;
  context: BrowserContext;
  /** What the browser complained about: errors, refused styles and pictures, anything else in its console. */
  complaints: string[];
  /** Addresses it asked for, in order. */
  asked: string[];
}

/** Also as root and without a display; asks nobody but the pages under test for anything. */
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--disable-dev-shm-usage',
  // Hosts of a test's own.
  '--host-resolver-rules=MAP *.test 127.0.0.1',
];

/** Chromium gives up what it is loading when a network interface comes or goes, as with each container of another test. */
const NETWORK_CHANGED = /net::ERR_NETWORK_CHANGED/;

const takePlace = fewAtATime(4);
let running: Promise<{ browser: Browser; home: string }> | undefined;

/** Opens a tab, in the one Chromium of this process; closed when the test ends. */
export async function openTab(t: ExecutionContext, options: BrowserContextOptions = {}): Promise<Tab> {
  await takePlace(t);
  // A browser takes its time where others use the machine, too.
  t.timeout(300_000);
  running ??= launch();
  const context = await (await running).browser.newContext(options);
  t.teardown(() => context.close());
  context.setDefaultTimeout(120_000);
  const page = await context.newPage();
  const tab: Tab = { page, context, complaints: [], asked: [] };
  page.on('console', (message) => {
    if (!NETWORK_CHANGED.test(message.text())) tab.complaints.push(message.text());
  });
  page.on('pageerror', (error) => tab.complaints.push(error.message));
  context.on('request', (request) => tab.asked.push(request.url()));
  return tab;
}

/** To be called when all tests of a file are through. */
export async function closeBrowser(): Promise<void> {
  const launched = await running?.catch(() => undefined);
  running = undefined;
  if (!launched) return;
  await launched.browser.close();
  await rm(launched.home, { recursive: true, force: true, maxRetries: 5 });
}

async function launch(): Promise<{ browser: Browser; home: string }> {
  const { chromium } = await import('playwright-core');
  const home = await mkdtemp(join(tmpdir(), 'dormouse-chromium-'));
  const browser = await chromium.launch({
    executablePath: CHROMIUM,
    args: FLAGS,
    timeout: 120_000,
    // Where Chromium keeps what a profile does not hold, such as crash reports.
    env: { ...process.env, HOME: home, XDG_CONFIG_HOME: home, XDG_CACHE_HOME: home },
  });
  return { browser, home };
}
