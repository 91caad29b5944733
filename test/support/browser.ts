import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { fewAtATime } from './few.ts';
import { CHROMIUM, isHere } from './needs.ts';

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
  page.on('console', (message) => tab.complaints.push(message.text()));
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
    executablePath: isHere('bubblewrap') ? await withoutNetlink(home) : CHROMIUM,
    args: FLAGS,
    timeout: 120_000,
    // Where Chromium keeps what a profile does not hold, such as crash reports.
    env: { ...process.env, HOME: home, XDG_CONFIG_HOME: home, XDG_CACHE_HOME: home },
  });
  return { browser, home };
}

/** System call `socket`, by processor: asm/unistd.h. */
const SOCKET: Partial<Record<NodeJS.Architecture, number>> = { x64: 41, arm64: 198 };
const AF_NETLINK = 16;
const EAFNOSUPPORT = 97;

/**
 * Writes a program that starts Chromium with a seccomp filter that refuses netlink sockets. Chromium watches the machine's network
 * interfaces through one and gives up what it loads (`ERR_NETWORK_CHANGED`) whenever one comes or goes, as with each container of
 * another test. Returns the program's path.
 */
async function withoutNetlink(home: string): Promise<string> {
  const socket = SOCKET[process.arch];
  if (socket === undefined) return CHROMIUM;
  // Classic BPF over struct seccomp_data (seccomp(2)): code, where to jump if true and if false, operand.
  const filter = [
    [0x20, 0, 0, 0], // load the number of the call
    [0x15, 0, 3, socket], // not `socket`: allow
    [0x20, 0, 0, 16], // load its first argument
    [0x15, 0, 1, AF_NETLINK], // another family: allow
    [0x06, 0, 0, 0x0005_0000 | EAFNOSUPPORT], // SECCOMP_RET_ERRNO
    [0x06, 0, 0, 0x7fff_0000], // SECCOMP_RET_ALLOW
  ] as const;
  const bytes = Buffer.alloc(filter.length * 8);
  for (const [index, [code, yes, no, operand]] of filter.entries()) {
    bytes.writeUInt16LE(code, index * 8);
    bytes.writeUInt8(yes, index * 8 + 2);
    bytes.writeUInt8(no, index * 8 + 3);
    bytes.writeUInt32LE(operand, index * 8 + 4);
  }
  const program = join(home, 'chromium.sh');
  await writeFile(join(home, 'filter'), bytes);
  await writeFile(program, `#!/bin/sh\nexec bwrap --dev-bind / / --seccomp 9 '${CHROMIUM}' "$@" 9<'${home}/filter'\n`, {
    mode: 0o700,
  });
  return program;
}
