import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { insertSample } from '../../src/insight/metric-rows.ts';
import { createMojangProfiles } from '../../src/players/mojang.ts';
import { fakeClock } from '../fakes/clock.ts';
import { modService } from '../mods/bench.ts';
import { accounts } from '../support/accounts.ts';
import { plant } from '../support/tree.ts';
import { commandsAt } from './in-process.ts';
import { newProgram } from './program.ts';

test('the backups commands create, list, lock, restore after confirmation, undo, download and delete backups', async (t) => {
  const { says, refuses, run, ok, create, home } = await commandsAt(t);
  await create('castle');
  const write = (content: string) =>
    ok('POST', '/v1/servers/castle/file', { path: 'notes.txt', content: Buffer.from(content).toString('base64') });
  const notes = async () =>
    Buffer.from(String((await ok('GET', '/v1/servers/castle/file?path=notes.txt'))['content']), 'base64').toString();

  await says(['backups', 'castle'], /^No backups yet\. .*dormouse backups make castle\n$/);
  await refuses(['backups', 'restore', 'castle', 'latest', '-y'], /no such backup.*dormouse backups castle/);
  await refuses(['backups', 'undo', 'castle', '-y'], /no restore to undo/);
  await write('before');
  await says(['backups', 'make', 'castle'], /^Backup \w+ of castle is ready: .*\.\n$/);
  await write('after');
  await says(
    ['backups', 'list', 'castle'],
    /^NO +CREATED +SIZE +KIND +SOFTWARE +STATE +ID\n1 +.* ago +\d+ bytes +manual +\w+ [\d.]+ +ready +\w+\n\nKept: the last 10 and one for each of the last /,
  );
  await says(['backups', 'lock', 'castle', '1'], /is locked/);
  await says(['backups', 'castle'], /ready, locked/);
  await refuses(['backups', 'delete', 'castle', 'latest', '--yes'], /locked/);
  await says(['backups', 'unlock', 'castle', 'latest'], /no longer locked/);

  await refuses(['backups', 'restore', 'castle', 'latest'], /all files of castle[^]*Cancelled/, 1, 'n\n');
  t.is(await notes(), 'after');
  await says(['backups', 'restore', 'castle', 'latest'], /^castle is restored\..*backups undo castle\n$/, 'yes\n');
  t.is(await notes(), 'before');
  await says(['backups', 'undo', 'castle', '--yes'], /^Undid the restore of castle\.\n$/);
  t.is(await notes(), 'after');

  const file = join(home, 'castle.tar.zst');
  const { backups } = (await ok('GET', '/v1/servers/castle/backups')) as { backups: { id: string; sha256: string }[] };
  await says(
    ['backups', 'download', 'castle', backups[0]?.id ?? '', file],
    /^Saved .*castle\.tar\.zst: .*, checksum verified\.\n$/,
  );
  t.is(
    createHash('sha256')
      .update(await readFile(file))
      .digest('hex'),
    backups[0]?.sha256 ?? '',
  );
  await refuses(['backups', 'download', 'castle', '1', file], /already exists.*--force/);
  t.false(existsSync(`${file}.part`));
  await says(
    ['backups', 'retention', 'castle', '--last', '3', '--daily=0'],
    /^Kept: the last 3 and one for each of the last /,
  );
  t.like(JSON.parse((await run(['backups', 'retention', 'castle', '--json'])).out), { keepLast: 3, daily: 0 });
  await says(['backups', 'delete', 'castle', 'latest'], /^Deleted\./, 'y\n');
});

test('the worlds commands list sizes, choose the next world, delete one, and reset the active one after a backup', async (t) => {
  const { says, refuses, create, dataDir } = await commandsAt(t);
  await create('castle');
  await says(['worlds', 'castle'], /^WORLD +SIZE\nworld +0 bytes +created at the next start\n$/);
  await plant(join(dataDir, 'servers/castle'), { 'world/level.dat': '12345', 'skyblock/level.dat': 'sky' });
  await says(['worlds', 'castle'], /^WORLD +SIZE\nskyblock +3 bytes\nworld +5 bytes +used at the next start\n$/);
  await says(['worlds', 'use', 'castle', 'skyblock'], /castle will use skyblock from its next start/);
  await refuses(['worlds', 'delete', 'castle', 'world'], /permanently[^]*Cancelled/);
  await says(['worlds', 'delete', 'castle', 'world', '-y'], /^Deleted world\. castle has 1 world left\.\n$/);
  await says(['worlds', 'reset', 'castle', '--yes'], /creates a new world/);
  await says(['backups', 'castle'], /reset +.*ready/);
});

test('the players commands manage the whitelist, operators and bans of names and addresses', async (t) => {
  const { url: apiUrl } = await accounts(t, ['Steve', 'Alex']);
  const profiles = createMojangProfiles(apiUrl, fakeClock());
  const { says, refuses, create } = await commandsAt(t, { profiles });
  await create('castle', { type: 'paper' });
  await says(
    ['players', 'castle'],
    /^online +no players: the server is asleep\nwhitelist +off: none\noperators +none\nbanned +none\n$/,
  );
  await says(['players', 'allow', 'castle', 'Steve'], /^Steve is on the whitelist of castle\.\n$/);
  await says(['players', 'whitelist', 'castle', 'on'], /is on, with 1 player\./);
  await refuses(['players', 'whitelist', 'castle', 'yes'], /on or off/, 2);
  await says(['players', 'op', 'castle', 'Steve'], /operator of castle/);
  const words = ['players', 'ban', 'castle', 'Alex', '--until', '2099-12-24', '--reason', 'Broke the bridge'];
  await says(words, /^Alex is banned from castle until 2099-12-24 /);
  await says(['players', 'ban', 'castle', '192.0.2.7'], /^192\.0\.2\.7 is banned from castle\.\n$/);
  await refuses(['players', 'ban', 'castle', 'Steve', '--for', 'ever'], /--for must look like/, 2);
  await says(
    ['players', 'list', 'castle'],
    /whitelist +on: Steve\noperators +Steve\nbanned +Alex, until 2099-12-24 [^\n]*: Broke the bridge\n +192\.0\.2\.7(?:: .*)?\n$/,
  );
  await says(['players', 'pardon', 'castle', 'Alex'], /can join castle again/);
  await says(['players', 'pardon', 'castle', '192.0.2.7'], /can join/);
  await says(['players', 'deop', 'castle', 'Steve'], /no longer an operator/);
  await says(['players', 'disallow', 'castle', 'Steve'], /no longer on the whitelist/);
  await says(['players', 'castle'], /whitelist +on: none\noperators +none\nbanned +none\n$/);
  await refuses(['players', 'kick', 'castle', 'Steve'], /./);
});

test('the mods commands search, add with dependencies, preview and apply updates, and remove', async (t) => {
  const { registry, options } = await modService(t);
  const { says, refuses, create } = await commandsAt(t, options);
  await create('castle', { type: 'fabric', version: '1.21.1' });
  registry.project('FabricApi', [{ id: 'fa1' }]);
  registry.project('Lithium', [{ id: 'l1', requires: [{ project_id: 'FabricApi' }] }]);
  await says(['mods', 'castle'], /^No mods yet/);
  await says(['mods', 'search', 'lith', '--server', 'castle', '--kind=mod'], /^NAME +KIND +DOWNLOADS\n.*mod +[\d,]+/);
  t.regex(registry.asked.find((each) => each.includes('/search')) ?? '', /fabric.*1\.21\.1/);
  await says(['mods', 'add', 'castle', 'Lithium', '--dry-run'], /Lithium +— +→ +l1\nFabricApi +— +→ +fa1/);
  await says(['mods', 'castle'], /^No mods yet/);
  await says(['mods', 'add', 'castle', 'Lithium'], /^Added Lithium to castle\. /);
  await says(['mods', 'castle'], /FabricApi +fa1 .*dependency/);
  registry.project('Lithium', [{ id: 'l2' }]);
  await says(['mods', 'update', 'castle', '--dry-run'], /Lithium +l1 +→ +l2/);
  await says(['mods', 'update', 'castle', 'Lithium'], /Lithium +l1 +→ +l2/);
  await says(['mods', 'update', 'castle'], /^No updates available/);
  await refuses(['mods', 'remove', 'castle', 'nothing'], /./);
  await says(['mods', 'remove', 'castle', 'Lithium'], /^Removed Lithium/);
  await says(['mods', 'castle'], /^No mods yet/);
});

test('the sftp, ports, database, members, schedules and templates commands work end to end', async (t) => {
  const { says, refuses, create, clock } = await commandsAt(t);
  await create('castle');

  await says(['sftp', 'castle'], /^SFTP is off for castle/);
  await says(
    ['sftp', 'enable', 'castle'],
    /^host .*\nuser +castle\.\w+\npassword +\S+ {2}\(shown only now\)\n\n {2}sftp -P \d+ castle\.\w+@/,
  );
  await says(['sftp', 'show', 'castle'], /^address +sftp -P .*\nsessions +0 open sessions\nhost key +SHA256:/);
  await says(['sftp', 'rotate', 'castle'], /password/);
  await says(['sftp', 'disable', 'castle'], /is off/);

  await says(['ports', 'castle'], /^castle has no extra ports/);
  await says(
    ['ports', 'add', 'castle', '24454/udp', '--label', 'voice chat'],
    /^SLOT +LABEL .*\n0 +voice chat +24454\/udp +castle\.play\.example:\d+\n$/,
  );
  await refuses(['ports', 'add', 'castle', 'x'], /A port must look like 24454\/udp/, 2);
  await says(['ports', 'remove', 'castle', '0'], /no extra ports/);

  await says(['database', 'castle'], /^castle has no database\. .*database create castle/);
  await says(['database', 'create', 'castle'], /^host +.*\ndatabase +\w+\nuser +\w+\npassword +\S+\n$/);
  await says(['database', 'rotate', 'castle'], /password/);
  await says(['database', 'drop', 'castle'], /Deleted the database/, 'y\n');

  await says(['members', 'castle'], /^No members/);
  await says(
    ['members', 'invite', 'castle', 'Alex@Example.com', '--role', 'limited'],
    /Invited alex@example\.com to castle as limited/i,
  );
  await says(['members', 'castle'], /alex@example\.com +limited +invited\n/i);
  await says(['members', 'role', 'castle', 'alex@example.com', 'member'], /now has the role member on castle/);
  await refuses(['members', 'remove', 'castle', 'alx@example.com'], /Did you mean alex@example\.com\?/i);
  await says(['members', 'remove', 'castle', 'alex@example.com'], /no longer has access to castle/);

  await says(['schedules', 'castle'], /^No schedules yet/);
  await says(['schedules', 'add', 'castle', 'backup', 'daily'], /^backup: first run .*\.\n$/);
  await clock.advance(1000);
  await says(
    ['schedules', 'add', 'castle', 'command', '0 18 * * 5', 'say', '--hello', 'there'],
    /^command: say --hello there: /,
  );
  // Schedules of the same instant are in the order of their random ids.
  await clock.advance(1000);
  await says(['schedules', 'add', '--warn', '5m', 'castle', 'stop', 'daily'], /^stop: first run /);
  await says(['schedules', 'castle'], /warns players 300 s before/);
  await says(['schedules', 'delete', 'castle', '3'], /Deleted schedule 3/);
  await says(['schedules', 'add', '--when-empty', 'castle', 'stop', 'daily'], /^stop: first run /);
  await says(['schedules', 'castle'], /only if no one is online/);
  await says(['schedules', 'delete', 'castle', '3'], /Deleted schedule 3/);
  await says(['schedules', 'add', 'castle', 'backup', '@sleep'], /^backup: first run at its next sleep\.\n$/);
  await clock.advance(1000);
  await says(['schedules', 'add', 'castle', 'restart', '@play 6h'], /^restart: first run after 6 h 0 min of play\.\n$/);
  await says(['schedules', 'castle'], /at each sleep +at its next sleep[^]*every 6 h of play +after 6 h 0 min of play/);
  await says(['schedules', 'delete', 'castle', '4'], /Deleted schedule 4/);
  await says(['schedules', 'delete', 'castle', '3'], /Deleted schedule 3/);
  await refuses(['schedules', 'add', 'castle', 'bakup', 'daily'], /Did you mean backup\?/, 2);
  await says(['schedules', 'off', 'castle', '1'], /^backup: off\.\n$/);
  await says(['schedules', 'on', 'castle', '1'], /^backup: next run /);
  await says(['schedules', 'run', 'castle', '2'], /skipped/);
  await says(
    ['schedules', 'castle'],
    /^NO +TASK +WHEN.*\n1 +backup +0 4 \* \* \*.*\n2 +command: say --hello there .* skipped, /,
  );
  await says(['schedules', 'delete', 'castle', '2'], /Deleted schedule 2/);
  await refuses(['schedules', 'delete', 'castle', '2'], /has no schedule 2/);

  await says(['templates'], /^ID +NAME +SOFTWARE +MEMORY/);
  const made = await says(['templates', 'create', 'castle', 'My kind'], /templates use \w+ "My Server"/);
  const id = /templates use (\w+)/.exec(made)?.[1] ?? '';
  await says(['templates', 'use', id, 'Tower', '--ram', '2G'], /^Created tower: sandbox .*, 2 GB\.\n/);
  await refuses(['templates', 'use', id, 'Barn', '--region', 'moon'], /region +is not a region/);
  await says(['templates', 'delete', id], /Deleted the template/);
});

test('metrics shows current and per-minute readings of a server, and regions lists the regions', async (t) => {
  const it = await commandsAt(t);
  const { says, refuses, create, store, clock } = it;
  await says(['regions'], /^REGION +NAME +STATE +AWAKE +MEMORY +DISK FREE\n\w+ +.* available +0 +/);
  await create('castle', { type: 'vanilla', version: '1.20.2' });
  await says(['metrics', 'castle'], /^No current readings of castle\.\n$/);
  await says(['metrics', 'castle', '--last', '5'], /^No readings of castle in the last 24 hours\.\n$/);
  await refuses(['metrics', 'castle', '--last', '1441'], /--last must be a whole number from 0 to 1440/, 2);
  await store.write(async (tx) => {
    for (const n of [3, 2, 1])
      await insertSample(tx, 'castle', { at: clock.now() - n * 60_000, figures: [12.5, 700, 2048, 3.14, 20, n] });
  });
  await says(
    ['metrics', 'castle', '-n', '2'],
    /^WHEN +CPU +MEMORY +TPS +MS PER TICK +PLAYERS\n.*12\.5 % +700 MB of 2 GB +20 +3\.1 +2\n.* 1\n$/,
  );
  await it.command('castle', 'START');
  await it.reach('castle', 'running');
  await clock.advance(60_000);
  await it.until(async () => (await it.run(['metrics', 'castle'])).out.startsWith('cpu'));
  await says(
    ['metrics', 'castle'],
    /^cpu +.*\nmemory +.* of .*\nticks +not available: the game does not report them\nplayers +\d/,
  );
});

test('a failed modpack install names the command that retries it', async (t) => {
  const { says, refuses, ok, engine, reach } = await commandsAt(t);
  engine.script('pack', { exitCode: 1 });
  await says(
    ['create', 'Pack', '--type', 'fabric', '--ram', '2G', '--pack', 'cobblemon'],
    /^Created pack: fabric[^]*is being installed/,
  );
  await reach('pack', 'install_failed');
  t.like(await ok('GET', '/v1/servers/pack'), { modpackPlatform: 'modrinth', modpackRef: 'cobblemon' });
  await refuses(['install-retry', 'pack', '--wait'], /pack is not installed: [^]*Retry with: .*install-retry pack\n/);
  engine.script('pack', { exitCode: 0 });
  await says(['install-retry', 'pack', '--wait'], /^pack is asleep\. /);
  await refuses(['install-retry', 'pack'], /./);
});

test('the events command prints a server’s events as they happen', async (t) => {
  const service = await commandsAt(t);
  await service.create('castle');
  const program = await newProgram(t, service.origin);
  const env = { DORMOUSE_KEY: service.key };
  const [shown, lines] = [[], ['--json']].map((more) => program.start(['events', 'castle', ...more], { env }));
  await shown?.says(/T[\d:]{8} {2}state {5}state asleep, .*quota /);
  await service.command('castle', 'START');
  await shown?.says(/ {2}state {5}state running/);
  await lines?.says(/\{"event":"state",[^\n]*"state":"running"/);
  shown?.child.kill('SIGINT');
  lines?.child.kill('SIGINT');
  t.is((await shown?.ended)?.code, 130);
  const { out = '' } = (await lines?.ended) ?? {};
  for (const line of out.trim().split('\n')) t.truthy((JSON.parse(line) as { event?: string }).event);
});
