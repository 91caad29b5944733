import type { ExecutionContext } from 'ava';
import test from 'ava';
import { openWallet } from '../../../src/billing/ledger.ts';
import { openPanel } from '../../support/panel.ts';

const FREE = { pricePerGbHourMicros: 0, pricePerGbMonthMicros: 0 };
const MONEY_PAGES = ['/bill', '/servers/castle/bill', '/operator/accounts', '/operator/accounts/acc_test'];
/** The other pages that show prices or costs. */
const PRICED_PAGES = ['/servers', '/servers/new', '/servers/castle', '/servers/castle/settings'];
const MONEY = /\bUSD\b|wallet|top up|spend cap|<dt>Plan|test money/i;

/** The panel of an operator with one server. */
async function household(t: ExecutionContext, options: Parameters<typeof openPanel>[1] = {}) {
  const it = await openPanel(t, options);
  await it.create('castle');
  await it.store.write((tx) => tx.run('UPDATE "users" SET "operator" = $1 WHERE "id" = $2', [1, 'usr_test']));
  const main = async (path: string) => {
    const { status, text } = await it.get(path);
    t.is(status, 200, path);
    return text.split('<div id="page"')[1] ?? text.split('<main')[1] ?? '';
  };
  return { ...it, main };
}

test('every page about money says that it is test money, and only while payments are pretended', async (t) => {
  const it = await household(t);
  for (const path of MONEY_PAGES) t.regex(await it.main(path), /This is test money/, path);
  const opened = await (await it.submit('/bill/top-up', { amountUsd: '12' })).text();
  t.regex(opened, /This is test money/);
  const checkout = /\/checkout\/chk_\w{22}/.exec(opened)?.[0] ?? '';
  t.regex(await it.main(checkout), /This is test money/);
  await it.submit(checkout, { decision: 'pay' });
  t.regex(await it.main(checkout), /This is test money[^]*of test credit was/);
  const real = await household(t, { checkout: null });
  for (const path of MONEY_PAGES) t.notRegex(await real.main(path), /test money/, path);
});

test('a low wallet says how an operator adds credit, and a full one does not', async (t) => {
  const it = await household(t);
  t.regex(await it.main('/bill'), /running low[^]*href="\/operator\/accounts\/acc_test"/);
  await it.store.write((tx) => tx.run('UPDATE "users" SET "operator" = $1 WHERE "id" = $2', [0, 'usr_test']));
  t.regex(await it.main('/bill'), /running low[^]*An operator can add credit/);
  await it.store.write((tx) => openWallet(tx, 'acc_test', it.clock.now(), 100_000_000));
  t.notRegex(await it.main('/bill'), /running low/);
});

test('without prices no page shows money, and the API answers as before', async (t) => {
  const priced = await household(t);
  for (const path of PRICED_PAGES) t.regex(await priced.main(path), MONEY, path);
  const it = await household(t, { config: FREE });
  for (const path of [...MONEY_PAGES, ...PRICED_PAGES]) t.notRegex(await it.main(path), MONEY, path);
  t.regex(await it.main('/bill'), /Limits and capacity/);
  t.like(await it.ok('GET', '/v1/accounts/acc_test/wallet'), { balanceMicros: '0' });
  t.like(await it.ok('GET', '/v1/accounts/acc_test/spend-cap'), { perGbHourMicros: '0', checkout: 'test' });
});
