import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { insertNotice, insertWebhook } from '../../../src/notices/rows.ts';
import { siteRouter } from '../../../src/web/site.ts';
import { routesOf } from '../../support/routes.ts';
import { closeBrowser } from '../../support/browser.ts';
import { isHere } from '../../support/needs.ts';
import { PHONE, type PanelUnderTest, accessible, legibleInTheDark, openPanel } from '../../support/panel.ts';
import { STEVE } from '../../support/world.ts';
import { fillLists } from './long-lists.ts';

test.after.always(closeBrowser);

/** The limit for a page with its styles and scripts, before compression. */
const MAX_BYTES = 100 * 1_024;
/** Assets for charts and editors, which only some pages load. They count only after compression. */
const NOT_COUNTED = /^\/assets\/(?:uPlot|charts|editor|prism)/i;
/** The page of the whole API is longer than any other: its limit applies only after compression. */
const DOCS = '/docs';

/** The paths of pages that need no session. */
const OPEN: Readonly<Record<string, string>> = {
  '/': '/',
  [DOCS]: DOCS,
  '/sign-in': '/sign-in',
  '/sign-up': '/sign-up',
  '/sign-in/forgotten': '/sign-in/forgotten',
  '/sign-in/forgotten/sent': '/sign-in/forgotten/sent',
  '/sign-in/new-password/done': '/sign-in/new-password/done',
  '/verify-email': '/verify-email?token=x',
  '/verify-email/done': '/verify-email/done',
};

/** The paths of other pages that need more than the parameters of `PARAMS`. */
const SIGNED_IN: Readonly<Record<string, string>> = {
  '/servers/:id/files/item': '/servers/castle/files/item?path=server.properties',
  '/servers/:id/files/edit': '/servers/castle/files/edit?path=server.properties',
};

const WEBHOOK = 'whk_busy';
const PARAMS = { ':id': 'castle', ':accountId': 'acc_other', ':webhookId': WEBHOOK };

/** Pages that need an earlier step. Their own tests cover them. */
const ON_THE_WAY = new Set([
  '/join',
  '/servers/new/import/:importId',
  '/sign-in/code',
  '/sign-in/new-password',
  '/profile/keys/new',
  '/profile/second-factor/set-up',
  '/profile/second-factor/codes',
  '/profile/second-factor/new-codes',
  '/profile/second-factor/off',
  '/checkout/:id',
]);

/** Files and a redirect. */
const NO_PAGES = new Set([
  '/invitations',
  '/status/:slug/badge.svg',
  '/status/:slug/icon.png',
  '/servers/:id/console/log',
]);

test('every page is compressed, and at most 100 KB with its styles and scripts, without charts and editors', async (t) => {
  const it = await busy(t);
  await fillLists(it, 'castle');
  const assets = new Map<string, Promise<Weight>>();
  for (const [pattern, path] of [...Object.entries(OPEN), ...signedIn(it)]) {
    const page = await weigh(it, path, pattern in OPEN);
    t.is(page.status, 200, path);
    const parts = [...page.text.matchAll(/(?:src|href)="(\/assets\/[\w.-]+)"/g)].map(([, asset = '']) => asset);
    const weights = [page];
    for (const part of new Set(parts)) {
      if (!assets.has(part)) assets.set(part, weigh(it, part, true));
      const weight = await assets.get(part)!;
      t.is(weight.kept, 'public, max-age=31536000, immutable', part);
      weights.push({ ...weight, plain: NOT_COUNTED.test(part) ? 0 : weight.plain });
    }
    for (const { plain, encoding } of weights) t.is(encoding, plain < 1_024 ? encoding : 'br', path);
    const [plain, sent] = [sum(weights.map((each) => each.plain)), sum(weights.map((each) => each.sent))];
    t.log(`${path}: ${kb(plain)} KB, ${kb(sent)} KB compressed`);
    if (pattern !== DOCS) t.true(plain <= MAX_BYTES, `${path}: ${plain} bytes`);
    t.true(sent <= MAX_BYTES, `${path}: ${sent} bytes compressed`);
  }
});

test.runIf(isHere('chromium'))('every page is accessible on a phone, in light and dark mode', async (t) => {
  const it = await busy(t);
  const { page, context } = await it.open('/servers', { ...PHONE, reducedMotion: 'reduce' });
  const look = async (path: string) => {
    await page.emulateMedia({ colorScheme: 'light' });
    await page.goto(it.origin + path);
    t.is(page.url(), it.origin + path);
    for (const details of await page.locator('details').all())
      await details.evaluate((each) => each.setAttribute('open', ''));
    await accessible(t, page);
    await page.emulateMedia({ colorScheme: 'dark' });
    await legibleInTheDark(t, page);
  };
  for (const [, path] of signedIn(it)) await look(path);
  await context.clearCookies();
  // The API page has its own accessibility tests.
  for (const path of Object.values(OPEN).filter((each) => each !== DOCS)) await look(path);
});

test.runIf(isHere('chromium'))('the content of every page begins near the top, on a phone and on a desk', async (t) => {
  const it = await busy(t);
  const { page, context } = await it.open('/servers', { reducedMotion: 'reduce' });
  const measure = async (path: string) => {
    t.is((await page.goto(it.origin + path))?.status(), 200, path);
    for (const [width, height, most] of [
      [1_280, 800, 120],
      [390, 844, 150],
    ] as const) {
      await page.setViewportSize({ width, height });
      const top = await page.evaluate<number>(CONTENT_TOP);
      t.true(top > 0 && top <= most, `${path} at ${width} px: ${top}`);
    }
  };
  for (const [, path] of signedIn(it)) await measure(path);
  await context.clearCookies();
  for (const path of Object.values(OPEN)) await measure(path);
});

/** Where the content begins: what follows the line with the page's title, or else the first card. */
const CONTENT_TOP = `(() => {
  const isShown = (each) => each.getClientRects().length > 0;
  const head = document.querySelector('main .head');
  const content = head ? [...document.querySelectorAll('main .head ~ *')].find(isShown) : document.querySelector('main .card');
  return content.getBoundingClientRect().top + scrollY;
})()`;

/** The pages of a busy installation, with long names and an entry in each list. */
async function busy(t: ExecutionContext): Promise<PanelUnderTest> {
  const it = await openPanel(t, { config: { signup: 'open' } });
  await it.store.write((tx) => tx.run('UPDATE "users" SET "operator" = $1 WHERE "id" = $2', [1, 'usr_test']));
  await it.stranger();
  await it.create('castle', { name: 'C'.repeat(64) });
  await it.services.publicStatuses.set(
    { id: 'castle', name: 'Castle' },
    { enabled: true, showAddress: true },
    async () => {},
  );
  const folder = join(it.dataDir, 'servers', 'castle');
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'server.properties'), 'motd=A castle\n'.repeat(200));
  for (let times = 0; times < 13; times++) {
    await it.command('castle', 'JOIN', STEVE);
    await it.reach('castle', 'running');
    await it.command('castle', 'STOP', { kind: 'operator', id: 'usr_test', note: 'r'.repeat(200) });
    await it.reach('castle', 'hibernated');
  }
  it.engine.print(
    'castle',
    `java.lang.OutOfMemoryError: ${'m'.repeat(300)}`,
    `\tat ${'c'.repeat(300)}.run(Some.java:1)`,
  );
  await it.share('castle', 'member');
  await it.store.write(async (tx) => {
    const url = `https://hooks.example/${'h'.repeat(2_000)}`;
    const about = { id: WEBHOOK, accountId: 'acc_test', serverId: 'castle', format: 'json', createdAt: 0 } as const;
    const state = { secretNth: 1, rotatedAt: null, failingSince: 1, offAt: null };
    await insertWebhook(tx, { ...about, ...state, url, kinds: '["money"]' });
    for (let nth = 0; nth < 50; nth++)
      await insertNotice(tx, WEBHOOK, 'castle', { event: 'test', detail: '', at: nth });
    await tx.run('UPDATE "webhook_messages" SET "state" = $1, "answer" = $2', ['failed', '<'.repeat(500)]);
  });
  const done = async (path: string, fields: Record<string, string>) => {
    const { status } = await it.submit(path, fields);
    t.true(status === 200 || status === 303, `${path}: ${status}`);
  };
  await done('/operator/nodes/drain', { node: 'node-1', reason: 'Maintenance' });
  await done('/operator/accounts/acc_test/suspend', { server: 'castle', reason: 'r'.repeat(200) });
  await done('/operator/accounts/invite', { email: `${'i'.repeat(60)}@example.org` });
  await done('/operator/apps/register', { name: 'W'.repeat(64), homepage: 'https://launcher.example/' });
  await done('/servers/castle/members/invite', { email: `${'m'.repeat(60)}@example.org`, role: 'member' });
  await mkdir(join(it.dataDir, 'servers', 'old-lobby'), { recursive: true });
  return it;
}

/** Returns every mounted page except those in the lists above, so that a new page is always covered. */
function signedIn(it: PanelUnderTest): (readonly [pattern: string, path: string])[] {
  const params = { ...PARAMS, ':slug': it.services.publicStatuses.of('castle').slug };
  const nothing = () => () => Promise.reject(new Error('nothing is called'));
  const router = siteRouter({ ...it.services, openapi: () => ({}), calls: nothing, takeToken: () => {} });
  const mounted = routesOf(router).flatMap(({ method, path }) => (method === 'GET' ? path : []));
  return [...new Set(mounted)]
    .filter((path) => !path.startsWith('/assets/') && !(path in OPEN) && !ON_THE_WAY.has(path) && !NO_PAGES.has(path))
    .map(
      (path) =>
        [
          path,
          SIGNED_IN[path] ?? path.replaceAll(/:\w+/g, (name) => params[name as keyof typeof params] ?? name),
        ] as const,
    );
}

interface Weight {
  status: number;
  text: string;
  /** The bytes before and after compression. */
  plain: number;
  sent: number;
  encoding: string | null;
  kept: string | null;
}

async function weigh(it: PanelUnderTest, path: string, isOpen: boolean): Promise<Weight> {
  const headers = { accept: 'text/html', 'accept-encoding': 'gzip, br' };
  const cookie = isOpen ? '' : it.owner.cookie;
  const answer = await fetch(it.origin + path, { headers: { ...headers, cookie }, redirect: 'manual' });
  const text = await answer.text();
  return {
    status: answer.status,
    text,
    plain: Buffer.byteLength(text),
    sent: Number(answer.headers.get('content-length')),
    encoding: answer.headers.get('content-encoding'),
    kept: answer.headers.get('cache-control'),
  };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}

function kb(bytes: number): string {
  return (bytes / 1_024).toFixed(1);
}
