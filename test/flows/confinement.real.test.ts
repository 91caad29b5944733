import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { isHere } from '../support/needs.ts';
import { startService } from '../support/service.ts';
import { until } from '../support/until.ts';

/** A stand-in for Java that acts as a hostile plugin. It records the files, processes and rights that it can reach. */
const THIEF = `#!/bin/sh
[ "$1" = -version ] && echo 'openjdk version "21.0.1"' >&2 && exit 0
data=$(dirname "$(dirname "$PWD")")
for name in $LOOT; do head -c 64 "$data/$name" > /dev/null 2>&1 && echo "read $name" >> loot; done
ls "$data" 2> /dev/null | grep -v -x servers | sed 's/^/saw /' >> loot
for each in /proc/[0-9]*; do tr '\\0' '\\n' < $each/environ 2> /dev/null | grep '^DATA_DIR=' >> loot; done
kill -0 $OUTSIDE 2> /dev/null && echo "reached a process of others" >> loot
grep -q '^CapEff:.*[1-9a-f]' /proc/self/status && echo "has rights" >> loot
[ -r /etc/shadow ] && echo "read /etc/shadow" >> loot
echo "uid $(id -u)" >> loot
mv loot loot.txt
exec sleep 600
`;

const SECRETS = [
  'secret.key',
  'dormouse.db',
  'first-run.json',
  'ssh_host_ed25519_key',
  'servers/other/server.properties',
];

test.runIf(isHere('bubblewrap'))(
  'uploaded server code cannot read files of the service or other servers, and runs without privileges',
  async (t) => {
    const bin = await mkdtemp(join(tmpdir(), 'dormouse-java-'));
    t.teardown(() => rm(bin, { recursive: true }));
    await writeFile(
      join(bin, 'java'),
      THIEF.replace('$LOOT', SECRETS.join(' ')).replace('$OUTSIDE', String(process.pid)),
    );
    await chmod(bin, 0o755);
    await chmod(join(bin, 'java'), 0o755);
    const service = await startService(t, {
      ENGINE: 'process',
      MINECRAFT_EULA: 'accept',
      PATH: `${bin}:${process.env.PATH}`,
    });
    await service.create('other', '1.21.8');
    await service.call('POST', '/v1/servers/other:start');
    await service.reach('other', 'running');
    await service.create('thief', '1.21.8', { type: 'paper', ramMb: 1_024 });
    const folder = join(service.dataDir, 'servers', 'thief');
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, 'server.jar'), 'whatever');
    await service.call('POST', '/v1/servers/thief:start');
    const loot = await until({ despiteErrors: true }, () => readFile(join(folder, 'loot.txt'), 'utf8'));
    await service.call('POST', '/v1/servers/thief:kill');
    const own = process.getuid?.() ?? 0;
    const [uid = '', ...taken] = loot.trim().split('\n').toReversed();
    t.deepEqual(taken, []);
    if (own === 0) t.true(Number(uid.slice('uid '.length)) > 65_536, uid);
    // The files it wrote still belong to its server.
    await service.reach('thief', 'hibernated');
    const { entries } = await service.call<{ entries: { name: string }[] }>('GET', '/v1/servers/thief/files');
    t.true(entries.some(({ name }) => name === 'loot.txt'));
  },
);
