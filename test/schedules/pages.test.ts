import test from 'ava';
import { WHENS, cronOf, timingOf, timingText } from '../../src/schedules/timing.ts';
import { closeBrowser } from '../support/browser.ts';
import { isHere } from '../support/needs.ts';
import { PHONE, accessible, openPanel } from '../support/panel.ts';

test.after.always(closeBrowser);

const PATH = '/servers/abc/schedules';
const NIGHTLY = { kind: 'backup', when: 'day', time: '04:00' };

/** The pages of a sleeping server. */
async function panel(t: Parameters<typeof openPanel>[0]) {
  const it = await openPanel(t);
  await it.create('abc');
  return {
    ...it,
    text: async (query = '') => (await it.get(PATH + query)).text,
    form: async (form: string, fields: Record<string, string> = {}) => {
      const answer = await it.submit(`${PATH}/${form}`, fields);
      return { status: answer.status, text: await answer.text(), to: answer.headers.get('location') ?? '' };
    },
    all: async () =>
      (await it.ok('GET', `/v1${PATH}`))['schedules'] as {
        id: string;
        kind: string;
        cronExpr: string;
        enabled: boolean;
      }[],
  };
}

test('the form’s choice becomes a cron expression and is read back as the same choice', (t) => {
  for (const [when] of WHENS.filter(([each]) => each !== 'cron')) {
    for (const time of ['00:00', '04:05', '23:59']) {
      const cronExpr = cronOf({ when, time, hours: '6', cronExpr: '' });
      const shown = { hour: `00:${time.slice(3)}`, sleep: '04:00', play: '04:00' }[when] ?? time;
      t.deepEqual(timingOf(cronExpr), { when, time: shown, hours: '6' }, cronExpr);
    }
  }
  t.is(cronOf({ when: 'cron', time: '', hours: '', cronExpr: '5 4 * * 1-5' }), '5 4 * * 1-5');
  for (const time of ['', '4', '24:00', '04:60', '-1:00'])
    t.throws(() => cronOf({ when: 'day', time, hours: '', cronExpr: '' }), { message: /time of day/ });
  for (const hours of ['', '0', '721', '1.5', '-6'])
    t.throws(() => cronOf({ when: 'play', time: '', hours, cronExpr: '' }), { message: /from 1 to 720/ });
  t.throws(() => cronOf({ when: '7', time: '04:00', hours: '', cronExpr: '' }));
});

test('common schedule times are shown in words, and all others as a cron expression', (t) => {
  const words: Record<string, string> = {
    '0 4 * * *': 'every day at 04:00 UTC',
    '30 18 * * 1': 'every Monday at 18:30 UTC',
    '0 4 * * 7': 'every Sunday at 04:00 UTC',
    '0 4 1 * *': 'on the 1st of every month at 04:00 UTC',
    '0 * * * *': 'every hour',
    '5 * * * *': 'every hour, 5 minutes past',
    '* * * * *': 'every minute',
    '*/15 * * * *': 'every 15 minutes',
    '*/7 * * * *': 'by cron, in UTC: */7 * * * *',
    '0 */6 * * *': 'every 6 hours',
    '0 */5 * * *': 'by cron, in UTC: 0 */5 * * *',
    '0 4,16 * * *': 'every day at 04:00 and 16:00 UTC',
    '0 4 * * 1-5': 'Monday to Friday at 04:00 UTC',
    '0 4 * * 0,6': 'every Sunday and Saturday at 04:00 UTC',
    '0 4 * 12 *': 'by cron, in UTC: 0 4 * 12 *',
    '0 4 13 * 5': 'by cron, in UTC: 0 4 13 * 5',
    '@sleep': 'each time it goes to sleep',
    '@play 6h': 'every 6 h of play',
    '0 4 * * 1-3,5': 'by cron, in UTC: 0 4 * * 1-3,5',
  };
  t.deepEqual(
    Object.fromEntries(Object.keys(words).map((cron) => [cron, timingText({ cronExpr: cron, timeZone: 'UTC' })])),
    words,
  );
  t.is(timingText({ cronExpr: '0 4 * * *', timeZone: 'Asia/Kathmandu' }), 'every day at 04:00 Asia/Kathmandu');
});

test('a schedule is created without cron knowledge, run, switched off, changed and deleted without scripts', async (t) => {
  const it = await panel(t);
  t.regex(await it.text(), /No schedules yet/);
  t.is((await it.form('save', NIGHTLY)).to, `${PATH}?done=made`);
  t.regex(await it.text(), /every day at 04:00 UTC · next: <time/);
  const { id: scheduleId } = (await it.all())[0]!;
  t.is((await it.form('run', { scheduleId })).to, `${PATH}?done=ran`);
  t.regex(await it.text(), />done<\/span>\s*<time/);
  t.is((await it.form('switch', { scheduleId, enabled: 'false' })).to, `${PATH}?done=off`);
  t.regex(await it.text(), /<span class="tag">off/);
  t.regex(await it.text(`?edit=${scheduleId}`), /<option value="day" selected>/);
  const changed = { scheduleId, kind: 'command', command: '/say Good night', when: '5', time: '22:30' };
  t.is((await it.form('save', changed)).to, `${PATH}?done=changed`);
  t.like((await it.all())[0], { id: scheduleId, kind: 'command', cronExpr: '30 22 * * 5', enabled: false });
  t.is((await it.all()).length, 1);
  t.regex(await it.text(), /Run a command: <code>say Good night<\/code>/);
  const skipped = await it.form('run', { scheduleId });
  t.is(skipped.status, 400);
  t.regex(skipped.text, /role="alert">The run was skipped: /);
  t.is((await it.form('delete', { scheduleId })).to, `${PATH}?done=deleted`);
  t.deepEqual(await it.all(), []);
  t.is((await it.form('delete', { scheduleId })).status, 404);
});

test('an invalid schedule shows the error beside its field and keeps the input', async (t) => {
  const it = await panel(t);
  const asked = await it.form('save', { kind: 'command', command: 'say <i>hi</i>', when: 'day', time: 'late' });
  t.is(asked.status, 400);
  t.regex(asked.text, /id="save-time-wrong">must be a time of day/);
  t.regex(asked.text, /value="say &lt;i&gt;hi&lt;\/i&gt;"/);
  const cron = await it.form('save', { ...NIGHTLY, when: 'cron', cronExpr: 'whenever' });
  t.regex(cron.text, /id="save-cronExpr-wrong">must have five fields/);
  t.regex(cron.text, /value="whenever"/);
  t.is((await it.form('save', { ...NIGHTLY, scheduleId: 'sch_none' })).status, 404);
  t.is((await it.form('save', { ...NIGHTLY, csrf: 'forged' })).status, 403);
  t.deepEqual(await it.all(), []);
});

test('the form warns players or waits for an empty server, and shows which', async (t) => {
  const it = await panel(t);
  await it.form('save', { ...NIGHTLY, kind: 'restart', warnSeconds: '300' });
  t.regex(await it.text(), /every day at 04:00 UTC[^<]*<[^·]*[^<]*<\/time>[^·]*· warns players 5 min before/);
  const { id: scheduleId } = (await it.all())[0]!;
  t.regex(await it.text(`?edit=${scheduleId}`), /<option value="300" selected>/);
  await it.form('save', { ...NIGHTLY, scheduleId, warnSeconds: '300', onlyWhenEmpty: 'true' });
  t.regex(await it.text(), /· only if no one is online/);
  t.notRegex(await it.text(), /· warns players/);
  t.regex(await it.text(`?edit=${scheduleId}`), /name="onlyWhenEmpty"\s+value="true"\s+checked/);
});

test('a schedule by sleep or by hours of play is created without scripts, and shows what is left', async (t) => {
  const it = await panel(t);
  const hidden = { time: '', hours: '6', timeZone: 'UTC', onlyWhenEmpty: 'true', warnSeconds: '300' };
  await it.form('save', { ...hidden, kind: 'backup', when: 'sleep' });
  t.like((await it.all())[0], { cronExpr: '@sleep', warnSeconds: 0 });
  t.regex(await it.text(), /each time it goes to sleep/);
  await it.form('delete', { scheduleId: (await it.all())[0]!.id });
  await it.form('save', { ...hidden, kind: 'restart', when: 'play' });
  t.like((await it.all())[0], { cronExpr: '@play 6h', warnSeconds: 300, onlyWhenEmpty: false });
  t.regex(await it.text(), /every 6 h of play \(6 h left\)\s+· warns players 5 min before/);
  const { id: scheduleId } = (await it.all())[0]!;
  await it.store.write((tx) => tx.run('UPDATE "schedules" SET "playedMinutes" = 230', []));
  t.regex(await it.text(), /\(2 h 10 min left\)/);
  t.regex(await it.text(`?edit=${scheduleId}`), /<option value="play" selected>/);
  const refused = await it.form('save', { ...hidden, scheduleId, kind: 'update', when: 'play' });
  t.regex(
    refused.text,
    /id="save-kind-wrong">must be one of command, stop, restart, backup with @play 6h: the server is awake/,
  );
  t.regex(
    (await it.form('save', { ...hidden, kind: 'backup', when: 'play', hours: '0' })).text,
    /id="save-hours-wrong">/,
  );
});

test('a limited member can neither see nor save schedules', async (t) => {
  const it = await panel(t);
  await it.stranger();
  await it.share('abc', 'limited');
  const other = await it.browser('usr_other');
  t.is((await it.get(PATH, other)).status, 403);
  t.is((await it.submit(`${PATH}/save`, NIGHTLY, other)).status, 403);
  await it.share('abc', 'member');
  t.is((await it.submit(`${PATH}/save`, NIGHTLY, other)).status, 303);
});

test.runIf(isHere('chromium'))(
  'by keyboard: the schedule form shows only the fields a choice needs, and a new schedule is in the reader’s zone',
  async (t) => {
    const it = await panel(t);
    const { page, complaints } = await it.open(PATH, { timezoneId: 'America/New_York', locale: 'en-GB' });
    t.is(await page.getByLabel('Time zone').inputValue(), 'America/New_York');
    t.false(await page.getByLabel('Command').isVisible());
    await page.getByLabel('What').focus();
    await page.keyboard.type('Run');
    await page.keyboard.press('Tab');
    await page.keyboard.type('say hi');
    await page.getByLabel('When').selectOption('by a cron expression');
    t.false(await page.getByLabel('Time', { exact: true }).isVisible());
    await page.getByLabel('Cron expression').fill('*/15 * * * *');
    await page.keyboard.press('Enter');
    await page.getByText('Schedule created.').waitFor();
    await page.getByRole('link', { name: 'Change (Run a command, every 15 minutes)' }).click();
    await page.getByRole('heading', { name: 'Change the schedule' }).waitFor();
    t.is(await page.getByLabel('Cron expression').inputValue(), '*/15 * * * *');
    t.is(await page.getByLabel('Time zone').inputValue(), 'America/New_York');
    t.deepEqual(complaints, []);
  },
);

for (const width of [1280, 390]) {
  test.runIf(isHere('chromium'))(
    `at ${width} px, without scripts: the warning is offered only for tasks that have one, and is saved`,
    async (t) => {
      const it = await panel(t);
      const { page } = await it.open(PATH, { viewport: { width, height: 844 }, javaScriptEnabled: false });
      const warning = page.getByLabel('Warn players');
      await page.getByLabel('What').selectOption('Start the server');
      t.false(await warning.isVisible());
      await page.getByLabel('What').selectOption('Restart the server');
      await warning.selectOption('5 min before');
      await page.getByLabel('Only if no one is online').check();
      t.false(await warning.isVisible());
      await page.getByLabel('Only if no one is online').uncheck();
      await page.getByRole('button', { name: 'Create schedule' }).click();
      await page.getByText('Schedule created.').waitFor();
      t.true(await page.getByText('warns players 5 min before').isVisible());
      t.true(
        await page
          .locator('body')
          .evaluate((body) => body.scrollWidth <= body.ownerDocument.documentElement.clientWidth),
      );
    },
  );
}

test.runIf(isHere('chromium'))('without scripts: sleep and play show only the fields they need', async (t) => {
  const it = await panel(t);
  const { page } = await it.open(PATH, { ...PHONE, javaScriptEnabled: false });
  const visible = async () => {
    const labels = [
      'Time',
      'Time zone',
      'Hours of play',
      'Cron expression',
      'Warn players',
      'Only if no one is online',
    ];
    const shown = await Promise.all(labels.map((label) => page.getByLabel(label, { exact: true }).isVisible()));
    return labels.filter((_, index) => shown[index]);
  };
  await page.getByLabel('When').selectOption('each time it goes to sleep');
  t.deepEqual(await visible(), ['Only if no one is online']);
  await page.getByLabel('Only if no one is online').check();
  await page.getByLabel('When').selectOption('by hours of play');
  t.deepEqual(await visible(), ['Hours of play', 'Warn players']);
  await page.getByLabel('Hours of play').fill('12');
  await page.getByLabel('Warn players').selectOption('1 min before');
  await page.getByRole('button', { name: 'Create schedule' }).click();
  await page.getByText('Schedule created.').waitFor();
  t.true(await page.getByText('every 12 h of play (12 h left) · warns players 1 min before').isVisible());
});

test.runIf(isHere('chromium'))(`the schedules page is accessible in dark mode on a phone`, async (t) => {
  const it = await panel(t);
  await it.form('save', NIGHTLY);
  const { id } = (await it.all())[0]!;
  await it.form('run', { scheduleId: id });
  await it.form('save', { kind: 'command', command: 'x'.repeat(200), when: 'cron', cronExpr: '1-59/7 3 * * 1-3' });
  const { page } = await it.open(`${PATH}?edit=${id}`, {
    ...PHONE,
    timezoneId: 'America/New_York',
    colorScheme: 'dark',
  });
  t.is(await page.getByLabel('Time zone').inputValue(), 'UTC', 'an existing schedule keeps its zone');
  await page.getByText('Delete…').first().click();
  await accessible(t, page);
  await page.getByLabel('When').selectOption('cron');
  await page.getByLabel('What').selectOption('command');
  await accessible(t, page);
});
