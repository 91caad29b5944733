import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { javaArchive, standIn } from '../support/core-sources.ts';
import { startService } from '../support/service.ts';
import { until } from '../support/until.ts';

/** A Java whose games are ready at once, listen on their port and end with SIGTERM. */
const JAVA = String.raw`#!/usr/bin/perl
use IO::Socket::INET;
$| = 1;
$SIG{TERM} = sub { exit 0 };
open(my $file, '<', 'server.properties') or die;
my $port; while (<$file>) { $port = $1 if /^server-port=(\d+)/ }
my $server = IO::Socket::INET->new(LocalAddr => '127.0.0.1', LocalPort => $port, Listen => 5) or die;
print "[12:00:00 INFO]: Runs $ARGV[-2]\n";
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

test('software without public downloads says so before a server is created', async (t) => {
  const it = await startService(t);
  const { cores } = await it.call<{ cores: { type: string; unavailable: string }[] }>('GET', '/v1/minecraft/versions');
  const reasons = Object.fromEntries(cores.map(({ type, unavailable }) => [type, unavailable]));
  t.is(reasons['spigot'], 'Spigot can’t be downloaded here. Create the server, then upload server.jar under Files.');
  const here = ['sandbox', 'vanilla', 'paper', 'purpur', 'folia', 'leaf', 'pufferfish', 'fabric', 'quilt', 'forge'];
  for (const type of [...here, 'neoforge', 'custom']) t.is(reasons[type], '', type);
});
