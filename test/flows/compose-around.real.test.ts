import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { Agent, type RequestOptions, request } from 'node:https';
import { text } from 'node:stream/consumers';
import test, { type ExecutionContext } from 'ava';
import Docker from 'dockerode';
import { LABEL } from '../../src/engines/docker/container.ts';
import { composed } from '../support/compose.ts';
import { startMariadb } from '../support/mariadb.ts';
import { isHere } from '../support/needs.ts';
import { startService } from '../support/service.ts';
import { STAND_INS, buildStandIn } from '../support/stand-in-image.ts';
import { until } from '../support/until.ts';

const SOCKET = process.env['DOCKER_SOCKET'] ?? '/var/run/docker.sock';
const NAME = 'dormouse.localhost';
const SERVICES = composed({
  DATA_DIR: '/srv',
  DOCKER_GID: '1',
  PROXY_TOKEN: 'token',
  PUBLIC_HOST: 'compose.test',
  BASE_URL: `https://${NAME}`,
  MARIADB_ROOT_PASSWORD: 'unused',
});
const { dormouse, mariadb, caddy } = SERVICES;

/** Runs a program in the network of another container, with this machine's Node. Returns its output. */
async function inNetworkOf(t: ExecutionContext, docker: Docker, id: string, program: string): Promise<string> {
  const container = await docker.createContainer({
    Image: 'dormouse/sandbox:latest',
    Entrypoint: ['/usr/bin/node'],
    Cmd: ['-e', program],
    WorkingDir: '/opt/dormouse',
    HostConfig: { NetworkMode: `container:${id}`, Binds: [...STAND_INS] },
  });
  t.teardown(() => container.remove({ force: true }));
  await container.start();
  await container.wait();
  return (await container.logs({ stdout: true, stderr: true })).toString();
}

test.runIf(isHere('docker', 'mariadb'))(
  'a game container can sign in to its database on the MariaDB of compose.yaml',
  async (t) => {
    t.is(mariadb?.network_mode, 'host');
    // Debian's MariaDB replaces the image's. Its port is not 3306, which this machine may already use.
    const database = await startMariadb(mariadb?.command);
    t.teardown(() => database.remove());
    const [host] = String(dormouse?.environment['MYSQL_ADDRESS']).split(':');
    const service = await startService(t, {
      ENGINE: 'docker',
      MYSQL_ADMIN_URL: database.adminUrl,
      MYSQL_ADDRESS: `${host}:${database.port}`,
    });
    await service.create('castle', '1.21.4');
    const given = await service.call<Record<string, unknown>>('POST', '/v1/servers/castle/database', {});
    t.is(given['host'], host);
    await service.call('POST', '/v1/servers/castle:start', {});
    await service.reach('castle', 'running');
    const docker = new Docker({ socketPath: SOCKET });
    const running = await docker.listContainers({ filters: { label: [`${LABEL.server}=castle`] } });
    const mounts = await Promise.all(running.map(({ Id }) => docker.getContainer(Id).inspect()));
    const game = mounts.find(({ Mounts }) => Mounts.some(({ Source }) => Source.startsWith(service.dataDir)));
    const { dbName: user, dbPassword: password, port } = given;
    const options = JSON.stringify({ host, port, user, password, database: user });
    const program = `require('mysql2/promise').createConnection(${options})
    .then((sql) => sql.query('SELECT CURRENT_USER() AS who').then(([rows]) => console.log(rows[0].who)).then(() => sql.end()))`;
    t.regex(await inNetworkOf(t, docker, game?.Id ?? '', program), new RegExp(`${String(user)}@1`));
  },
);

test.runIf(isHere('docker', 'caddy'))(
  'compose.yaml’s Caddy serves TLS, streams events without buffering and passes large uploads',
  async (t) => {
    t.timeout(600_000);
    const docker = new Docker({ socketPath: SOCKET });
    const tag = `dormouse-caddy-${randomBytes(4).toString('hex')}`;
    t.teardown(() => docker.getImage(tag).remove({ force: true }));
    await buildStandIn(docker, tag);
    const run = async (options: Docker.ContainerCreateOptions) => {
      const container = await docker.createContainer({ Image: tag, ...options });
      t.teardown(async () => {
        if (!t.passed) t.log(String(await container.logs({ stdout: true, stderr: true, tail: 20 }).catch(String)));
        await container.remove({ force: true, v: true });
      });
      await container.start();
      return container;
    };
    const { HTTP_HOST, TRUSTED_PROXIES } = dormouse?.environment ?? {};
    const env = { HTTP_HOST, TRUSTED_PROXIES, BASE_URL: `https://${NAME}` };
    const service = await run({
      Env: Object.entries(env).map(([name, value]) => `${name}=${value}`),
      HostConfig: { Binds: [...STAND_INS] },
    });
    // Both containers share a network of their own, because ports 80 and 443 of the machine may be in use.
    const proxy = await run({
      User: '0:0',
      Entrypoint: [],
      Cmd: caddy?.command ?? [],
      // The variables that the image sets.
      Env: ['XDG_DATA_HOME=/data', 'XDG_CONFIG_HOME=/config', `CADDYFILE=${caddy?.environment['CADDYFILE']}`],
      HostConfig: {
        NetworkMode: `container:${service.id}`,
        Binds: [...STAND_INS, '/usr/bin/caddy:/bin/caddy:ro'],
        Tmpfs: { '/data': '', ...Object.fromEntries((caddy?.tmpfs ?? []).map((path) => [path, ''])) },
        CapDrop: caddy?.cap_drop ?? [],
        CapAdd: caddy?.cap_add ?? [],
        SecurityOpt: caddy?.security_opt ?? [],
        ReadonlyRootfs: caddy?.read_only ?? false,
      },
    });
    const host = (await service.inspect()).NetworkSettings.Networks['bridge']?.IPAddress ?? '';
    const ca = await until({ what: 'a certificate', everyMs: 300, despiteErrors: true }, () =>
      printed(proxy, '/data/caddy/pki/authorities/local/root.crt', 'CERTIFICATE'),
    );
    const { apiKey } = JSON.parse(
      await until({ what: 'a key', everyMs: 300, despiteErrors: true }, () =>
        printed(service, '/data/first-run.json', 'apiKey'),
      ),
    ) as {
      apiKey: string;
    };
    const agent = new Agent({ ca, servername: NAME, keepAlive: true });
    t.teardown(() => agent.destroy());

    async function call(path: string, options: RequestOptions = {}, body?: string | Buffer): Promise<IncomingMessage> {
      const headers = { host: NAME, 'x-api-key': apiKey };
      const sent = request({ host, path, agent, headers, ...(body !== undefined && { method: 'POST' }), ...options });
      const answered = Promise.withResolvers<IncomingMessage>();
      sent.on('response', answered.resolve).on('error', answered.reject);
      sent.end(body);
      return await answered.promise;
    }

    await until(
      { what: 'readiness', everyMs: 300, despiteErrors: true },
      async () => (await call('/readyz')).statusCode === 200,
    );
    const plain = await fetch(`http://${host}/`, { redirect: 'manual' });
    t.true(plain.status >= 301 && plain.status <= 308);
    t.regex(await text(await call('/sign-in')), /Password/);
    const made = await call('/v1/servers', {}, JSON.stringify({ name: 'Lobby', ramMb: 512 }));
    t.is(made.statusCode, 200, await text(made));

    // Events arrive while the stream is open. The proxy does not buffer them.
    const stream = await call('/v1/servers/lobby/events/stream');
    t.is(stream.statusCode, 200);
    const chunks = stream[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
    let seen = '';
    const untilSeen = async (pattern: RegExp) => {
      while (!pattern.test(seen)) seen += String((await chunks.next()).value);
    };
    await untilSeen(/hibernated/);
    t.is((await call('/v1/servers/lobby:start', {}, '{}')).statusCode, 200);
    await untilSeen(/starting/);
    stream.destroy();

    const large = randomBytes(48 * 1024 * 1024);
    const sent = await call('/v1/servers/lobby/file:upload?path=large.bin', {}, large);
    t.is(sent.statusCode, 200, await text(sent));
    const range = { headers: { host: NAME, 'x-api-key': apiKey, range: 'bytes=47000000-47000099' } };
    const back = await call('/v1/servers/lobby/file:download?path=large.bin', range);
    t.is(back.statusCode, 206);
    const parts: Buffer[] = [];
    for await (const part of back) parts.push(part as Buffer);
    t.deepEqual(Buffer.concat(parts), large.subarray(47_000_000, 47_000_100));

    // The log contains a request that cannot be forwarded, but not its key.
    await service.kill();
    const headers = { 'x-api-key': apiKey, host: NAME };
    const options = JSON.stringify({ servername: NAME, rejectUnauthorized: false, headers });
    const program = `https.get('https://127.0.0.1/v1/servers?of=secret', ${options}, (reply) => { console.log(reply.statusCode); process.exit(); })`;
    t.regex(await output(proxy, ['node', '-e', program]), /502/);
    const log = await until('it is in the log', async () => {
      const all = String(await proxy.logs({ stdout: true, stderr: true }));
      return all.includes('/v1/servers"') && all;
    });
    t.notRegex(log, new RegExp(`${apiKey}|secret`));
  },
);

/** Returns the content of a file in the container, or false if it lacks the text. */
async function printed(container: Docker.Container, path: string, holds: string): Promise<string | false> {
  const all = await output(container, ['/bin/busybox', 'cat', path]);
  return all.includes(holds) && all;
}

/** Runs a program in the container. Returns its output. */
async function output(container: Docker.Container, command: string[]): Promise<string> {
  const execution = await container.exec({ Cmd: command, AttachStdout: true, AttachStderr: true, Tty: true });
  let all = '';
  for await (const chunk of await execution.start({ Tty: true })) all += String(chunk);
  return all;
}
