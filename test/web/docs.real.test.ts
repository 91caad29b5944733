import { writeFile } from 'node:fs/promises';
import test from 'ava';
import { OPERATIONS } from '../../src/reference.ts';
import { openapiDocument } from '../../src/http/openapi.ts';
import { openOperatorSite } from '../operators/operator-site.ts';
import { closeBrowser, openTab } from '../support/browser.ts';
import { isHere } from '../support/needs.ts';

const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };

interface Paths {
  [path: string]: Record<string, { operationId: string }>;
}

const { paths } = openapiDocument({ baseUrl: 'http://panel.example' }, OPERATIONS) as unknown as { paths: Paths };
const names = Object.values(paths).flatMap((methods) => Object.values(methods).map(({ operationId }) => operationId));

test.after.always(closeBrowser);

test.runIf(isHere('chromium'))(
  'every operation is found on the API page by search, by its address, and without scripts',
  async (t) => {
    const site = await openOperatorSite(t);
    const { page, complaints, asked } = await openTab(t, { viewport: { width: 1_280, height: 900 } });
    const response = await page.goto(`${site.origin}/docs`);
    const policy = response?.headers()['content-security-policy'] ?? '';
    for (const part of ["script-src 'self'", "style-src 'self'", "connect-src 'self'", "frame-ancestors 'none'"])
      t.true(policy.includes(part), part);
    t.notRegex(policy, /unsafe|\*/);

    const shown = () => page.locator('.operation:visible').evaluateAll((all) => all.map(({ id }) => id));
    const sorted = (list: readonly string[]) => list.toSorted();
    t.deepEqual(sorted(await shown()), sorted(names));
    await picture('docs-1280');
    // Search for every name inside the page, because a round trip for each would be slow.
    const lost = await page.evaluate(
      `(${JSON.stringify(names)}).filter((name) => {
      const field = document.querySelector('#find');
      field.value = name;
      field.dispatchEvent(new Event('input'));
      return document.getElementById(name).hidden || document.querySelectorAll('.operation:not([hidden])').length > 12;
    })`,
    );
    t.deepEqual(lost, []);
    await page.fill('#find', 'post :restart');
    t.deepEqual(await shown(), ['RestartServer']);
    t.is(await page.innerText('[data-found]'), `1 of ${names.length} operations`);

    await page.evaluate("location.hash = 'CreateServer'");
    await page.waitForSelector('#CreateServer[open] .try');
    t.regex(await page.innerText('#CreateServer'), /ramMb\s+integer \(int32\)\s+required/);
    await picture('docs-operation-1280');
    await page.click('#CreateServer a[href="#message-Server"]');
    await page.waitForSelector('#message-Server[open]');

    const plain = await openTab(t, { javaScriptEnabled: false });
    await plain.page.goto(`${site.origin}/docs`);
    t.is(await plain.page.locator('.operation').count(), names.length);
    t.false(await plain.page.isVisible('#key'));
    await plain.page.click('#GetServer summary');
    t.regex(await plain.page.innerText('#GetServer'), /Needs the scope servers:read/);

    t.deepEqual([complaints, plain.complaints], [[], []]);
    t.deepEqual(
      [...asked, ...plain.asked].filter((url) => !url.startsWith(`${site.origin}/`)),
      [],
    );

    async function picture(name: string): Promise<void> {
      const folder = process.env['PICTURES'];
      if (folder !== undefined) await writeFile(`${folder}/${name}.png`, await page.screenshot());
    }
  },
);

test.runIf(isHere('chromium'))(
  'an operation can be tried out on a phone with an API key that the page does not store',
  async (t) => {
    const site = await openOperatorSite(t);
    const { page, context, complaints, asked } = await openTab(t, PHONE);
    await context.addCookies(await site.cookies());
    const sent: Record<string, string>[] = [];
    page.on('request', (request) => request.url().includes('/v1/') && sent.push(request.headers()));

    await page.goto(`${site.origin}/docs#CreateServer`);
    await page.waitForSelector('#CreateServer .try');
    t.true(
      await page.evaluate('document.documentElement.scrollWidth <= innerWidth'),
      'no element is wider than the phone',
    );
    await page.click('#CreateServer .try button[type=submit]');
    t.is(await page.innerText('#CreateServer .status'), 'Enter an API key above first.');
    await page.fill('#key', site.key);
    await page.fill('#CreateServer textarea', '{"id":"tried","name":"Tried","ramMb":512}');
    await page.click('#CreateServer .try button[type=submit]');
    await page.waitForSelector('#CreateServer .status:has-text("200")');
    t.regex(await page.innerText('#CreateServer .answer'), /"id": "tried"/);
    t.is((await site.servers.get('tried'))?.row.name, 'Tried');

    await page.evaluate("location.hash = 'GetServer'");
    await page.fill('#GetServer [data-name=id]', 'no/such');
    await page.click('#GetServer .try button[type=submit]');
    await page.waitForSelector('#GetServer .status:has-text("404")');
    await page.fill('#GetServer [data-name=id]', 'tried');
    await page.click('#GetServer .try button[type=submit]');
    await page.waitForSelector('#GetServer .status:has-text("200")');
    if (process.env['PICTURES'] !== undefined)
      await page.screenshot({ path: `${process.env['PICTURES']}/docs-try-390.png` });

    await page.evaluate("location.hash = 'StreamServerEvents'");
    await page.fill('#StreamServerEvents [data-name=id]', 'tried');
    await page.click('#StreamServerEvents .try button[type=submit]');
    await page.waitForSelector('#StreamServerEvents .answer:has-text("hibernated")');
    await page.click('#StreamServerEvents .try >> text=Stop');
    await page.waitForSelector('#StreamServerEvents .try button[type=submit]:enabled');

    t.true(sent.length >= 4);
    for (const headers of sent) t.like(headers, { 'x-api-key': site.key, cookie: undefined });
    t.is(await page.evaluate('localStorage.length + sessionStorage.length'), 0);
    await page.reload();
    t.is(await page.inputValue('#key'), '');
    await page.goto(`${site.origin}/docs`);
    if (process.env['PICTURES'] !== undefined)
      await page.screenshot({ path: `${process.env['PICTURES']}/docs-390.png` });
    t.deepEqual(
      complaints.filter((line) => !line.includes('404')),
      [],
    );
    t.true(asked.every((url) => url.startsWith(`${site.origin}/`)));
  },
);
