import { randomBytes } from 'node:crypto';
import { chown, mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { text as textOf } from 'node:stream/consumers';
import test, { type ExecutionContext } from 'ava';
import Docker from 'dockerode';
import { isKnown, joinRaw, pingStatus } from '../support/bot.ts';
import { type ComposeService, composed } from '../support/compose.ts';
import { freePort } from '../support/service.ts';
import { isHere } from '../support/needs.ts';
import { until } from '../support/until.ts';

const ROOT = join(import.meta.dirname, '../..');
const SOCKET = process.env['DOCKER_SOCKET'] ?? '/var/run/docker.sock';
/** Replaces the Dockerfile's image, which needs a registry. It has the same Node, and this folder is mounted. */
const IMAGE = 'dormouse/sandbox:latest';
const CODE = ['package.json', 'machines', 'migrations', 'proxy', 'src', 'node_modules'];
/** The libraries that this machine's native modules need. */
const LIBRARIES = ['/usr/lib:/usr/lib:ro', '/usr/lib:/lib:ro', '/lib64:/lib64:ro'];
const HOME = '/opt/dormouse';
const PATIENCE_MS = 180_000;

async function run(docker: Docker, name: string, service: ComposeService, extra: Record<string, string>) {
  const code = CODE.map((each) => `${join(ROOT, each)}:${HOME}/${each}:ro`);
  const own = (service.volumes ?? []).map((each) =>
    typeof each === 'string' ? each : `${each.source}:${each.target}`,
  );
  const container = await docker.createContainer({
    name,
    Image: IMAGE,
    Entrypoint: ['/usr/bin/node'],
    Cmd: service.entrypoint?.slice(1) ?? ['src/start.js'],
    WorkingDir: HOME,
    User: service.user,
    Env: Object.entries({ ...extra, ...service.environment }).map(([key, value]) => `${key}=${value ?? ''}`),
    HostConfig: {
      NetworkMode: service.network_mode,
      Binds: [...LIBRARIES, ...code, ...own.map((each) => each.replace('/var/run/docker.sock:', `${SOCKET}:`))],
      GroupAdd: service.group_add ?? [],
      Tmpfs: Object.fromEntries((service.tmpfs ?? []).map((each) => each.split(/:(.*)/s).slice(0, 2))),
      CapDrop: service.cap_drop,
      SecurityOpt: service.security_opt,
      ReadonlyRootfs: service.read_only,
      Init: service.init,
    },
  });
  await container.start();
  return container;
}

test.runIf(isHere('docker'))(
  'players stay connected through compose.yaml’s separate proxy container while the service is replaced',
  async (t) => {
    t.timeout(900_000);
    const docker = new Docker({ socketPath: SOCKET });
    const dataDir = await mkdtemp(join(tmpdir(), 'dormouse-compose-'));
    await chown(dataDir, 1_000, 1_000);
    const [http, players, sftp] = [await freePort(), await freePort(), await freePort()].map(String) as [
      string,
      string,
      string,
    ];
    const file = { HTTP_PORT: http, PROXY_PORT: players, SFTP_PORT: sftp, SFTP_HOST: '127.0.0.1' };
    const { dormouse, proxy } = composed({
      ...file,
      DATA_DIR: dataDir,
      DOCKER_GID: String((await stat(SOCKET)).gid),
      PROXY_TOKEN: randomBytes(24).toString('hex'),
      PUBLIC_HOST: 'compose.test',
      BASE_URL: `http://127.0.0.1:${http}`,
      MARIADB_ROOT_PASSWORD: 'unused',
    }) as { dormouse: ComposeService; proxy: ComposeService };
    const tag = randomBytes(4).toString('hex');
    const origin = `http://127.0.0.1:${http}`;
    let key = '';
    t.teardown(async () => {
      if (!t.passed) await told(t, docker, tag);
      if (key !== '') await call('DELETE', '/v1/servers/echo').catch(() => undefined);
      await removed(docker, tag);
      await rm(dataDir, { recursive: true, force: true, maxRetries: 5 });
    });
    // The proxy, which faces the internet, has no secrets of the service but its token and the key that it decrypts with.
    t.deepEqual(Object.keys(proxy.environment).toSorted(), [
      'CONTROL_URL',
      'FLOODGATE_KEY',
      'FORWARDING_FROM',
      'PROXY_DRAIN_HOURS',
      'PROXY_PORT',
      'PROXY_TOKEN',
    ]);
    await run(docker, `dormouse-proxy-${tag}`, proxy, {});
    const first = await run(docker, `dormouse-service-${tag}`, dormouse, file);
    await until(
      { what: 'the service is ready', despiteErrors: true },
      async () => (await fetch(`${origin}/readyz`)).ok,
    );
    key = (JSON.parse(await readFile(join(dataDir, 'first-run.json'), 'utf8')) as { apiKey: string }).apiKey;

    await call('POST', '/v1/servers', { name: 'Echo', version: '1.20.4', ramMb: 512 });
    const address = { port: Number(players), version: '1.20.4', fakeHost: 'echo.compose.test' };
    // The proxy learns of the server shortly after the caller.
    await until({ what: 'it is known', despiteErrors: true }, async () => isKnown(await pingStatus(address)));
    const backup = join(dataDir, 'service.tar.gz');
    t.regex(
      await inside(docker, first, ['node', 'src/start.js', '--backup-service', backup]),
      /This folder has no \.env/,
    );
    t.is((await stat(backup)).uid, 1_000);
    const steve = await joinRaw({ ...address, name: 'Steve', timeoutMs: PATIENCE_MS });
    const alex = await joinRaw({ ...address, name: 'Alex', timeoutMs: PATIENCE_MS });

    await first.kill();
    await first.remove({ force: true });
    steve.chat('still here, without a service');
    await alex.waitChat(/still here, without a service/, PATIENCE_MS);
    await run(docker, `dormouse-service-${tag}`, dormouse, file);
    await until({ what: 'the new one knows who plays', despiteErrors: true }, async () => {
      const { online } = (await call('GET', '/v1/servers/echo/players')) as { online: string[] };
      return online.toSorted().join() === 'Alex,Steve';
    });
    alex.chat('and with the next one');
    await steve.waitChat(/and with the next one/, PATIENCE_MS);
    await Promise.all([steve.end(), alex.end()]);
    await call('POST', '/v1/servers/echo:stop', {});
    await until({ what: 'the game is saved', despiteErrors: true }, async () => {
      const { state } = (await call('GET', '/v1/servers/echo')) as { state: string };
      return state === 'hibernated';
    });

    async function call(method: string, path: string, body?: object): Promise<unknown> {
      const headers = { 'x-api-key': key };
      const answer = await fetch(origin + path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
      const text = await answer.text();
      if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
      return JSON.parse(text) as unknown;
    }
  },
);

/** Runs a command in a container, like `docker compose exec`. Returns its output. */
async function inside(docker: Docker, container: Docker.Container, command: string[]): Promise<string> {
  const exec = await container.exec({ Cmd: command, AttachStdout: true, AttachStderr: true });
  const out = new PassThrough();
  const text = textOf(out);
  const stream = await exec.start({});
  docker.modem.demuxStream(stream, out, out);
  stream.on('end', () => out.end());
  return await text;
}

/** Logs the last output of the containers after a failure. */
async function told(t: ExecutionContext, docker: Docker, tag: string): Promise<void> {
  for (const name of [`dormouse-service-${tag}`, `dormouse-proxy-${tag}`]) {
    const lines = docker.getContainer(name).logs({ stdout: true, stderr: true, tail: 20 });
    t.log(name, (await lines.catch(String)).toString());
  }
}

async function removed(docker: Docker, tag: string): Promise<void> {
  for (const name of [`dormouse-service-${tag}`, `dormouse-proxy-${tag}`])
    await docker
      .getContainer(name)
      .remove({ force: true })
      .catch(() => undefined);
}
