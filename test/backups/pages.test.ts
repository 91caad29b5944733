import { existsSync } from 'node:fs';
import { stat, writeFile } from 'node:fs/promises';
import test from 'ava';
import { insertBackup, listBackups } from '../../src/backups/rows.ts';
import { createOffSite } from '../../src/backups/offsite/offsite.ts';
import { closeBrowser } from '../support/browser.ts';
import { isHere } from '../support/needs.ts';
import { PHONE, type PanelUnderTest, accessible, openPanel } from '../support/panel.ts';
import { plant } from '../support/tree.ts';
import { WORLD, archiveOf, backUp, backupsOf, ended, find, hold, rootOf } from './parts.ts';

test.after.always(closeBrowser);

/** The panel of a sleeping server that has a world. */
async function panel(t: Parameters<typeof openPanel>[0], options: Parameters<typeof openPanel>[1] = {}) {
  const it = await openPanel(t, options);
  await it.create('lobby');
  await plant(rootOf(it, 'lobby'), WORLD);
  const submit = async (form: string, fields: Record<string, string> = {}) => {
    const answer = await it.submit(`/servers/lobby/backups/${form}`, fields);
    return { status: answer.status, text: await answer.text(), to: answer.headers.get('location') ?? '' };
  };
  const text = async () => (await it.get('/servers/lobby/backups')).text;
  return { ...it, form: submit, text };
}

/** Gives `lobby` this number of backups. All but one are rows without an archive. */
async function many(it: PanelUnderTest, count: number): Promise<void> {
  await backUp(it, 'lobby');
  const [row] = await listBackups(it.store, 'lobby');
  await it.store.write(async (tx) => {
    for (let nth = 1; nth < count; nth++)
      await insertBackup(tx, { ...row!, id: `bak_${nth}`, createdAt: row!.createdAt - nth });
  });
}

test('a backup is created, locked against deletion, unlocked and deleted without scripts', async (t) => {
  const it = await panel(t);
  t.regex(await it.text(), /No backups yet/);
  t.is((await it.form('make')).to, '/servers/lobby/backups?done=asked');
  const [made] = await backupsOf(it, 'lobby');
  const { id: backup } = await ended(it, 'lobby', made!.id);
  const page = await it.text();
  t.regex(page, /manual/);
  t.regex(page, /293 KB unpacked/);
  t.is((await it.form('lock', { backup, locked: 'true' })).to, '/servers/lobby/backups?done=locked');
  t.notRegex(await it.text(), /Delete…/);
  const refused = await it.form('delete', { backup });
  t.is(refused.status, 400);
  t.regex(refused.text, /role="alert"/);
  await it.form('lock', { backup, locked: 'false' });
  t.is((await it.form('delete', { backup })).to, '/servers/lobby/backups?done=deleted');
  t.deepEqual(await backupsOf(it, 'lobby'), []);
  t.is((await it.form('delete', { backup: '../previous' })).status, 404);
  t.is((await it.form('make', { csrf: 'forged' })).status, 403);
});

test('the backups page marks a backup that still waits for its upload off site', async (t) => {
  const never = Promise.withResolvers<void>();
  const open = () => {
    throw new Error('asked before it was checked');
  };
  const offSite = createOffSite('s3://worlds/test', open, () => never.promise);
  const it = await panel(t, { world: { room: { offSite } } });
  const { id } = await backUp(it, 'lobby');
  t.like(await find(it, 'lobby', id), { offSite: false, awaitingOffSite: true });
  t.regex(await it.text(), /KB unpacked · uploading off site/);
});

test('the backups page explains a restore and offers to undo it', async (t) => {
  const it = await panel(t);
  const { id: backup } = await backUp(it, 'lobby');
  await plant(rootOf(it, 'lobby'), { 'new.txt': 'since then' });
  t.regex(
    await it.text(),
    /This replaces all files of the server with those of the backup\. The current files are kept/,
  );
  // On a busy machine the restore may outlast the wait of the form. The page then shows its result.
  const { to } = await it.during(it.form('restore', { backup }));
  t.regex(to ?? '', /^\/servers\/lobby\/backups\?done=restor(?:ed|ing)$/);
  await it.during(it.until(async () => (await it.text()).includes('You can undo the last restore')));
  t.false(existsSync(`${rootOf(it, 'lobby')}/new.txt`));
  const page = await it.text();
  t.regex(page, /If files changed since the last restore, we back them up first/);
  const undone = await it.during(it.form('restore', { backup: 'previous' }));
  t.regex(undone.to ?? '', /^\/servers\/lobby\/backups\?done=(?:undone|restoring)$/);
  await it.during(it.until(async () => !(await it.text()).includes('undo the last restore')));
  t.true(existsSync(`${rootOf(it, 'lobby')}/new.txt`));
  t.notRegex(await it.text(), /can be undone/);
});

test('the backups page shows why a restore failed, also on later visits', async (t) => {
  const it = await panel(t);
  const { id: backup } = await backUp(it, 'lobby');
  const archive = archiveOf(it, 'lobby', backup);
  await writeFile(archive, Buffer.alloc((await stat(archive)).size, 'x'));
  const refused = await it.during(it.form('restore', { backup }));
  // On a busy machine the form does not wait for the failure. The page then shows it.
  if (refused.to !== '/servers/lobby/backups?done=restoring') {
    t.is(refused.status, 400);
    t.regex(refused.text, /role="alert">The backup is damaged/);
  }
  await it.during(it.until(async () => /failed and changed nothing: The backup is damaged/.test(await it.text())));
  t.regex(await it.text(), /failed and changed nothing: The backup is damaged/);
});

test('the backups page describes retention in words, and its form keeps an invalid number as typed', async (t) => {
  const it = await panel(t);
  t.regex(await it.text(), /The 10 newest, and one for each of the last 7 days, 4 weeks and 3 months\./);
  const fields = { keepLast: '5', hourly: '24', daily: '0', weekly: '', monthly: '1' };
  t.is((await it.form('retention', fields)).to, '/servers/lobby/backups?done=retention');
  t.regex(await it.text(), /The 5 newest, and one for each of the last 24 hours and 1 month\./);
  const refused = await it.form('retention', { ...fields, keepLast: 'many' });
  t.is(refused.status, 400);
  t.regex(refused.text, /<details open>/);
  t.regex(refused.text, /value="many"/);
  await it.form('retention', { keepLast: '0', hourly: '0', daily: '0', weekly: '0', monthly: '0' });
  t.regex(await it.text(), /Every backup is kept until you delete it\./);
});

test('retention rules that would delete existing backups need a confirmation of their number', async (t) => {
  const it = await panel(t);
  await many(it, 3);
  const fewer = { keepLast: '1', hourly: '0', daily: '0', weekly: '0', monthly: '0' };
  const asked = await it.form('retention', fewer);
  t.is(asked.status, 200);
  t.regex(asked.text, /<details open>[^]*value="1"[^]*role="alert">\s*The next backup deletes 2 backups permanently/);
  t.regex(await it.text(), /The 10 newest/, 'the rules are unchanged before the confirmation');
  const more = await it.form('retention', { ...fewer, goes: '1' });
  t.regex(more.text, /2 backups permanently/, 'a confirmation of fewer deletions is not enough');
  t.is((await it.form('retention', { ...fewer, goes: '2' })).to, '/servers/lobby/backups?done=retention');
  t.regex(await it.text(), /The newest\. Older ones are deleted/);
});

test('the backups page shows 16 backups at a time', async (t) => {
  const it = await panel(t);
  await many(it, 17);
  const names = (text: string) => text.split('unpacked').length - 1;
  const first = await it.text();
  t.is(names(first), 16);
  t.regex(first, /1–16 of 17<[^]*href="\/servers\/lobby\/backups\?from=16"\s*>Next/);
  const second = (await it.get('/servers/lobby/backups?from=16&done=locked')).text;
  t.is(names(second), 1);
  t.regex(second, /href="\/servers\/lobby\/backups"\s*>Previous/);
  t.regex(second, /action="\/servers\/lobby\/backups\/lock\?from=16"/, 'the button returns to this part of the list');
  t.is(names((await it.get('/servers/lobby/backups?from=9e9')).text), 1);
});

test('the limited role has no access to backups, and the member role has', async (t) => {
  const it = await panel(t);
  await it.stranger();
  const other = await it.browser('usr_other');
  await it.share('lobby', 'limited');
  t.notRegex((await it.get('/servers/lobby', other)).text, />Backups</);
  t.is((await it.get('/servers/lobby/backups', other)).status, 403);
  t.is((await it.submit('/servers/lobby/backups/make', {}, other)).status, 403);
  await it.share('lobby', 'member');
  t.is((await it.submit('/servers/lobby/backups/make', {}, other)).status, 303);
});

test.runIf(isHere('chromium'))('a backup shows its progress in the browser, and is restored by keyboard', async (t) => {
  const it = await panel(t);
  await it.command('lobby', 'START');
  await it.reach('lobby', 'running');
  const { page, complaints } = await it.open('/servers/lobby/backups');
  const saving = hold(it, 'save-all flush');
  await page.getByRole('button', { name: 'Back up now' }).click();
  await page.getByRole('progressbar', { name: 'The backup' }).waitFor();
  await page.getByText('in progress', { exact: true }).waitFor();
  t.is(await page.getByRole('button', { name: 'Back up now' }).count(), 0);
  saving.go();
  await page.getByText('Restore…').waitFor();
  await plant(rootOf(it, 'lobby'), { 'new.txt': 'since then' });
  await page.getByText('Restore…').focus();
  await page.keyboard.press('Enter');
  await page.getByText('which disconnects players').waitFor();
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  // On a slow machine the restore outlasts the wait of the page.
  await it.during(page.getByText(/^(?:Backup restored|Restore started)\./).waitFor());
  await it.during(it.until(() => !existsSync(`${rootOf(it, 'lobby')}/new.txt`)));
  t.deepEqual(complaints, []);
});

test.runIf(isHere('chromium'))(`the backups page is accessible on a phone in dark mode`, async (t) => {
  const it = await panel(t);
  const { page } = await it.open('/servers/lobby/backups', { ...PHONE, colorScheme: 'dark' });
  await accessible(t, page);
  const { id: backup } = await backUp(it, 'lobby');
  await it.form('lock', { backup, locked: 'true' });
  await it.during(it.form('restore', { backup }));
  await backUp(it, 'lobby');
  await page.reload();
  for (const summary of await page.getByText(/^(?:Restore…|Delete…|Edit retention|Undo the restore)/).all())
    if (await summary.evaluate((each) => each.matches('summary, summary *'))) await summary.click();
  await accessible(t, page);
});
