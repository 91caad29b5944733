import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import Docker from 'dockerode';
import { isHere } from '../support/needs.ts';
import { paused } from '../support/paused.ts';
import { startService, type Service } from '../support/service.ts';
import { until } from '../support/until.ts';

const ENGINE = process.env.DOCKER_SOCKET ?? '/var/run/docker.sock';

/** A connection to the Docker Engine that can be cut or hang, while the engine itself keeps running. */
interface Way {
  socketPath: string;
  cut(): void;
  hang(): void;
  mend(): void;
}

async function wayToEngine(t: ExecutionContext): Promise<Way> {
  const dir = await mkdtemp(join(tmpdir(), 'dormouse-way-'));
  const socketPath = join(dir, 's');
  const pairs = new Set<{ near: Socket; far: Socket | undefined }>();
  let state: 'open' | 'cut' | 'hangs' = 'open';
  const server = createServer((near) => {
    near.on('error', () => near.destroy());
    if (state === 'cut') return near.destroy();
    const far = state === 'open' ? connect(ENGINE) : undefined;
    const pair = { near, far };
    pairs.add(pair);
    far?.on('error', () => near.destroy());
    far?.on('close', () => near.destroy());
    near.on('close', () => {
      far?.destroy();
      pairs.delete(pair);
    });
    if (far) near.pipe(far).pipe(near);
    return undefined;
  }).listen(socketPath);
  await once(server, 'listening');
  const drop = () => {
    for (const { near } of pairs) near.destroy();
  };
  t.teardown(async () => {
    state = 'cut';
    drop();
    server.close();
    await rm(dir, { recursive: true });
  });
  return {
    socketPath,
    cut() {
      state = 'cut';
      drop();
    },
    hang() {
      state = 'hangs';
      for (const { near, far } of pairs) {
        far?.unpipe(near);
        near.unpipe();
      }
    },
    mend() {
      // Close the connections that hang.
      drop();
      state = 'open';
    },
  };
}

async function containerOf(service: Service, id: string): Promise<{ id: string; startedAt: string; running: boolean }> {
  const docker = new Docker({ socketPath: ENGINE });
  const filters = { label: [`dormouse.server=${id}`] };
  const all = await docker.listContainers({ all: true, filters });
  const infos = await Promise.all(all.map(({ Id }) => docker.getContainer(Id).inspect()));
  const own = infos.find(({ Mounts }) => Mounts.some(({ Source }) => Source.startsWith(service.dataDir)));
  return { id: own?.Id ?? '', startedAt: own?.State.StartedAt ?? '', running: own?.State.Running ?? false };
}

async function twoRunning(t: ExecutionContext, way: Way): Promise<Service> {
  const service = await startService(t, { ENGINE: 'docker', DOCKER_HOST: `unix://${way.socketPath}` });
  for (const id of ['awake', 'asleep']) {
    await service.create(id, '1.21.8');
    await service.call('POST', `/v1/servers/${id}:start`);
  }
  for (const id of ['awake', 'asleep']) await service.reach(id, 'running');
  return service;
}

for (const how of ['cut', 'hang'] as const) {
  test.runIf(isHere('docker'))(
    `a stop during a 12 s engine outage (${how}) completes afterwards, and the awake container keeps running`,
    async (t) => {
      const way = await wayToEngine(t);
      t.teardown(() => way.mend());
      const service = await twoRunning(t, way);
      const before = await containerOf(service, 'awake');
      way[how]();
      t.is((await service.call('POST', '/v1/servers/asleep:stop')).state, 'stopping');
      const away = Date.now();
      await until(async () => Date.now() - away > 12_000);
      way.mend();
      const back = Date.now();
      await service.reach('asleep', 'hibernated');
      t.log(`${how}: stopped ${Date.now() - back} ms after the engine was back`);
      t.is((await containerOf(service, 'asleep')).id, '');
      t.is((await service.call('GET', '/v1/servers/awake')).state, 'running');
      t.deepEqual(await containerOf(service, 'awake'), before);
      const { output } = await service.call<{ output: string }>('POST', '/v1/servers/awake:command', {
        command: 'list',
      });
      t.regex(output, /There are 0/);
    },
  );
}

test.runIf(isHere('docker'))('a server whose container was paused from outside still stops cleanly', async (t) => {
  const way = await wayToEngine(t);
  const service = await twoRunning(t, way);
  const { id } = await containerOf(service, 'asleep');
  const { container } = await service.call<{ container: string }>('GET', '/v1/servers/asleep');
  t.is(
    (await new Docker({ socketPath: ENGINE }).getContainer(container).inspect()).Id,
    id,
    'the server’s `container` is its name in Docker',
  );
  await paused(new Docker({ socketPath: ENGINE }).getContainer(id));
  const began = Date.now();
  await service.call('POST', '/v1/servers/asleep:stop');
  // The stop must end well before a silent game would be killed.
  await service.reach('asleep', 'hibernated', 60_000);
  t.log(`stopped after ${Date.now() - began} ms`);
  const { entries } = await service.call<{ entries: { kind: string }[] }>('GET', '/v1/servers/asleep/diagnostics');
  t.deepEqual(entries, []);
});
