import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import type { BrowserContextOptions } from 'playwright-core';
import { deviceGrantMachine } from '../../machines/device-grant.ts';
import { serverMachine } from '../../machines/server.ts';
import { type Box, layOut } from '../../src/web/statechart/chart-layout.ts';
import { readChart } from '../../src/web/statechart/statechart.ts';
import { aborted } from '../fakes/engine.ts';
import { type Page, closeBrowser, openTab } from '../support/browser.ts';
import { isHere } from '../support/needs.ts';
import { type OperatorSite, openOperatorSite } from './operator-site.ts';

const INSPECT = readFileSync(join(import.meta.dirname, '../web/inspect.js'), 'utf8');
const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };

test.after.always(closeBrowser);

async function operatorsTab(t: ExecutionContext, it: OperatorSite, options: BrowserContextOptions = {}) {
  const tab = await openTab(t, options);
  await tab.context.addCookies(await it.cookies());
  return tab;
}

async function live(page: Page): Promise<void> {
  try {
    await page.locator('[data-status][data-state=on]').waitFor();
  } catch (error) {
    const shown = await page.evaluate(
      '[document.visibilityState, document.querySelector("[data-status]")?.outerHTML].join()',
    );
    throw new Error(`${page.url()} is not live: ${String(shown)}`, { cause: error });
  }
}

/** Stops a running server on an engine that never ends the game. Returns a function that heals the engine. */
async function stuck(it: OperatorSite, id: string): Promise<() => void> {
  await it.create(id, { name: 'The Castle' });
  await it.command(id, 'START', { kind: 'player', id: 'Steve', note: 'joined' });
  await it.reach(id, 'running');
  const halt = it.engine.halt.bind(it.engine);
  let halts = 0;
  it.engine.halt = (_id, _graceMs, signal) => {
    halts++;
    return aborted(signal);
  };
  await it.command(id, 'STOP', { kind: 'user', id: 'usr_test', note: 'asked in the dashboard' });
  // The server's own alarm fires every two minutes and halts the game again.
  for (const asked of [1, 2, 3, 4]) {
    await it.until(() => halts === asked);
    await it.clock.advance(asked < 4 ? 120_000 : 40_000);
  }
  return () => void (it.engine.halt = halt);
}

test.runIf(isHere('chromium'))(
  'the operator’s machine table updates live without a reload or browser errors',
  async (t) => {
    const it = await openOperatorSite(t);
    const { page, complaints, asked } = await operatorsTab(t, it);
    await page.goto(`${it.origin}/operator`);
    await live(page);
    t.regex(await page.innerText('main'), /No machine matches/);
    await page.evaluate('window.stays = true');
    await it.create('lobby', { name: 'Lobby' });
    const row = page.locator('tr[data-machine=lobby]');
    await row.getByText('hibernated').waitFor();
    const release = it.engine.hold('lobby');
    await it.command('lobby', 'START', { kind: 'player', id: 'Steve', note: 'joined' });
    await row.getByText('the game to be ready for players').waitFor();
    release();
    await it.reach('lobby', 'running');
    await row.getByText('running', { exact: true }).waitFor();
    t.regex(await row.innerText(), /Player Steve\s+joined/);
    t.is(
      await page
        .locator('.chips a', { hasText: 'running' })
        .innerText()
        .then((text) => text.replace(/\s+/, ' ')),
      'running 1',
    );
    t.true(await page.evaluate('window.stays'), 'the page was not reloaded');
    t.deepEqual(complaints, []);
    t.deepEqual(
      asked.filter((url) => !url.startsWith(`${it.origin}/`)),
      [],
    );
  },
);

test.runIf(isHere('chromium'))(
  'a server with a stuck engine halt is found, explained and freed on the operator page',
  async (t) => {
    const it = await openOperatorSite(t);
    await it.create('asleep');
    const heal = await stuck(it, 'castle');
    const { page, complaints } = await operatorsTab(t, it);
    await page.goto(`${it.origin}/operator`);
    await page.selectOption('#stuck', '300');
    await page.getByRole('button', { name: 'Show' }).click();
    t.deepEqual(
      await page.locator('[data-machine]').evaluateAll((all) => all.map((each) => each.getAttribute('data-machine'))),
      ['castle'],
    );
    t.regex(await page.innerText('[data-machine]'), /longer than usual/);
    await page.getByRole('link', { name: 'The Castle' }).click();
    await live(page);
    t.regex(
      await page.innerText('.facts'),
      /stopping.halting[\s\S]*6 min 4\d s[\s\S]*the engine to end the game at once[\s\S]*asked in the dashboard/,
    );
    t.deepEqual(await litStates(page), ['stopping', 'stopping.halting']);
    t.deepEqual(await page.locator('.events button').allInnerTexts(), ['ALARM', 'START', 'RESTART']);

    heal();
    await page.getByRole('button', { name: 'ALARM' }).click();
    t.is(await page.evaluate('document.activeElement.id'), 'send-reason', 'the form needs a reason');
    await page.fill('#send-reason', 'Docker hung; <b>restarted</b>');
    await page.getByRole('button', { name: 'ALARM' }).click();
    await page.getByText('ALARM sent.').waitFor();
    await it.reach('castle', 'hibernated');
    await page.locator('.broad [data-state=hibernated].lit').waitFor();
    t.regex(
      await page.innerText('[data-live=history]'),
      /ALARM\s+stopping\s+Operator usr_test\s+Docker hung; <b>restarted<\/b>/,
    );
    await page.getByRole('button', { name: 'START' }).waitFor();
    t.deepEqual(complaints, []);
  },
);

test.runIf(isHere('chromium'))(
  'the machine page highlights the current state live, marks the transition, and keeps a half-typed reason',
  async (t) => {
    const it = await openOperatorSite(t);
    await it.create('lobby');
    const { page } = await operatorsTab(t, it);
    await page.goto(`${it.origin}/operator/machines/lobby`);
    await live(page);
    await page.fill('#send-reason', 'half a reason');
    t.deepEqual(await litStates(page), ['hibernated']);
    const release = it.engine.hold('lobby');
    await it.command('lobby', 'START');
    await page.locator('.broad [data-state=starting].lit').waitFor();
    await page.locator('.broad .taken[data-from=hibernated][data-to=starting]').waitFor();
    await page.locator('[data-live=now]', { hasText: 'the game to be ready for players' }).waitFor();
    release();
    await it.reach('lobby', 'running');
    await page.locator('.broad [data-state=running].lit').waitFor();
    t.deepEqual(await litStates(page), ['running', 'running.open']);
    await page.getByText('Kill…').waitFor();
    t.is(await page.inputValue('#send-reason'), 'half a reason', 'text being typed stays unchanged');
    await it.ok('DELETE', '/v1/servers/lobby');
    await page.getByText('There is no such machine').waitFor();
  },
);

test.runIf(isHere('chromium'))(
  'kill and delete need a separate confirmation, and the Enter key sends no event',
  async (t) => {
    const it = await openOperatorSite(t);
    await it.create('lobby');
    await it.command('lobby', 'START');
    await it.reach('lobby', 'running');
    const { page, complaints } = await operatorsTab(t, it);
    await page.goto(`${it.origin}/operator/machines/lobby`);
    await live(page);
    t.deepEqual(await page.locator('.events button').allInnerTexts(), ['STOP', 'RESTART']);
    await page.fill('#send-reason', 'It answers nobody');
    await page.press('#send-reason', 'Enter');
    const kill = page.getByRole('button', { name: 'Yes, kill without saving' });
    t.false(await kill.isVisible());
    await page.getByText('Kill…').click();
    t.is((await it.servers.get('lobby'))?.state, 'running', 'no event was sent yet');
    await kill.click();
    await page.getByText('KILL sent.').waitFor();
    await it.reach('lobby', 'hibernated');
    await page.locator('.broad [data-state=hibernated].lit').waitFor();
    t.is(await page.getByText('Kill…').count(), 0);
    t.false(await page.getByRole('button', { name: 'Yes, delete this server' }).isVisible());
    t.is(await page.getAttribute('[data-status]', 'data-state'), 'on', 'the page still shows that it is live');
    t.deepEqual(complaints, []);
  },
);

test.runIf(isHere('chromium'))(
  'the operator pages show times in the reader’s time zone, and durations continue from each update',
  async (t) => {
    const it = await openOperatorSite(t);
    await it.create('asleep');
    await it.create('lobby');
    const made = it.clock.now();
    const { page } = await operatorsTab(t, it, { timezoneId: 'Asia/Kathmandu', locale: 'en-GB' });
    await page.goto(`${it.origin}/operator/machines/asleep`);
    const options = { dateStyle: 'medium', timeStyle: 'medium', timeZone: 'Asia/Kathmandu' } as const;
    await page.locator('.facts small', { hasText: new Date(made).toLocaleString('en-GB', options) }).waitFor();
    await page.goto(`${it.origin}/operator`);
    await live(page);
    await it.clock.advance(600_000);
    await it.command('lobby', 'START');
    await page.locator('tr[data-machine=lobby]').getByText('running', { exact: true }).waitFor();
    // The server renders the duration, and the script continues it.
    const since = page.locator('tr[data-machine=asleep] time');
    await since.filter({ hasText: /^10 min/ }).waitFor();
    await page.waitForTimeout(2_000);
    t.regex(await since.innerText(), /^10 min/);
  },
);

test.runIf(isHere('chromium'))(
  'an operator finds, frees and deletes a stuck server on a phone without scripts',
  async (t) => {
    const it = await openOperatorSite(t);
    const heal = await stuck(it, 'castle');
    heal();
    const { page } = await operatorsTab(t, it, { ...PHONE, javaScriptEnabled: false });
    await page.goto(`${it.origin}/operator?stuck=300`);
    await page.getByRole('link', { name: 'The Castle' }).click();
    await page.fill('#send-reason', 'x'.repeat(200));
    await page.getByRole('button', { name: 'ALARM' }).click();
    await it.reach('castle', 'hibernated');
    await page.getByRole('link', { name: 'Reload' }).click();
    t.is(await page.locator('.slim [data-state=hibernated].lit').count(), 1);
    await page.getByText('Delete…').click();
    await page.fill('#send-reason', 'asked by its owner');
    await page.getByRole('button', { name: 'Yes, delete this server' }).click();
    await it.reach('castle', 'gone');
    const { state } = (await it.store.query<{ state: string }>(`SELECT COUNT(*) AS "state" FROM "servers"`))[0]!;
    t.is(Number(state), 0);
  },
);

test('the machine form refuses illegal events, missing and overlong reasons, and a forged token', async (t) => {
  const it = await openOperatorSite(t);
  await it.create('lobby');
  const browser = await it.browser('usr_test');
  const path = `${it.origin}/operator/machines/lobby/send`;
  const post = async (fields: Record<string, string>) => {
    const reply = await fetch(path, {
      method: 'POST',
      redirect: 'manual',
      headers: { cookie: browser.cookie },
      body: new URLSearchParams({ csrf: browser.csrf, ...fields }),
    });
    return { status: reply.status, text: (await reply.text()).replaceAll(/\s+/g, ' ') };
  };
  t.is((await post({ event: 'START', reason: 'x', csrf: 'y' })).status, 403);
  for (const reason of ['', ' ', 'x'.repeat(257), 'a\nb']) t.is((await post({ event: 'START', reason })).status, 400);
  t.regex((await post({ event: 'START', reason: ' ' })).text, /id="send-reason-wrong">is required/);
  t.is((await post({ event: 'UP', reason: 'x' })).status, 400);
  const illegal = await post({ event: 'STOP', reason: 'because "I" say so' });
  t.is(illegal.status, 400);
  t.regex(illegal.text, /STOP does not apply to a machine that is hibernated\. It accepts START, REINSTALL, DELETE\./);
  t.regex(illegal.text, /value="because &quot;I&quot; say so"/);
  t.is((await it.servers.get('lobby'))?.state, 'hibernated');
  t.is((await post({ event: 'START', reason: 'x' })).status, 303);
});

test.runIf(isHere('chromium'))(
  'names, causes and reasons from outside are shown as plain text on the operator pages',
  async (t) => {
    const it = await openOperatorSite(t);
    const { page, complaints } = await operatorsTab(t, it);
    page.on('dialog', () => t.fail('a script ran'));
    const nasty = '"><img src=x onerror=alert(1)><script>alert(2)</script>';
    await it.create('lobby', { name: nasty });
    await it.command('lobby', 'START', { kind: 'player', id: `'${nasty}`, note: `</small>${nasty}` });
    await page.goto(
      `${it.origin}/operator?q=${encodeURIComponent('"><script>')}&state=${encodeURIComponent(nasty.slice(0, 20))}`,
    );
    await live(page);
    await page.goto(`${it.origin}/operator`);
    await live(page);
    t.true((await page.innerText('[data-machine=lobby] a')).startsWith('"><img src=x onerror=alert(1)>'));
    // The script inserts the same texts.
    await it.reach('lobby', 'running');
    await page.locator('[data-machine=lobby]').getByText('running', { exact: true }).waitFor();
    await page.goto(`${it.origin}/operator/machines/lobby`);
    await live(page);
    await it.command('lobby', 'STOP', { kind: 'operator', id: nasty, note: nasty });
    await it.reach('lobby', 'hibernated');
    await page.locator('.broad [data-state=hibernated].lit').waitFor();
    await page.locator('[data-live=history]', { hasText: 'HALT_DONE' }).waitFor();
    t.is(await page.locator('main img, main script').count(), 0);
    t.deepEqual(complaints, []);
  },
);

test('the machine pages return 404 to other users, forbid framing, and load only the service’s own files', async (t) => {
  const it = await openOperatorSite(t);
  await it.create('lobby');
  await it.stranger();
  const get = (path: string, cookie = '') =>
    fetch(it.origin + path, { headers: { cookie, accept: 'text/html' }, redirect: 'manual' });
  const { cookie } = await it.browser('usr_test');
  const { cookie: other } = await it.browser('usr_other');
  for (const path of ['/operator', '/operator/machines/lobby', '/operator/machines/none']) {
    const hidden = await get(path, other);
    t.is(hidden.status, 404, path);
    t.notRegex(hidden.headers.get('content-security-policy') ?? '', /script-src/);
    t.is((await get(path)).headers.get('location'), `/sign-in?next=${encodeURIComponent(path)}`);
  }
  t.notRegex(await (await get('/', other)).text(), /\/operator/);
  const page = await get('/operator', cookie);
  t.is(
    page.headers.get('content-security-policy'),
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'; script-src 'self'; connect-src 'self'",
  );
  t.is(page.headers.get('x-frame-options'), 'DENY');
  t.regex(await (await get('/profile', cookie)).text(), /<a href="\/operator" ?>Operator<\/a>/);
  t.is((await get('/operator/machines/none', cookie)).status, 404);
  t.is((await get('/operator?after=x', cookie)).status, 400);
  const stream = '/panel/v1/operator/machines:stream';
  const followed = await get(stream, cookie);
  t.is(followed.status, 200);
  await followed.body?.cancel();
  t.is((await get(stream, other)).status, 403);
  t.is((await it.call('GET', stream)).status, 401, 'an API key does not open the stream');
});

test.runIf(isHere('chromium'))(
  'with 500 machines, the operator page lists 50 at a time and links to the rest',
  async (t) => {
    const it = await openOperatorSite(t);
    for (let n = 0; n < 500; n++) await it.create(`server-${String(n).padStart(3, '0')}`);
    const { page } = await operatorsTab(t, it);
    const { cookie } = await it.browser('usr_test');
    const text = await (await fetch(`${it.origin}/operator`, { headers: { cookie } })).text();
    t.is(text.match(/data-machine=/g)?.length, 50);
    await page.goto(`${it.origin}/operator`);
    t.is(await page.locator('[data-machine]').count(), 50);
    const seen = new Set<string>();
    for (let pages = 1; ; pages++) {
      for (const row of await page
        .locator('[data-machine]')
        .evaluateAll((all) => all.map((each) => each.getAttribute('data-machine'))))
        seen.add(row ?? '');
      const next = page.getByRole('link', { name: 'Next page' });
      if ((await next.count()) === 0) {
        t.is(pages, 10);
        break;
      }
      const here = page.url();
      await Promise.all([page.waitForURL(({ href }) => href !== here), next.click()]);
    }
    t.is(seen.size, 500);
  },
);

for (const colorScheme of ['light', 'dark'] as const) {
  for (const [name, options] of [
    ['on a phone', PHONE],
    ['on a desk', { viewport: { width: 1280, height: 900 } }],
  ] as const) {
    test.runIf(isHere('chromium'))(
      `the operator pages ${name}, ${colorScheme}: they fit, are labelled, and have large enough touch targets`,
      async (t) => {
        const it = await openOperatorSite(t);
        const heal = await stuck(it, 'castle');
        t.teardown(heal);
        await it.create('a-server-with-a-rather-long-name', { name: 'W'.repeat(64) });
        await it.services.grants.start({ clientId: null, scope: '', ip: '::1', userAgent: 'x' });
        const [grant] = await it.store.query<{ id: string }>('SELECT "id" FROM "grants"');
        const { page, complaints } = await operatorsTab(t, it, { ...options, colorScheme });
        const machines = ['castle', 'a-server-with-a-rather-long-name', grant!.id];
        for (const path of ['/operator', ...machines.map((id) => `/operator/machines/${id}`)]) {
          await page.goto(it.origin + path);
          await live(page);
          for (const details of await page.locator('details').all())
            await details.evaluate((each) => each.setAttribute('open', ''));
          t.like(
            await page.evaluate(INSPECT),
            {
              language: 'en',
              title: true,
              landmarks: [],
              headings: 1,
              skippedLevels: [],
              unlabelled: [],
              nameless: [],
              withoutAlt: 0,
              sameIds: [],
              danglingIds: [],
              scripts: 4,
              formsWithoutToken: 0,
              small: [],
              tooWide: 0,
            },
            path,
          );
        }
        t.deepEqual(complaints, []);
      },
    );
  }
}

test('a state diagram contains every transition, and its boxes and texts do not overlap or overflow', (t) => {
  for (const machine of [serverMachine, deviceGrantMachine]) {
    const root = readChart(JSON.parse(JSON.stringify(machine.definition)));
    for (const columns of [1, 2] as const) {
      const { boxes, edges, width, height } = layOut(root, columns);
      const ways = boxes.reduce((sum, { state }) => sum + state.exits.length, 0);
      t.is(edges.length, ways);
      t.true(boxes.length > 5 && ways > 5);
      for (const box of boxes) {
        t.true(box.x >= 0 && box.y >= 0 && box.x + box.width <= width && box.y + box.height <= height, box.state.path);
        for (const { text, target } of box.lines)
          t.true(
            box.textX + (text.length + (target === '' ? 0 : target.length + 1)) * 7.2 <= box.x + box.width,
            `${box.state.path}: ${text} ${target}`,
          );
        for (const other of boxes.filter(
          (each) =>
            each !== box &&
            !each.state.path.startsWith(`${box.state.path}.`) &&
            !box.state.path.startsWith(`${each.state.path}.`),
        ))
          t.false(overlap(box, other), `${box.state.path} and ${other.state.path}`);
      }
      for (const { line, head, from, to } of edges) t.notRegex(line + head, /NaN|undefined|Infinity/, `${from} ${to}`);
    }
  }
});

function overlap(a: Box, b: Box): boolean {
  return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
}

/** Returns the states lit in the drawing for wide windows, in the machine's order. */
async function litStates(page: Page): Promise<(string | null)[]> {
  return page
    .locator('.broad .lit[data-state]')
    .evaluateAll((all) => all.map((each) => each.getAttribute('data-state')));
}
