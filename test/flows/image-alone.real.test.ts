import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import Docker from 'dockerode';
import { partsOf, readPage } from '../docs/blocks.ts';
import { joinBot } from '../support/bot.ts';
import { freePort } from '../support/service.ts';
import { isHere } from '../support/needs.ts';
import { STAND_INS, buildStandIn } from '../support/stand-in-image.ts';
import { until } from '../support/until.ts';

const SOCKET = process.env['DOCKER_SOCKET'] ?? '/var/run/docker.sock';
const PATIENCE_MS = 180_000;
const VERSION = '1.20.4';

test.runIf(isHere('docker'))(
  'the image runs standalone, becomes healthy and keeps its worlds on the volume across containers',
  async (t) => {
    t.timeout(900_000);
    const docker = new Docker({ socketPath: SOCKET });
    const tag = `dormouse-alone-${randomBytes(4).toString('hex')}`;
    t.teardown(() => docker.getImage(tag).remove({ force: true }));
    await buildStandIn(docker, tag);
    await docker.createVolume({ Name: tag });
    t.teardown(() => docker.getVolume(tag).remove());
    const ports = { http: await freePort(), players: await freePort() };
    const player = { port: ports.players, version: VERSION, timeoutMs: PATIENCE_MS };

    const first = await started(t, docker, tag, `${tag}-first`, ports);
    await until(
      { what: 'the first is healthy', despiteErrors: true },
      async () => (await first.inspect()).State.Health?.Status === 'healthy',
    );
    const { email, password, apiKey } = JSON.parse(
      await asWritten('docker exec', tag, `${tag}-first`, ports),
    ) as Record<'email' | 'password' | 'apiKey', string>;
    t.regex(email, /@/);
    const log = (await first.logs({ stdout: true, stderr: true })).toString();
    t.true(log.includes('docker exec <its name> cat /data/first-run.json'), log);
    for (const secret of [password, apiKey]) t.false(log.includes(secret));

    await call('POST', '/v1/servers', {
      name: 'Lobby',
      version: VERSION,
      ramMb: 512,
      properties: { gamemode: 'creative' },
    });
    const ann = await joinBot({ ...player, name: 'Ann' });
    await ann.placeBlock({ x: 2, y: 4, z: 1 }, 'stone');
    await first.stop({ t: 150 });
    t.is((await first.inspect()).State.ExitCode, 0);
    t.is(await ann.ended, 'The host is shutting down. Join again later.');
    await first.remove({ v: true });

    const second = await started(t, docker, tag, `${tag}-second`, ports);
    await until(
      { what: 'the second answers', despiteErrors: true },
      async () => (await fetch(`${origin()}/readyz`)).ok,
    );
    const { servers } = (await call('GET', '/v1/servers')) as { servers: { id: string; state: string }[] };
    t.deepEqual(
      servers.map(({ id, state }) => [id, state]),
      [['lobby', 'hibernated']],
    );
    const ben = await joinBot({ ...player, name: 'Ben' });
    t.is(await ben.blockAt({ x: 2, y: 4, z: 1 }), 'stone');
    await ben.end();
    await second.stop({ t: 150 });
    t.is((await second.inspect()).State.ExitCode, 0);

    function origin(): string {
      return `http://127.0.0.1:${ports.http}`;
    }

    async function call(method: string, path: string, body?: object): Promise<unknown> {
      const answer = await fetch(origin() + path, {
        method,
        headers: { 'x-api-key': apiKey },
        ...(body && { body: JSON.stringify(body) }),
      });
      const text = await answer.text();
      if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
      return JSON.parse(text) as unknown;
    }
  },
);

/** Runs a command of the page with this test's image, volume, ports and container. Returns its output. */
async function asWritten(begins: string, tag: string, name: string, ports: { http: number; players: number }) {
  const block =
    partsOf(readPage('docs/one-machine.md')).find(({ text }) => text.startsWith('docker build'))?.text ?? '';
  const line = block.split('\n').find((each) => each.startsWith(begins)) ?? '';
  const [program = '', ...args] = line
    .replace(/ +#.*$/, '')
    .replace('--name dormouse', `--name ${name}`)
    .replace('exec dormouse', `exec ${name}`)
    .replace('8080:', `127.0.0.1:${ports.http}:`)
    .replace('25565:', `127.0.0.1:${ports.players}:`)
    .replace('dormouse:/data', `${tag}:/data`)
    .replace(/ dormouse$/, [...STAND_INS.map((each) => ` -v ${each}`), ` ${tag}`].join(''))
    .split(' ');
  const env = { PATH: process.env['PATH'], DOCKER_HOST: `unix://${SOCKET}` };
  return (await promisify(execFile)(program, args, { env })).stdout.trim();
}

/** Starts the container with the command of the page. */
async function started(
  t: ExecutionContext,
  docker: Docker,
  tag: string,
  name: string,
  ports: { http: number; players: number },
): Promise<Docker.Container> {
  const container = docker.getContainer(name);
  t.teardown(async () => {
    if (!t.passed) t.log(String(await container.logs({ stdout: true, stderr: true, tail: 30 }).catch(String)));
    await container.remove({ force: true, v: true }).catch(() => undefined);
  });
  await asWritten('docker run', tag, name, ports);
  return container;
}
