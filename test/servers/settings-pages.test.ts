import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32, deflateSync } from 'node:zlib';
import test from 'ava';
import { sandboxVersions } from '../../src/engines/sandbox.ts';
import { closeBrowser } from '../support/browser.ts';
import { isHere } from '../support/needs.ts';
import { PHONE, type PanelUnderTest, accessible, openPanel } from '../support/panel.ts';
import { until } from '../support/until.ts';

test.after.always(closeBrowser);

const TOP = '/servers/castle/settings';

/** Sends a form. Returns the page and the server afterwards. */
async function save(it: PanelUnderTest, form: string, fields: Record<string, string>) {
  const answer = await it.submit(`${TOP}${form}`, fields);
  return { status: answer.status, text: await answer.text(), server: await it.ok('GET', '/v1/servers/castle') };
}

test('name, size and plan can be changed; RAM options show their prices, and stop a running game first', async (t) => {
  const it = await openPanel(t);
  await it.create('castle', { type: 'paper', ramMb: 1_024 });
  const page = await it.get(TOP);
  t.regex(page.text, /<option value="2048"\s*>2 GB: 0\.02 USD an hour, or flat 6\.00 USD for 30 days</);
  t.regex(page.text, /More RAM during a paid period costs the difference/);
  t.regex(page.text, /<option value="1024" selected/);
  const named = await save(it, '/name', { name: 'The Keep', tags: 'survival, friends,, survival' });
  t.like(named.server, { name: 'The Keep', tags: ['survival', 'friends'], ramMb: 1_024 });
  t.regex((await it.get(TOP)).text, /value="survival, friends"/);
  t.regex((await it.get('/servers')).text, /<a class="tag" href="\/servers\?q=friends"/);
  const tooLong = await save(it, '/name', { name: 'The Keep', tags: `a,${'b'.repeat(25)}` });
  t.is(tooLong.status, 400);
  t.regex(tooLong.text, /id="name-tags"[^>]*aria-invalid="true"/);
  t.like((await save(it, '/size', { ramMb: '2048', plan: 'flat' })).server, { ramMb: 2_048, plan: 'flat' });
  const unnamed = await save(it, '/name', { name: ' ' });
  t.is(unnamed.status, 400);
  t.regex(unnamed.text, /id="name-name"[^>]*aria-invalid="true"/);
  await it.command('castle', 'START');
  await it.reach('castle', 'running');
  const awake = await it.get(TOP);
  t.regex(awake.text, /The server stops, which disconnects players, and then starts again/);
  t.regex(awake.text, />\s*Stop and save size and plan\s*</);
  // The page was loaded while the server slept.
  const late = await save(it, '/size', { ramMb: '1024', plan: 'flat' });
  t.is(late.status, 400);
  t.is(late.server['ramMb'], 2_048);
  t.regex(late.text, /<option value="1024" selected/, 'the refused choice stays selected');
  const stopped = await save(it, '/size', { ramMb: '1024', plan: 'flat', stopFirst: 'true' });
  t.like(stopped.server, { ramMb: 1_024, state: 'starting' });
  await it.reach('castle', 'running');
  t.is((await save(it, '/name', { name: 'Awake' })).server['name'], 'Awake');
});

test('options for Java have a form, which keeps a refused entry and says why; the sandbox has none', async (t) => {
  const it = await openPanel(t);
  await it.create('castle', { type: 'paper', ramMb: 1_024 });
  t.regex((await it.get(`${TOP}/game`)).text, /value="default" checked[\s\S]*Aikar/);
  const chosen = { jvmPreset: 'zgc', jvmOptions: '-XX:MaxGCPauseMillis=100' };
  t.like((await save(it, '/game/java', chosen)).server, chosen);
  const wrong = await save(it, '/game/java', { jvmPreset: 'default', jvmOptions: '-Xmx64G' });
  t.is(wrong.status, 400);
  t.regex(wrong.text, /value="-Xmx64G"/);
  t.regex(wrong.text, /sets memory, which the RAM of the server determines/);
  t.like(wrong.server, chosen);
  await it.create('flat', { type: 'sandbox' });
  t.notRegex((await it.get('/servers/flat/settings/game')).text, /jvmOptions/);
});

test('only the owner can delete a server, and only after typing its name', async (t) => {
  const it = await openPanel(t);
  await it.create('castle');
  await it.stranger();
  await it.share('castle', 'member');
  const member = await it.browser('usr_other');
  t.notRegex((await it.get(TOP, member)).text, /Delete the server/);
  t.is((await it.submit(`${TOP}/delete`, { typed: 'castle' }, member)).status, 403);
  await it.share('castle', 'limited');
  t.is((await it.get(TOP, member)).status, 403, 'a limited member cannot open the settings');
  const wrong = await save(it, '/delete', { typed: 'Castle' });
  t.is(wrong.status, 400);
  t.regex(wrong.text, /<details class="confirm" open/);
  const gone = await it.submit(`${TOP}/delete`, { typed: ' castle ' });
  t.is(gone.headers.get('location'), '/servers');
  await it.reach('castle', 'gone');
});

test('a description is previewed before it is saved, and an invalid icon is refused', async (t) => {
  const it = await openPanel(t);
  await it.create('castle');
  const motd = '<#ff8800>Castle\r\n<bold>Build</bold> & play';
  const preview = await save(it, '/description/preview', { motd });
  t.is(preview.status, 200);
  t.regex(preview.text, /<font color="#ff8800">Castle<\/font><br \/>/);
  t.is(preview.server['motd'], '', 'a preview does not save the text');
  t.is((await save(it, '/description/save', { motd })).server['motd'], motd.replace('\r', ''));
  const long = await save(it, '/description/save', { motd: 'a\nb\nc' });
  t.regex(long.text, /id="save-motd-wrong">must have at most 2 lines/);
  t.regex(long.text, />\s*a\nb\nc<\/textarea>/);

  const upload = (icon: Buffer) => {
    const body = new FormData();
    body.set('csrf', it.owner.csrf);
    body.set('icon', new Blob([new Uint8Array(icon)]), 'icon.png');
    const headers = { cookie: it.owner.cookie, origin: it.origin, accept: 'text/html' };
    return fetch(`${it.origin}${TOP}/description/icon`, { method: 'POST', redirect: 'manual', headers, body });
  };
  t.regex(await (await upload(png(128))).text(), /64 × 64 pixels; this one has 128 × 128/);
  t.regex(await (await upload(Buffer.from('GIF89a'))).text(), /must be a PNG/);
  const photo = await upload(Buffer.concat([png(1_024), Buffer.alloc(3_000_000)]));
  t.is(photo.status, 400);
  t.regex(await photo.text(), /id="icon-wrong">must be 64 × 64 pixels; this one has 1024 × 1024</);
  t.regex(
    await (await upload(Buffer.concat([png(64), Buffer.alloc(40_000)]))).text(),
    /id="icon-wrong">may have at most 30 KB; this one has 39 KB</,
  );
  t.is((await upload(Buffer.alloc(9_000_000))).status, 413);
  const broken = { cookie: it.owner.cookie, origin: it.origin, 'content-type': 'multipart/form-data; boundary=a' };
  const sent = { method: 'POST', headers: broken, body: '--b\r\nno form' };
  t.is((await fetch(`${it.origin}${TOP}/description/icon`, sent)).status, 415);
  t.is((await upload(png(64))).status, 303);
  t.deepEqual(await readFile(join(it.dataDir, 'servers/castle/server-icon.png')), png(64));
  t.regex((await it.get(`${TOP}/description`)).text, /<details class="confirm" ?>\s*<summary>Remove the icon…/);
  t.is((await save(it, '/description/icon-remove', {})).status, 303);
  await t.throwsAsync(readFile(join(it.dataDir, 'servers/castle/server-icon.png')), { code: 'ENOENT' });
});

test('the game settings page offers only properties of the version; empty fields fall back to the game’s defaults', async (t) => {
  const it = await openPanel(t);
  await it.create('castle', { type: 'paper', version: '1.21.9', properties: { 'white-list': 'true' } });
  const page = (await it.get(`${TOP}/game`)).text;
  t.regex(page, /id="properties-properties.difficulty"/);
  t.notRegex(page, /properties\.pvp"/, 'pvp is a game rule since 1.21.9');
  const set = { 'properties.difficulty': 'hard', 'properties.view-distance': ' 12 ', 'properties.level-seed': '' };
  const kept = { 'white-list': 'true' };
  const saved = await save(it, '/game/properties', set);
  t.deepEqual(saved.server['properties'], { ...kept, difficulty: 'hard', 'view-distance': '12' });
  const wrong = await save(it, '/game/properties', { 'properties.view-distance': '99' });
  t.is(wrong.status, 400);
  t.regex(wrong.text, /id="properties-properties.view-distance-wrong">must be a whole number from 2 to 32/);
  t.regex(wrong.text, /<details open>\s*<summary>Distance and speed/);
  t.deepEqual((await save(it, '/game/properties', {})).server['properties'], kept);
  t.is((await save(it, '/game/idle', { idleTimeoutMinutes: '25' })).server['idleTimeoutMinutes'], 25);
  t.is((await save(it, '/game/idle', { idleTimeoutMinutes: '99999' })).status, 400);
  const awake = { awakeHours: 'Fri-Sun 18-24', awakeTimeZone: 'Europe/Berlin', ignoredPlayers: 'NPC_*' };
  const never = await save(it, '/game/idle', { idleTimeoutMinutes: '-1', ...awake });
  t.like(never.server, { idleTimeoutMinutes: -1, ...awake });
  const bad = await save(it, '/game/idle', { idleTimeoutMinutes: '-1', ...awake, awakeHours: 'sometimes' });
  t.regex(bad.text, /id="idle-awakeHours-wrong">must be entries such as Fri-Sun 18-24/);
});

test('the version page shows the consequences of a change before it is confirmed', async (t) => {
  const it = await openPanel(t);
  await it.create('castle', { type: 'paper', version: '1.21.7' });
  const look = async (type: string, version: string) =>
    (await it.get(`${TOP}/version?type=${type}&version=${version}`)).text;
  t.notRegex((await it.get(`${TOP}/version`)).text, /version\/change/);
  t.regex(await look('paper', '1.21.8'), /upgrades the world permanently/);
  t.regex(await look('paper', '1.20.4'), /may fail to read the world/);
  t.regex(await look('fabric', '1.21.7'), /plugins are made for one software/);
  t.regex(await look('folia', '1.8'), /folia does not support 1\.8/);
  t.notRegex(await look('folia', '1.8'), /version\/change/);
  t.like((await save(it, '/version/change', { type: 'paper', version: '1.21.8' })).server, { version: '1.21.8' });
  t.is((await save(it, '/version/change', { type: 'nonsense', version: '1.21.8' })).status, 400);
});

test('the version page offers only software that can run here, each with its available versions', async (t) => {
  const it = await openPanel(t);
  await it.create('castle', { type: 'paper', version: '1.21.7' });
  const versionsIn = ({ text }: { text: string }) =>
    [...text.matchAll(/<option value="([\d.]+)"/g)].map(([, version]) => version);
  const page = await it.get(`${TOP}/version`);
  t.regex(page.text, /<a href="\/servers\/castle\/settings\/version\?type=folia#choose" *>Folia<\/a>/);
  t.notRegex(page.text, /type=magma/, 'Magma is discontinued');
  t.deepEqual(versionsIn(page), ['1.21.8', '1.21.7'], 'the versions of Paper');
  const sandbox = await it.get(`${TOP}/version?type=sandbox`);
  t.deepEqual(versionsIn(sandbox), sandboxVersions());
  t.notRegex(sandbox.text, /version\/change/, 'no version is chosen yet');

  const alone = await openPanel(t, { trusted: { refusal: 'Games run as root.' } });
  await alone.create('castle', { type: 'paper', version: '1.21.7' });
  const bare = await alone.get(`${TOP}/version`);
  t.deepEqual(
    [...bare.text.matchAll(/\?type=(\w+)#choose"/g)].map(([, type]) => type),
    ['paper', 'sandbox'],
  );
  t.deepEqual(versionsIn(bare), ['1.21.7'], 'the current version stays listed');
  const typed = (await alone.get(`${TOP}/version?type=folia&version=1.21.8`)).text;
  t.regex(typed, /Folia can’t run here/);
  t.notRegex(typed, /version\/change/);
  await alone.stranger();
  await alone.share('castle', 'member');
  const asMember = await alone.get(`${TOP}/version`, await alone.browser('usr_other'));
  t.regex(asMember.text, /\?type=folia#choose"/, 'the owner’s account decides which software may run');
});

test.runIf(isHere('chromium'))(
  `the server settings are accessible in dark mode on a phone, and a description previews while it is typed`,
  async (t) => {
    const it = await openPanel(t);
    await it.create('castle', { type: 'paper', version: '1.21.7' });
    const { page, complaints } = await it.open(TOP, { ...PHONE, colorScheme: 'dark' });
    await accessible(t, page);
    await page.locator('summary', { hasText: 'Delete' }).click();
    await accessible(t, page);
    await page.getByRole('link', { name: 'Description and icon' }).click();
    await page.getByLabel('Description', { exact: true }).fill('<gold>Come in\nand play');
    await page.locator('#entry font[color="#ffaa00"]', { hasText: 'Come in' }).waitFor();
    await page.getByLabel('Picture').setInputFiles({ name: 'large.png', mimeType: 'image/png', buffer: png(200) });
    // The page scales the picture down to an accepted size.
    await until(() => page.evaluate('document.querySelector("[data-icon]").files[0].name === "server-icon.png"'));
    await page.getByRole('button', { name: 'Upload the icon' }).click();
    const icon = page.getByAltText('The icon now');
    await icon.waitFor();
    // The size is known once the image is decoded.
    const width =
      'document.querySelector("section img.icon").decode().then(() => document.querySelector("section img.icon").naturalWidth)';
    t.is(await page.evaluate(width), 64);
    await accessible(t, page);
    for (const path of ['/game', '/version?type=fabric&version=1.21.8']) {
      await page.goto(`${it.origin}${TOP}${path}`);
      await page.evaluate('document.querySelectorAll("details").forEach((each) => (each.open = true))');
      await accessible(t, page);
    }
    t.deepEqual(complaints, []);
  },
);

/** Returns a grey square as a PNG with valid checksums, which browsers verify. */
function png(pixels: number): Buffer {
  const size = Buffer.alloc(13);
  size.writeUInt32BE(pixels, 0);
  size.writeUInt32BE(pixels, 4);
  size[8] = 8;
  const chunk = (type: string, data: Buffer) => {
    const body = Buffer.concat([Buffer.from(type), data]);
    const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
    length.writeUInt32BE(data.length);
    sum.writeUInt32BE(crc32(body));
    return Buffer.concat([length, body, sum]);
  };
  const rows = Buffer.alloc(pixels * (pixels + 1), 0);
  return Buffer.concat([
    Buffer.from('89504e470d0a1a0a', 'hex'),
    chunk('IHDR', size),
    chunk('IDAT', deflateSync(rows)),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

for (const width of [1280, 390]) {
  test.runIf(isHere('chromium'))(
    `at ${width} px, without scripts: a server never sleeps, or stays awake at certain hours, and a wrong hour keeps the input`,
    async (t) => {
      const it = await openPanel(t);
      await it.create('castle');
      const viewport = { width, height: 844 };
      const { page } = await it.open(`${TOP}/game`, { viewport, javaScriptEnabled: false });
      const card = page.locator('section', { has: page.getByRole('heading', { name: 'Automatic sleep' }) });
      const [minutes, hours] = [card.getByLabel('Minutes without players'), card.getByLabel('Awake hours')];
      const press = () => card.getByRole('button', { name: 'Save' }).click();
      const server = () => it.ok('GET', '/v1/servers/castle');
      await minutes.fill('-1');
      await press();
      await page.getByText('Saved.').waitFor();
      t.like(await server(), { idleTimeoutMinutes: -1, awakeHours: '' });
      t.is(await minutes.inputValue(), '-1');
      await minutes.fill('20');
      await hours.fill('at night');
      await card.getByLabel('Time zone of these hours').fill('Europe/Berlin');
      await press();
      await card.getByText('must be entries such as Fri-Sun 18-24').waitFor();
      t.deepEqual([await minutes.inputValue(), await hours.inputValue()], ['20', 'at night']);
      t.like(await server(), { idleTimeoutMinutes: -1 }, 'nothing of a wrong form is saved');
      await hours.fill('Fri-Sun 18-24');
      await press();
      await page.getByText('Saved.').waitFor();
      t.like(await server(), {
        idleTimeoutMinutes: 20,
        awakeHours: 'Fri-Sun 18-24',
        awakeTimeZone: 'Europe/Berlin',
      });
    },
  );
}
