import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import test from 'ava';
import { javaArchive, standIn } from '../support/core-sources.ts';
import { startService } from '../support/service.ts';
import { until } from '../support/until.ts';

/** A Java whose games are ready at once, listen on their port and end with SIGTERM. Builds 661 and 9 fail to start. */
const JAVA = String.raw`#!/usr/bin/perl
use IO::Socket::INET;
$| = 1;
$SIG{TERM} = sub { exit 0 };
open(my $file, '<', 'server.properties') or die;
my $port; while (<$file>) { $port = $1 if /^server-port=(\d+)/ }
my $server = IO::Socket::INET->new(LocalAddr => '127.0.0.1', LocalPort => $port, Listen => 5, ReuseAddr => 1) or die;
print "[12:00:00 INFO]: Runs $ARGV[-2]\n";
if ($ARGV[-2] =~ m{-(?:661|9)/}) { print "[12:00:00 ERROR]: Encountered an unexpected exception\n"; exit 1 }
print "[12:00:00 INFO]: Done (0.1s)! For help, type \"help\"\n";
while (1) { my $client = $server->accept() or next; close($client) }
`;

test('without Docker and Java, a Paper server downloads both, survives a kill meanwhile, and keeps its build', async (t) => {
  const from = await standIn(t);
  const archive = await javaArchive(21, JAVA, [{ name: 'jdk/lib/modules', text: 'x'.repeat(100_000) }]);
  from.java(21, archive);
  from.paper('paper', '1.21.8', [{ build: '59' }, { build: '60' }]);
  const half = archive.subarray(0, archive.length / 2);
  // The rest never arrives.
  from.disturb('/java/', (reply) => void reply.writeHead(200, { 'content-length': archive.length }).write(half));
  const settings = {
    MINECRAFT_EULA: 'accept',
    JAVA_HOMES: '/no/such/folder',
    ADOPTIUM_URL: from.url,
    PAPER_URL: from.url,
  };
  const it = await startService(t, settings);
  const { id } = await it.call('POST', '/v1/servers', {
    name: 'Paper',
    type: 'paper',
    version: '1.21.8',
    ramMb: 1_024,
  });
  await it.call('POST', `/v1/servers/${id}:start`);
  const server = async () => await it.call<Record<string, unknown>>('GET', `/v1/servers/${id}`);
  await until(async () => ((await server())['startupPercent'] as number) > 0);
  t.like(await server(), { state: 'starting', startupPhase: 'downloading', startupItem: 'Java 21' });
  await it.kill();
  await it.start();
  await it.reach(id, 'running');
  t.true(
    from.asked.some(({ range }) => range === `bytes=${half.length}-`),
    'the second service continues',
  );
  const noted = async () => await readFile(join(it.dataDir, 'servers', id, '.dormouse-build.json'), 'utf8');
  t.like(JSON.parse(await until(async () => await noted().catch(() => undefined))), { type: 'paper', build: '60' });

  from.paper('paper', '1.21.8', [{ build: '60' }, { build: '61' }]);
  const again = async () => {
    await it.call('POST', `/v1/servers/${id}:stop`);
    await it.reach(id, 'hibernated');
  };
  await again();
  await it.call('POST', `/v1/servers/${id}:start`);
  await it.reach(id, 'running');
  t.like(JSON.parse(await noted()), { build: '60' });
  await again();
  await it.call('POST', `/v1/servers/${id}:updateVersion`, { version: '1.21.8' });
  await it.call('POST', `/v1/servers/${id}:start`);
  await it.reach(id, 'running');
  t.like(JSON.parse(await until(async () => await noted().catch(() => undefined))), { build: '61' });
});

test('a failed build is taken back by itself, and a failed version by restoring the backup from before it', async (t) => {
  const from = await standIn(t);
  from.java(21, await javaArchive(21, JAVA, []));
  from.paper('paper', '1.21.8', [{ build: '660' }]);
  from.paper('paper', '1.21.11', [{ build: '9' }]);
  const it = await startService(t, {
    MINECRAFT_EULA: 'accept',
    JAVA_HOMES: '/no/such/folder',
    ADOPTIUM_URL: from.url,
    PAPER_URL: from.url,
  });
  const { id } = await it.call('POST', '/v1/servers', {
    name: 'Paper',
    type: 'paper',
    version: '1.21.8',
    ramMb: 1_024,
  });
  const at = `/v1/servers/${id}`;
  const server = async () => await it.call<{ update: Update | null } & Record<string, unknown>>('GET', at);
  const wake = async (state: string) => {
    await it.call('POST', `${at}:start`);
    await it.reach(id, state);
  };
  const sleep = async () => {
    await it.call('POST', `${at}:stop`);
    await it.reach(id, 'hibernated');
  };
  await wake('running');
  const level = join(it.dataDir, 'servers', id, 'world/level.dat');
  await mkdir(dirname(level), { recursive: true });
  await writeFile(level, 'played');
  await it.call('POST', `${at}:update`, { builds: 'latest-when-asleep' });
  from.paper('paper', '1.21.8', [{ build: '660' }, { build: '661' }]);
  await sleep();
  await until(async () => (await server()).update?.to.build === '661');
  const asked = from.count('661');
  t.true(asked > 0);
  await wake('running');
  t.is(from.count('661'), asked, 'it was downloaded while the server slept');
  t.like(await server(), { refusedBuild: '661', update: null });
  await sleep();

  const { update } = await it.call<{ update: Update }>('POST', `${at}:updateVersion`, { version: '1.21.11' });
  t.like(update, { from: { version: '1.21.8', build: '660' }, to: { version: '1.21.11', build: '9' } });
  await writeFile(level, 'upgraded');
  await wake('start_failed');
  await it.call('POST', `${at}/backups/${update.backupId}:restore`);
  t.like(await server(), { state: 'hibernated', version: '1.21.8', update: null });
  t.is(await readFile(level, 'utf8'), 'played');
  await wake('running');
  t.like(JSON.parse(await readFile(join(it.dataDir, 'servers', id, '.dormouse-build.json'), 'utf8')), { build: '660' });
});

/** A Velocity that listens at the port of its command line, at the address of velocity.toml. */
const PROXY = String.raw`#!/usr/bin/perl
use IO::Socket::INET;
$| = 1;
$SIG{TERM} = sub { exit 0 };
die "a game" if -e 'server.properties' || -e 'eula.txt' || $ARGV[-2] ne '--port';
open(my $file, '<', 'velocity.toml') or die;
my $host; while (<$file>) { $host = $1 if /^bind = "([\d.]+):/ }
my $server = IO::Socket::INET->new(LocalAddr => $host, LocalPort => $ARGV[-1], Listen => 5, ReuseAddr => 1) or die;
print "[12:00:00 INFO]: Booting up Velocity 3.4.0-SNAPSHOT...\n[12:00:00 INFO]: Done (0.42s)!\n";
while (1) { my $client = $server->accept() or next; close($client) }
`;

test('a Velocity is downloaded, lists its backends at each start, and sleeps', async (t) => {
  const from = await standIn(t);
  from.java(21, await javaArchive(21, PROXY, []));
  from.paper('velocity', '3.4.0-SNAPSHOT', [{ build: '551' }]);
  const it = await startService(t, { JAVA_HOMES: '/no/such/folder', ADOPTIUM_URL: from.url, PAPER_URL: from.url });
  const { cores } = await it.call<{ cores: { type: string; unavailable: string }[] }>('GET', '/v1/minecraft/versions');
  t.is(cores.find(({ type }) => type === 'velocity')?.unavailable, '');
  const wanted = { name: 'Front', type: 'velocity', version: '3.4.0-SNAPSHOT', ramMb: 512 };
  const { id } = await it.call('POST', '/v1/servers', wanted);
  await it.create('castle', '1.20.4');
  const { network } = await it.call<{ network: { address: string } }>('POST', '/v1/servers/castle:setNetwork', {
    front: id,
  });
  await it.call('POST', `/v1/servers/${id}:start`);
  await it.reach(id, 'running');
  const read = (name: string) => readFile(join(it.dataDir, 'servers', id, name), 'utf8');
  const list = `[servers]\ncastle = "${network.address}" # added by Dormouse\ntry = ["castle"]\n`;
  t.true((await read('velocity.toml')).includes(list));
  const secret = await read('forwarding.secret');
  t.regex(secret, /^[\w-]{43}$/);
  t.true(from.asked.filter(({ path }) => path.includes('velocity')).every(({ agent }) => agent?.includes('dormouse')));
  await it.call('POST', `/v1/servers/${id}:stop`);
  await it.reach(id, 'hibernated');
  t.false(JSON.stringify([it.log, await it.call('GET', '/v1/servers')]).includes(secret));
});

interface Update {
  from: { version: string; build: string };
  to: { version: string; build: string };
  backupId: string;
}

test('software without public downloads says so before a server is created', async (t) => {
  const it = await startService(t);
  const { cores } = await it.call<{ cores: { type: string; unavailable: string }[] }>('GET', '/v1/minecraft/versions');
  const reasons = Object.fromEntries(cores.map(({ type, unavailable }) => [type, unavailable]));
  t.is(reasons['spigot'], 'Spigot can’t be downloaded here. Create the server, then upload server.jar under Files.');
  const here = ['sandbox', 'vanilla', 'paper', 'purpur', 'folia', 'leaf', 'pufferfish', 'fabric', 'quilt', 'forge'];
  for (const type of [...here, 'neoforge', 'custom']) t.is(reasons[type], '', type);
});
