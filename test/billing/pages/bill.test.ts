import test from 'ava';
import { balance, post } from '../../../src/billing/ledger.ts';
import { closeBrowser } from '../../support/browser.ts';
import { isHere } from '../../support/needs.ts';
import { PHONE, accessible, openPanel } from '../../support/panel.ts';
import { AT, scene } from '../scene.ts';

test.after.always(closeBrowser);

const CAP = '/v1/accounts/acc_test/spend-cap';

test('the bill shows the balance, the cost of each server and the ledger entries', async (t) => {
  const it = await openPanel(t);
  const bare = (await it.get('/bill')).text;
  t.regex(bare, /Balance<\/dt>\s*<dd>0\.00 USD/);
  t.regex(bare, /You have no servers yet/);
  t.regex(bare, /No entries yet/);
  await scene(it);
  await it.create('lobby', { name: 'The <i>Lobby</i>', plan: 'flat', ramMb: 1_024 });
  const { text } = await it.get('/bill');
  t.regex(text, /Balance<\/dt>\s*<dd>4\.99 USD/);
  t.regex(text, /Lasts<\/dt>\s*<dd>–/);
  t.regex(text, /metered: 0\.005 USD an hour awake/);
  t.regex(text, /<bdi>The &lt;i&gt;Lobby&lt;\/i&gt;<\/bdi>[^]*flat: 3\.00 USD for 30 days/);
  t.regex(text, /The next period begins with the next\s+start, or immediately if\s+the server is awake\./);
  t.regex(text, /Awake time<small><bdi>512 MB awake[^]*−0\.0004 USD[^]*−0\.005 USD[^]*\+5\.00 USD/);
  t.regex(text, /more than 300 hours in 30 days/);
  await it.command('abc', 'START');
  await it.until(async () => (await it.engine.inspect('abc'))?.up === true);
  await it.reach('abc', 'running');
  t.regex((await it.get('/bill')).text, /Cost per hour now<\/dt>\s*<dd>0\.005 USD[^]*about 41 days/);
  const nobody = await fetch(`${it.origin}/bill`, { redirect: 'manual' });
  t.is(nobody.headers.get('location'), '/sign-in?next=%2Fbill');
});

test('the bill lists many servers page by page, each once, and its ledger shows their names on every page', async (t) => {
  const it = await openPanel(t);
  for (let nth = 0; nth < 50; nth++) await it.create(`s${nth}`, { name: `Number ${nth}.` });
  await it.store.write((tx) =>
    post(tx, { accountId: 'acc_test', serverId: 's49', kind: 'credit', amountMicros: 1, ref: 'r', note: '', at: AT }),
  );
  const seen: string[] = [];
  let pages = 0;
  for (let path: string | undefined = '/bill'; path !== undefined; pages++) {
    const { text } = await it.get(path);
    const [costs = '', ledger = ''] = text.split('id="ledger"');
    seen.push(...(costs.match(/Number \d+\./g) ?? []));
    t.regex(ledger, /Number 49\./);
    path = /href="(\/bill\?servers=[^"]+)"/.exec(text)?.[1];
  }
  t.is(pages, 3);
  t.deepEqual(seen.toSorted(), Array.from({ length: 50 }, (_, nth) => `Number ${nth}.`).toSorted());
  t.regex((await it.get('/bill?servers=nonsense')).text, /Number 0\./);
  t.regex((await it.get('/bill?servers=9999999999999-zzz')).text, /No more entries[^]*First servers/);
});

test('the bill shows a long ledger page by page, each entry once', async (t) => {
  const it = await openPanel(t);
  await it.store.write(async (tx) => {
    for (let nth = 0; nth < 45; nth++) {
      const entry = {
        accountId: 'acc_test',
        kind: 'credit',
        amountMicros: 1_000_000,
        ref: `gift:${nth}`,
        at: AT,
      } as const;
      await post(tx, { ...entry, note: `gift ${nth}.` });
    }
  });
  const seen: string[] = [];
  let pages = 0;
  for (let path: string | undefined = '/bill'; path !== undefined; pages++) {
    const text: string = (await it.get(path)).text;
    seen.push(...(text.match(/gift \d+\./g) ?? []));
    path = /href="(\/bill\?before=\d+)#ledger"/.exec(text)?.[1];
  }
  t.is(pages, 3);
  t.deepEqual(
    seen,
    Array.from({ length: 45 }, (_, nth) => `gift ${44 - nth}.`),
  );
  t.is((await it.get('/bill?before=x')).status, 200);
});

test('forms set and remove the spend cap, and an invalid amount stays as typed', async (t) => {
  const it = await openPanel(t);
  t.is(
    (await it.submit('/bill/cap', { monthlyUsd: '2,50', action: 'stop' })).headers.get('location'),
    '/bill?done=capped',
  );
  t.like(await it.ok('GET', CAP), { monthlyMicros: '2500000', action: 'stop' });
  t.regex((await it.get('/bill?done=capped')).text, /Spend cap set[^]*0\.00 USD<\/strong> of 2\.50 USD spent/);
  for (const monthlyUsd of ['', '0', '-1', 'a lot', '1e3', '0.0000001']) {
    const refused = await it.submit('/bill/cap', { monthlyUsd, action: 'notify' });
    t.is(refused.status, 400, monthlyUsd);
    const text = await refused.text();
    t.true(text.includes(`value="${monthlyUsd}"`), monthlyUsd);
    t.regex(text, /aria-invalid="true"/);
    t.regex(text, /value="notify"\s+checked/);
  }
  t.is((await it.submit('/bill/no-cap', { csrf: 'forged' })).status, 403);
  t.like(await it.ok('GET', CAP), { monthlyMicros: '2500000', action: 'stop' });
  await it.submit('/bill/no-cap');
  t.like(await it.ok('GET', CAP), { monthlyMicros: '0' });
});

test('a spend cap of 30 000 blanks is refused by the field length limit', async (t) => {
  const it = await openPanel(t);
  const refused = await it.submit('/bill/cap', { monthlyUsd: ' '.repeat(30_000), action: 'stop' });
  t.is(refused.status, 400);
  t.regex(await refused.text(), /A field may have at most 8192 characters/);
});

test('a top-up links to the payment page, and without online payment the bill refers to the administrator', async (t) => {
  const it = await openPanel(t);
  for (const amountUsd of ['', '1.5', 'ten', '0', '1001']) {
    t.is((await it.submit('/bill/top-up', { amountUsd })).status, 400, amountUsd);
  }
  const opened = await it.submit('/bill/top-up', { amountUsd: '12' });
  t.is(opened.status, 200);
  t.regex(await opened.text(), /12\.00 USD[^]*href="http:\/\/127\.0\.0\.1:\d+\/checkout\/chk_\w{22}"/);
  const off = await openPanel(t, { checkout: null });
  const { text } = await off.get('/bill');
  t.regex(text, /Ask your administrator for credit/);
  t.notRegex(text, /bill\/top-up/);
});

test.runIf(isHere('chromium'))('the bill works on a phone for a top-up and by keyboard for a spend cap', async (t) => {
  const it = await openPanel(t);
  const phone = await it.open('/bill', PHONE);
  await phone.page.getByLabel('Amount in US dollars').fill('25');
  await phone.page.getByRole('button', { name: 'Top up…' }).click();
  await phone.page.getByRole('link', { name: 'Continue to payment' }).click();
  await phone.page.getByRole('button', { name: 'Pay 25.00 USD (test)' }).click();
  await phone.page.getByRole('heading', { name: 'Payment complete' }).waitFor();
  t.is(await balance(it.store, 'acc_test'), 25_000_000);
  await phone.page.goto(`${it.origin}/bill`);
  t.regex(await phone.page.innerText('.figures'), /25\.00 USD/);
  t.deepEqual(phone.complaints, []);

  const { page, complaints } = await it.open('/bill');
  await page.getByLabel('Monthly limit').focus();
  await page.keyboard.type('7.50');
  await page.keyboard.press('Tab');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await page.getByText('Spend cap set.').waitFor();
  t.like(await it.ok('GET', CAP), { monthlyMicros: '7500000', action: 'stop' });
  t.deepEqual(complaints, []);
});

test.runIf(isHere('chromium'))(`the bill is accessible on a phone in dark mode`, async (t) => {
  const it = await openPanel(t);
  await scene(it);
  await it.ok('POST', CAP, { monthlyMicros: '5000', action: 'stop' });
  await it.create('lobby', { name: 'L'.repeat(64) });
  const { page } = await it.open('/bill', { ...PHONE, colorScheme: 'dark' });
  await accessible(t, page);
  await page.getByLabel('Monthly limit').fill('much');
  await page.getByRole('button', { name: 'Change the cap' }).click();
  await page.locator('[aria-invalid=true]').waitFor();
  await accessible(t, page);
});
