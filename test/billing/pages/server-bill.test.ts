import test from 'ava';
import type { AwakeSessionRow } from '../../../src/billing/awake-session-rows.ts';
import { insertAwakeSession } from '../../../src/billing/awake-session-rows.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../src/kernel/units.ts';
import { closeBrowser } from '../../support/browser.ts';
import { isHere } from '../../support/needs.ts';
import { PHONE, type PanelUnderTest, accessible, openPanel } from '../../support/panel.ts';
import { awakeSessionRow } from '../../support/store.ts';
import { AT, scene } from '../scene.ts';

test.after.always(closeBrowser);

const PAGE = '/servers/abc/bill';

/** The server `abc` of the scene, created 100 days ago, with further sessions that began `hoursBefore` the scene's. */
async function billed(it: PanelUnderTest, sessions: (Partial<AwakeSessionRow> & { hoursBefore: number })[] = []) {
  const now = it.clock.now();
  await it.clock.set(now - 100 * DAY_MS);
  await scene(it);
  await it.clock.set(now);
  const server = (await it.servers.get('abc'))!.row;
  await it.store.write(async (tx) => {
    for (const { hoursBefore, ...fields } of sessions) {
      const startedAt = AT - hoursBefore * HOUR_MS;
      const times = { startedAt, readyAt: startedAt + MINUTE_MS, endedAt: startedAt + HOUR_MS, provenAt: startedAt };
      const of = { serverId: 'abc', accountId: 'acc_test', serverCreatedAt: server.createdAt };
      await insertAwakeSession(tx, awakeSessionRow({ id: `ses_${hoursBefore}`, ...of, ...times, ...fields }));
    }
  });
  await it.clock.advance(HOUR_MS);
}

const NASTY = JSON.stringify({ kind: 'player', id: '<script>', note: 'joined' });
const SCHEDULE = JSON.stringify({ kind: 'schedule', id: 'sch_1', note: 'a schedule: 0 4 * * *' });

test('the server bill page lists each awake session with its cause, ending and cost, and marks free ones', async (t) => {
  const it = await openPanel(t);
  await billed(it, [
    { hoursBefore: 50, cause: NASTY, ending: 'false_wake', ticks: 0, amountMicros: 0 },
    { hoursBefore: 30, cause: SCHEDULE, ending: 'idle', ticks: 59, ramMb: 512, amountMicros: 4_916 },
    { hoursBefore: 20, cause: SCHEDULE, ending: 'start_failed', readyAt: null, ticks: 0, amountMicros: 0 },
  ]);
  const { text } = await it.get(PAGE);
  t.regex(text, /<strong>0\.005 USD<\/strong> per hour awake, with 512 MB of RAM/);
  t.regex(text, /On the flat plan it would cost 1\.50 USD for 30 days/);
  t.regex(text, /4 times\s*<small>2 free/);
  const rows = text.slice(text.indexOf('Awake sessions')).split('<tr>').slice(2);
  t.is(rows.length, 4);
  t.regex(rows[0]!, /<bdi>Steve<\/bdi> joined[^]*awake now[^]*0\.0104 USD[^]*125 minutes, 1\.04 GB-hours/);
  t.regex(rows[1]!, /failed to start[^]*free/);
  t.regex(rows[2]!, /a schedule: 0 4 \* \* \*[^]*no players online[^]*0\.0049 USD/);
  t.regex(rows[3]!, /<bdi>&lt;script&gt;<\/bdi> joined[^]*no player joined[^]*free/);
  t.regex(text, /aria-label="Mon 13 Nov: 16:13 to 17:13 UTC, a schedule: 0 4 \* \* \*, 0\.0049 USD"/);
  t.is(text.match(/<title data-from="\d+" data-to="\d+">\d\d:\d\d to \d\d:\d\d UTC, /g)?.length, 4);
  t.regex(text, /<title[^>]*>[^<]* UTC, &lt;script&gt; joined, free<\/title>/);
  t.regex(text, /<span class="sum">1 h <small>0\.0049 USD<\/small>/);
  t.regex((await it.get('/bill')).text, /href="\/servers\/abc\/bill"/);
});

test('the server bill shows any chosen range, falls back to this month for an invalid one, and covers flat plans', async (t) => {
  const it = await openPanel(t);
  await billed(it, [{ hoursBefore: 24 * 20, ending: 'idle' }]);
  const shown = async (query: string) => {
    const { text } = await it.get(`${PAGE}${query}`);
    return [/<p class="hint">([^<]*), by UTC/.exec(text)?.[1], text.match(/<li>\s*<span class="day">/g)?.length];
  };
  t.deepEqual(await shown(''), ['This month', 14]);
  t.deepEqual(await shown('?range=last'), ['Last month', 31]);
  t.deepEqual(await shown('?range=7'), ['The last 7 days', 7]);
  t.deepEqual(await shown('?from=2023-10-25&to=2023-10-25'), ['25 Oct 2023 to 25 Oct 2023', 1]);
  for (const query of [
    '?range=x',
    '?from=2023-10-25',
    '?from=x&to=y',
    '?from=2023-11-02&to=2023-11-01',
    '?from=1023-11-02&to=2023-11-01',
  ])
    t.deepEqual(await shown(query), ['This month', 14], query);
  t.deepEqual((await shown('?from=2023-01-01&to=2023-11-14'))[1], 62, 'a long span shows only its newest days');
  await it.create('flat', { plan: 'flat' });
  t.regex((await it.get('/servers/flat/bill')).text, /No paid period[^]*Not awake in this period/);
});

test('the server bill leaves out days before the server was created', async (t) => {
  const it = await openPanel(t);
  await it.create('abc');
  await it.clock.advance(25 * HOUR_MS);
  const days = async (query: string) => {
    const { text } = await it.get(`${PAGE}${query}`);
    return [...text.matchAll(/<span class="day">([^<]*)</g)].map(([, day]) => day);
  };
  for (const query of ['', '?range=30', '?from=2023-11-01&to=2023-11-15'])
    t.deepEqual(await days(query), ['Wed 15 Nov', 'Tue 14 Nov'], query);
  t.deepEqual(await days('?range=last'), []);
  t.regex((await it.get(`${PAGE}?range=last`)).text, /The server did not exist yet. It was created[^]*2023-11-14/);
});

test('only the owner has the server bill: a member sees no tab for it and gets 403', async (t) => {
  const it = await openPanel(t);
  await scene(it);
  await it.stranger();
  await it.share('abc', 'member');
  const member = await it.browser('usr_other');
  t.notRegex((await it.get('/servers/abc', member)).text, /href="\/servers\/abc\/bill"/);
  t.is((await it.get(PAGE, member)).status, 403);
});

test.runIf(isHere('chromium'))('other days of the server bill can be chosen by keyboard', async (t) => {
  const it = await openPanel(t);
  await billed(it, [{ hoursBefore: 24 * 20, cause: SCHEDULE, ending: 'idle' }]);
  const { page, complaints } = await it.open(PAGE, { timezoneId: 'Asia/Kathmandu', locale: 'en-GB' });
  await page.locator('table').getByText('Steve joined').waitFor();
  t.is(
    await page.locator('.timeline title').first().textContent(),
    '22:13 to 23:13 UTC, Steve joined, 0.0104 USD (your time: 15 Nov 2023, 03:58 to 15 Nov 2023, 04:58)',
  );
  await page.getByRole('link', { name: 'Last month' }).focus();
  await page.keyboard.press('Enter');
  await page.getByText('Last month, by UTC').waitFor();
  t.regex(await page.innerText('table'), /a schedule: 0 4/);
  await page.getByText('Other days').focus();
  await page.keyboard.press('Enter');
  await page.getByLabel('First day (UTC)').fill('2023-11-10');
  await page.getByLabel('Last day (UTC)').fill('2023-11-14');
  await page.keyboard.press('Enter');
  await page.getByText('10 Nov 2023 to 14 Nov 2023, by UTC').waitFor();
  t.is(await page.locator('.timeline ol > li').count(), 5);
  t.is(await page.getByRole('img', { name: /^Tue 14 Nov/ }).count(), 1);
  t.deepEqual(complaints, []);
});

test.runIf(isHere('chromium'))(`the server bill page is accessible in dark mode on a phone`, async (t) => {
  const it = await openPanel(t);
  await billed(it, [
    { hoursBefore: 50, cause: NASTY, ending: 'false_wake', ticks: 0, amountMicros: 0 },
    { hoursBefore: 30, cause: SCHEDULE, ending: 'idle', ticks: 59 },
  ]);
  const { page } = await it.open(PAGE, { ...PHONE, colorScheme: 'dark' });
  await accessible(t, page);
  await it.create('fresh');
  await page.goto(`${it.origin}/servers/fresh/bill?from=2023-11-01&to=2023-11-02`);
  await accessible(t, page);
});
