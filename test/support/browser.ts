import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { fewAtATime } from './few.ts';
import { CHROMIUM, isHere } from './needs.ts';
import { writeProgram } from './write-program.ts';

export type { Page } from 'playwright-core';

/** A tab in a browser context of its own, without cookies or stored data. */
export interface Tab {
  page: Page;
  context: BrowserContext;
  /** Complaints of the browser: errors, refused styles and pictures, and everything else in its console. */
  complaints: string[];
  /** Requested addresses, in order. */
  asked: string[];
}

/** Flags of Chromium. It runs as root and without a display, and contacts no host but the pages under test. */
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--disable-dev-shm-usage',
  // Names of test hosts.
  '--host-resolver-rules=MAP *.test 127.0.0.1',
];

const takePlace = fewAtATime(4);
let running: Promise<{ browser: Browser; home: string }> | undefined;

/** Opens a tab in the one Chromium of this process. The tab closes when the test ends. */
export async function openTab(t: ExecutionContext, options: BrowserContextOptions = {}): Promise<Tab> {
  await takePlace(t);
  // A browser is slow when other programs use the machine, too.
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

/** Closes Chromium. Call it after all tests of a file. */
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
    // Chromium stores files here that do not belong to a profile, such as crash reports.
    env: { ...process.env, HOME: home, XDG_CONFIG_HOME: home, XDG_CACHE_HOME: home },
  });
  return { browser, home };
}

/** The number of the system call `socket`, by processor (asm/unistd.h). */
const SOCKET: Partial<Record<NodeJS.Architecture, number>> = { x64: 41, arm64: 198 };
const AF_NETLINK = 16;
const EAFNOSUPPORT = 97;

/**
 * Writes a program that starts Chromium with a seccomp filter against netlink sockets, and returns its path. Through
 * such a socket, Chromium watches the machine's network interfaces. When one appears or disappears, as with each
 * container of another test, Chromium aborts its requests (`ERR_NETWORK_CHANGED`). On an unknown processor it returns
 * Chromium itself.
 */
async function withoutNetlink(home: string): Promise<string> {
  const socket = SOCKET[process.arch];
  if (socket === undefined) return CHROMIUM;
  // Classic BPF over struct seccomp_data (seccomp(2)): code, jump if true, jump if false, operand.
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
  writeProgram(program, `#!/bin/sh\nexec bwrap --dev-bind / / --seccomp 9 '${CHROMIUM}' "$@" 9<'${home}/filter'\n`);
  return program;
}
