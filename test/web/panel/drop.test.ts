import { mkdir, readFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { closeBrowser } from '../../support/browser.ts';
import { isHere } from '../../support/needs.ts';
import { tarOf } from '../../support/server-archive.ts';
import { PHONE, accessible, legibleInTheDark, openPanel } from '../../support/panel.ts';

test.after.always(closeBrowser);

/** A script that drops a program, a picture of 2 × 1 pixels and a text on the page, or else an archive. */
function drop(archive?: Buffer): string {
  return `(async () => {
    const canvas = new OffscreenCanvas(2, 1);
    canvas.getContext('2d').fillRect(0, 0, 2, 1);
    const picture = new File([await canvas.convertToBlob()], 'cat.png', { type: 'image/png' });
    const packed = Uint8Array.from(atob('${archive?.toString('base64') ?? ''}'), (each) => each.charCodeAt(0));
    const files = packed.length > 0
      ? [new File([packed], 'island.tar')]
      : [new File(['PK plugin'], 'Warps.jar'), picture, new File(['hi'], 'notes.txt')];
    const dataTransfer = new DataTransfer();
    for (const file of files) dataTransfer.items.add(file);
    const main = document.getElementById('main');
    const isTaken = !main.dispatchEvent(new DragEvent('dragover', { dataTransfer, bubbles: true, cancelable: true }));
    main.dispatchEvent(new DragEvent('drop', { dataTransfer, bubbles: true, cancelable: true }));
    return isTaken;
  })()`;
}

test.runIf(isHere('chromium'))(
  'files dropped on a page of a server are recognised, placed, and removed again',
  async (t) => {
    const it = await openPanel(t);
    await it.create('castle', { type: 'paper', version: '1.21.1' });
    const folder = join(it.dataDir, 'servers', 'castle');
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, 'notes.txt'), 'before');
    const { page, complaints } = await it.open('/servers/castle/players');
    t.true(await page.evaluate(drop()));
    const dialog = page.getByRole('dialog', { name: 'Dropped files' });
    await dialog.waitFor();
    await accessible(t, page);

    await page.getByRole('button', { name: 'Add it to plugins' }).click();
    await page.getByText('plugins/Warps.jar is in place.').waitFor();
    t.is(await readFile(join(folder, 'plugins', 'Warps.jar'), 'utf8'), 'PK plugin');
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByText('plugins/Warps.jar is removed.').waitFor();
    t.deepEqual(await readdir(join(folder, 'plugins')), []);

    await page.getByRole('button', { name: 'Use it as the server’s icon' }).click();
    await page.getByText('server-icon.png is in place.').waitFor();
    const icon = await readFile(join(folder, 'server-icon.png'));
    t.deepEqual([icon.readUInt32BE(16), icon.readUInt32BE(20)], [64, 64], 'width and height');

    await page.getByRole('button', { name: 'Put it into the server’s folder' }).last().click();
    await page.getByText('notes.txt already exists.').waitFor();
    t.is(await readFile(join(folder, 'notes.txt'), 'utf8'), 'before');
    await page.getByRole('button', { name: 'Replace' }).click();
    await page.getByText('notes.txt is replaced.').waitFor();
    t.is(await readFile(join(folder, 'notes.txt'), 'utf8'), 'hi');
    await page.keyboard.press('Escape');
    t.false(await dialog.isVisible());
    t.deepEqual(
      complaints.filter((each) => !each.includes('409')),
      [],
      'the conflict alone',
    );
  },
);

test.runIf(isHere('chromium'))(
  'the list of dropped files fits a phone in the dark, and is not for limited members',
  async (t) => {
    const it = await openPanel(t);
    await it.create('castle');
    await it.stranger();
    await it.share('castle', 'limited');
    t.notRegex((await it.get('/servers/castle', await it.browser('usr_other'))).text, /data-drop/);
    const { page, complaints } = await it.open('/servers/castle', { ...PHONE, colorScheme: 'dark' });
    t.true(await page.evaluate(drop()));
    await page.getByRole('dialog', { name: 'Dropped files' }).waitFor();
    t.is(await page.getByRole('button', { name: 'Add it to' }).count(), 0, 'the sandbox loads no plugins');
    await accessible(t, page);
    await legibleInTheDark(t, page);
    t.true(await page.evaluate('document.querySelector("dialog").scrollWidth <= innerWidth'));
    t.deepEqual(complaints, []);
  },
);

test.runIf(isHere('chromium'))('an archive dropped on a page of a server becomes a world of it', async (t) => {
  const it = await openPanel(t);
  await it.create('castle');
  const { page, complaints } = await it.open('/servers/castle/backups');
  t.true(await page.evaluate(drop(tarOf({ 'island/level.dat': 'level' }))));
  await page.getByRole('button', { name: 'Add its world to this server' }).click();
  await page.waitForURL('**/servers/castle/worlds?import=imp_*');
  t.is(await page.getByLabel('Name of the world').inputValue(), 'island');
  t.deepEqual(complaints, []);
});
