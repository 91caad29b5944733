import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { type Page, closeBrowser } from '../support/browser.ts';
import { isHere } from '../support/needs.ts';
import { PHONE, type PanelUnderTest, accessible, legibleInTheDark, openPanel } from '../support/panel.ts';

test.after.always(closeBrowser);

const AT = '/servers/castle/files';

async function castle(t: ExecutionContext): Promise<PanelUnderTest & { root: string }> {
  const it = await openPanel(t);
  await it.create('castle');
  const root = join(it.dataDir, 'servers/castle');
  mkdirSync(join(root, 'plugins'), { recursive: true });
  writeFileSync(join(root, 'plugins/config.yml'), 'enabled: true\n');
  return { ...it, root };
}

test.runIf(isHere('chromium'))(
  'choosing or dropping files uploads them; an existing file is replaced only after confirmation',
  async (t) => {
    const it = await castle(t);
    writeFileSync(join(it.root, 'plugins/old.txt'), 'old');
    const { page, complaints } = await it.open(`${AT}?path=plugins`);
    const file = (name: string, text: string) => ({ name, mimeType: 'text/plain', buffer: Buffer.from(text) });
    await page.getByLabel('Select config.yml').check();
    await page
      .locator('[data-files]')
      .setInputFiles([file('a & b.txt', 'one'), file('old.txt', 'new'), file('empty.txt', '')]);
    await page.getByText('old.txt already exists.').waitFor();
    await page.getByText('2 files uploaded.').waitFor();
    await page.getByRole('link', { name: 'a & b.txt' }).first().waitFor();
    t.true(await page.getByLabel('Select config.yml').isChecked(), 'the selection is kept');
    t.is(readFileSync(join(it.root, 'plugins/old.txt'), 'utf8'), 'old');
    await page.getByRole('button', { name: 'Replace old.txt' }).click();
    await page.getByText('1 file uploaded.').waitFor();
    t.is(readFileSync(join(it.root, 'plugins/old.txt'), 'utf8'), 'new');

    const folder = await mkdtemp(join(tmpdir(), 'dormouse-upload-'));
    t.teardown(() => rm(folder, { recursive: true }));
    mkdirSync(join(folder, 'pack/deep'), { recursive: true });
    for (let nth = 0; nth < 30; nth += 1) writeFileSync(join(folder, `pack/deep/${nth}.txt`), String(nth));
    await page.locator('[data-folder]').setInputFiles(join(folder, 'pack'));
    await page.getByText('30 files uploaded.').waitFor();
    t.is(readdirSync(join(it.root, 'plugins/pack/deep')).length, 30);

    await page.evaluate(`{
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File(['dropped'], 'dropped.txt'));
    document.body.dispatchEvent(new DragEvent('drop', { dataTransfer, bubbles: true, cancelable: true }));
  }`);
    await page.getByRole('link', { name: 'dropped.txt' }).first().waitFor();
    const held = Promise.withResolvers<void>();
    await page.route('**/file:upload?**', async (route) => {
      await held.promise;
      await route.continue();
    });
    await dropFolder(page, join(folder, 'pack/deep'));
    await page.getByRole('progressbar', { name: 'Upload' }).waitFor();
    await page.getByText('0 of 30 files').waitFor();
    held.resolve();
    await page.getByRole('link', { name: 'deep' }).first().waitFor();
    await page.getByText('30 files uploaded.').waitFor();
    t.is(readdirSync(join(it.root, 'plugins/deep')).length, 30);
    t.is(readFileSync(join(it.root, 'plugins/dropped.txt'), 'utf8'), 'dropped');
    t.deepEqual(
      complaints.filter((each) => !each.includes('409')),
      [],
    );
  },
);

test.runIf(isHere('chromium'))(
  'dropping a folder uploads its readable files and reports an unreadable file and an empty folder',
  async (t) => {
    const it = await castle(t);
    const { page, complaints } = await it.open(`${AT}?path=plugins`);
    await page.evaluate(`{
    const file = (path, read) => ({ isFile: true, fullPath: path, file: read });
    const folder = (path, ...entries) => {
      const parts = [entries, []];
      return { isFile: false, fullPath: path, createReader: () => ({ readEntries: (found) => found(parts.shift() ?? []) }) };
    };
    const dropped = folder(
      '/pack',
      file('/pack/gone.txt', (found, failed) => failed(new DOMException('gone', 'NotFoundError'))),
      folder('/pack/nothing'),
      file('/pack/there.txt', (found) => found(new File(['there'], 'there.txt'))),
    );
    DataTransferItem.prototype.webkitGetAsEntry = () => dropped;
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File([''], 'pack'));
    document.body.dispatchEvent(new DragEvent('drop', { dataTransfer, bubbles: true, cancelable: true }));
  }`);
    await page.getByText('1 file uploaded.').waitFor();
    await page.getByText('pack/gone.txt: The file could not be read.').waitFor();
    await page.getByText('pack/nothing: The folder is empty and was not created.').waitFor();
    t.is(readFileSync(join(it.root, 'plugins/pack/there.txt'), 'utf8'), 'there');
    t.deepEqual(complaints, []);
  },
);

/** Drops a folder through the DevTools protocol. Drop events created by a script cannot contain folders. */
async function dropFolder(page: Page, folder: string): Promise<void> {
  const session = await page.context().newCDPSession(page);
  const data = { items: [], files: [folder], dragOperationsMask: 1 };
  for (const type of ['dragEnter', 'dragOver', 'drop'] as const) {
    await session.send('Input.dispatchDragEvent', { type, x: 200, y: 200, data });
  }
}

test.runIf(isHere('chromium'))('a file can be selected and deleted in place by keyboard alone', async (t) => {
  const it = await castle(t);
  const { page } = await it.open(`${AT}?path=plugins`);
  await page.getByLabel('Select config.yml').focus();
  await page.keyboard.press('Space');
  await page.locator('summary', { hasText: 'Delete…' }).focus();
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Delete selected' }).focus();
  await page.keyboard.press('Enter');
  await page.getByText('Deleted.').waitFor();
  await page.getByText('This folder is empty.').waitFor();
  t.true(await page.getByRole('button', { name: 'Choose files' }).isVisible(), 'files can still be uploaded');
  t.deepEqual(readdirSync(join(it.root, 'plugins')), []);
});

for (const size of [{ viewport: { width: 1280, height: 800 } }, PHONE]) {
  const { width } = size.viewport;
  test.runIf(isHere('chromium'))(
    `entries are sorted, selected together and downloaded at ${width} pixels`,
    async (t) => {
      const it = await castle(t);
      for (let nth = 1; nth <= 40; nth += 1) writeFileSync(join(it.root, `plugins/jar${nth}.txt`), 'x'.repeat(nth));
      const { page, complaints } = await it.open(`${AT}?path=plugins`, size);
      const bar = page.locator('.ticked');
      t.false(await bar.isVisible());
      await page.getByRole('link', { name: 'Size', exact: true }).click();
      await page.locator('[aria-sort=descending]').waitFor();
      t.is(await page.locator('[name=name]').first().inputValue(), 'jar40.txt');
      await page.getByLabel('Select jar40.txt').check();
      await page.getByRole('heading', { name: '1 selected' }).waitFor();
      const { y = 0, height = 0 } = (await bar.boundingBox()) ?? {};
      t.true(y + height <= size.viewport.height + 1 && y > 0, `the bar is in sight: ${y}`);
      await accessible(t, page);
      await page.emulateMedia({ colorScheme: 'dark' });
      await legibleInTheDark(t, page);
      await page.getByLabel('Select all on this page').focus();
      await page.keyboard.press('Space');
      await page.getByRole('heading', { name: '41 selected' }).waitFor();
      await page.getByLabel('Select jar39.txt').uncheck();
      await page.getByRole('heading', { name: '40 selected' }).waitFor();
      const scrolled = await page.evaluate('scrollY');
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('button', { name: 'Download', exact: true }).click(),
      ]);
      t.is(download.suggestedFilename(), 'plugins.zip');
      t.is(
        readFileSync(await download.path())
          .subarray(0, 2)
          .toString(),
        'PK',
      );
      t.is(await page.evaluate('scrollY'), scrolled);
      await page.getByRole('heading', { name: '40 selected' }).waitFor();
      if (process.env['SHOT']) await page.screenshot({ path: `/tmp/shot-${width}.png` });
      await page.locator('summary', { hasText: 'Delete…' }).click();
      await page.getByRole('button', { name: 'Delete selected' }).click();
      await page.getByText('Deleted.').waitFor();
      t.deepEqual(readdirSync(join(it.root, 'plugins')), ['jar39.txt']);
      t.false(await bar.isVisible());
      t.deepEqual(complaints, []);
    },
  );
}

for (const size of [{ viewport: { width: 1280, height: 800 } }, PHONE]) {
  const { width } = size.viewport;
  test.runIf(isHere('chromium'))(
    `a search finds files in subfolders, and folder sizes are shown on request, at ${width} pixels`,
    async (t) => {
      const it = await castle(t);
      mkdirSync(join(it.root, 'world/data/a-folder-with-a-long-name'), { recursive: true });
      writeFileSync(join(it.root, 'world/data/a-folder-with-a-long-name/config-of-the-world.yml'), 'x'.repeat(3_000));
      const { page, complaints } = await it.open(AT, size);
      await page.getByLabel('Search by name').fill('CONFIG');
      await page.getByRole('button', { name: 'Find' }).click();
      await page.getByLabel('Select plugins/config.yml').waitFor();
      t.is(await page.locator('.entries tbody tr').count(), 2);
      t.true(await page.getByLabel('Subfolders too').isChecked());
      const overflow = 'document.documentElement.scrollWidth - innerWidth';
      t.is(await page.evaluate(overflow), 0);
      if (process.env['SHOT']) await page.screenshot({ path: `/tmp/files-search-${width}.png` });
      await accessible(t, page);
      await page.getByRole('link', { name: 'config-of-the-world.yml', exact: true }).click();
      await page.getByRole('button', { name: 'Save' }).waitFor();
      await page.goBack();
      await page.getByRole('link', { name: 'world/data/a-folder-with-a-long-name', exact: true }).click();
      await page.getByLabel('Select config-of-the-world.yml').waitFor();
      await page.goto(`${it.origin}${AT}`);
      await page.getByRole('link', { name: 'Show folder sizes' }).click();
      await page.locator('tr', { hasText: 'world' }).getByText('2.9 KB').waitFor();
      const refreshed = page.waitForRequest((each) => each.resourceType() === 'fetch' && each.url().includes(AT));
      await page.evaluate("document.dispatchEvent(new CustomEvent('dormouse:refresh'))");
      t.is((await refreshed).url(), `${it.origin}${AT}`, 'live updates do not add up the sizes again');
      if (process.env['SHOT']) await page.screenshot({ path: `/tmp/files-sizes-${width}.png` });
      t.is(await page.evaluate(overflow), 0);
      await accessible(t, page);
      t.deepEqual(complaints, []);
    },
  );
}

for (const javaScriptEnabled of [true, false]) {
  const title = javaScriptEnabled ? 'presses the button next to it' : 'presses no button without JavaScript';
  test.runIf(isHere('chromium'))(`Enter in an action field for selected entries ${title}`, async (t) => {
    const it = await castle(t);
    const { page } = await it.open(`${AT}?path=plugins`, { javaScriptEnabled });
    await page.getByLabel('Select config.yml').focus();
    await page.keyboard.press('Space');
    await page.locator('summary', { hasText: 'Compress…' }).click();
    await page.getByLabel('Archive name').fill('kept.zip');
    await page.keyboard.press('Enter');
    if (!javaScriptEnabled) await page.getByRole('button', { name: 'Pack' }).click();
    await page.getByText(/^(?:Archive created|Creating the archive)/).waitFor();
    await it.until(() => readdirSync(join(it.root, 'plugins')).includes('kept.zip'));
    t.true(readdirSync(join(it.root, 'plugins')).includes('config.yml'));
    if (!javaScriptEnabled) return;
    await page.reload();
    await page.getByLabel('Select kept.zip').check();
    await page.locator('summary', { hasText: 'Move…' }).click();
    await page.getByLabel('Target folder').fill('');
    await page.keyboard.press('Enter');
    await page.getByText('Moved.').waitFor();
    t.true(readdirSync(it.root).includes('kept.zip'));
  });
}

test.runIf(isHere('chromium'))(
  'the highlighting editor saves in place, lets Tab move on, and shows both texts on a conflict',
  async (t) => {
    const it = await castle(t);
    const path = join(it.root, 'plugins/config.yml');
    const { page, complaints } = await it.open(`${AT}/edit?path=plugins/config.yml`);
    await page.locator('.sheet.coloured .key').first().waitFor();
    const area = page.getByLabel('Text', { exact: true });
    await area.fill('enabled: false # <b>\n');
    t.is(await page.locator('[data-layer] .comment').textContent(), '# <b>');
    await area.focus();
    await page.keyboard.press('Tab');
    t.is(await page.evaluate('document.activeElement.textContent.trim()'), 'Save');
    await page.keyboard.press('Control+s');
    await page.getByText('Saved.').waitFor();
    t.is(readFileSync(path, 'utf8'), 'enabled: false # <b>\n');
    await area.fill('mine: 1\n');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved.').waitFor();
    t.is(readFileSync(path, 'utf8'), 'mine: 1\n');

    await page.getByRole('button', { name: 'Start' }).click();
    await area.fill('mine: 2\n');
    await page.getByText('awake', { exact: true }).waitFor();
    t.is(await area.inputValue(), 'mine: 2\n', 'unsaved text is kept');
    writeFileSync(path, 'theirs: yes\n');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('It has changed since you read it').waitFor();
    t.is(await page.getByLabel('Your text').inputValue(), 'mine: 2\n');
    t.is(await page.getByLabel('Current contents').inputValue(), 'theirs: yes\n');
    await page.getByRole('button', { name: 'Overwrite with yours' }).click();
    await page.getByText('Saved.').waitFor();
    t.is(readFileSync(path, 'utf8'), 'mine: 2\n');
    t.deepEqual(
      complaints.filter((each) => !each.includes('409')),
      [],
    );
  },
);

test.runIf(isHere('chromium'))(`the file pages are accessible in dark mode on a phone`, async (t) => {
  const it = await castle(t);
  writeFileSync(join(it.root, `${'long-name-'.repeat(12)}.zip`), 'x');
  for (const [name, text] of [
    ['a.properties', '# x\na=b\nc=1'],
    ['b.json', '{ "a": [1, true, null, "x"] }'],
    ['c.toml', '# x\n[a]\nb = "c"\nd = 1\ne = 2020-01-01\nf = true'],
    ['d.yml', '# x\na: "b"\nc: 1\nd: true\n- null\n&x y: !!str z'],
  ] as const)
    writeFileSync(join(it.root, name), text);
  const { page } = await it.open(AT, { ...PHONE, colorScheme: 'dark' });
  await accessible(t, page);
  await page.getByRole('button', { name: 'Turn SFTP on' }).click();
  await page.locator('.password').waitFor();
  await accessible(t, page);
  for (const name of ['a.properties', 'b.json', 'c.toml', 'd.yml']) {
    await page.goto(`${it.origin}${AT}/edit?path=${name}`);
    await page.locator('.sheet.coloured').waitFor();
    await accessible(t, page);
  }
  await page.goto(`${it.origin}${AT}/item?path=${'long-name-'.repeat(12)}.zip`);
  await page.locator('summary', { hasText: 'Delete…' }).click();
  await accessible(t, page);
});
