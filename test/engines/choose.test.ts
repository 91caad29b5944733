import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { pino } from 'pino';
import { type EngineSetting, chooseEngine } from '../../src/engines/choose.ts';
import { loadConfig } from '../../src/config.ts';
import { openGameHost } from '../../src/engines/game-host.ts';
import { createClosers } from '../../src/kernel/closers.ts';
import { openSecret } from '../../src/store/secret.ts';
import { fakeClock } from '../fakes/clock.ts';
import { directory, emptyStore } from '../store/support.ts';
import { renewImage } from '../../src/engines/docker/image.ts';

/** A Docker Engine that answers pings and has a single image. */
async function fakeDocker(t: ExecutionContext): Promise<{ socketPath: string }> {
  const dir = await mkdtemp(join(tmpdir(), 'dormouse-auto-'));
  const socketPath = join(dir, 'docker.sock');
  const server = createServer((request, response) => {
    const found = request.url?.includes('_ping') || request.url?.includes('/images/present/');
    response.writeHead(found ? 200 : 404, { 'content-type': 'application/json' });
    response.end(found ? '{"Id":"x","Config":{"Labels":{"made":"before"}}}' : '{"message":"no such image"}');
  });
  server.listen(socketPath);
  t.teardown(async () => {
    server.closeAllConnections();
    server.close();
    await rm(dir, { recursive: true });
  });
  return { socketPath };
}

function logInto(lines: string[]) {
  return pino({ level: 'info' }, { write: (line: string) => void lines.push(line) });
}

const NOWHERE = '/nowhere/docker.sock';
const CASES: [string, EngineSetting, string, string | undefined, 'docker' | 'process', RegExp | undefined][] = [
  ['a requested Docker engine is chosen', 'docker', 'missing', undefined, 'docker', undefined],
  [
    'a requested Docker engine that does not answer is chosen, with advice',
    'docker',
    'present',
    NOWHERE,
    'docker',
    /start Docker, or/,
  ],
  ['requested child processes are chosen', 'process', 'present', undefined, 'process', undefined],
  [
    'auto chooses a Docker engine that has the image',
    'auto',
    'present',
    undefined,
    'docker',
    /Docker Engine answers and has/,
  ],
  ['auto chooses a Docker engine that can build the image', 'auto', 'buildable', undefined, 'docker', /has buildable/],
  [
    'auto chooses child processes if the image is not available',
    'auto',
    'missing',
    undefined,
    'process',
    /cannot be pulled/,
  ],
  [
    'auto chooses child processes if no engine answers',
    'auto',
    'present',
    NOWHERE,
    'process',
    /no Docker Engine responds/,
  ],
];

for (const [title, setting, image, socket, expected, why] of CASES) {
  test(title, async (t) => {
    const docker = socket === undefined ? await fakeDocker(t) : { socketPath: socket };
    const lines: string[] = [];
    const provideImage = async (_: unknown, wanted: string) => wanted === 'buildable';
    t.is(await chooseEngine(setting, { docker, image, provideImage, log: logInto(lines) }), expected);
    t.is(lines.length, why ? 1 : 0);
    if (why) t.regex(lines[0]!, why);
  });
}

test('auto waits for Docker instead of running former containers as processes', async (t) => {
  for (const [docker, image] of [
    [{ socketPath: NOWHERE }, 'present'],
    [await fakeDocker(t), 'missing'],
  ] as const) {
    const lines: string[] = [];
    const choice = { docker, image, usedDocker: true, log: logInto(lines) };
    t.is(await chooseEngine('auto', choice), 'docker');
    t.regex(lines.join(''), /"level":50.*set ENGINE=process to run them as processes/);
    t.is(await chooseEngine('process', choice), 'process');
  }
});

test('auto waits for Docker only after a game ran in a container, not after Docker was merely found', async (t) => {
  const [store, dataDir] = [await emptyStore(t), await directory(t)];
  const secret = await openSecret(store, dataDir);
  const { socketPath } = await fakeDocker(t);
  const lines: string[] = [];
  const opened = async (dockerHost: string) => {
    const settings = {
      ...loadConfig({ DATA_DIR: dataDir, SANDBOX_IMAGE: 'present', TRUST_TENANTS: 'true' }, { envFile: null }),
      dockerHost,
    };
    const { onClose, close } = createClosers();
    t.teardown(close);
    const always = async () => {};
    const around = { store, secret, settings, mayAct: always, awake: async () => 0, clock: fakeClock(), onClose };
    return (await openGameHost({ ...around, log: logInto(lines) })).engine;
  };
  const docker = await opened(`unix://${socketPath}`);
  t.is(docker.kind, 'docker');
  t.is((await opened(`unix://${NOWHERE}`)).kind, 'process', lines.join(''));
  await t.throwsAsync(docker.boot({ serverId: 'castle' } as never, {} as never));
  t.is((await opened(`unix://${NOWHERE}`)).kind, 'docker', lines.join(''));
});

const RENEWALS: [string, string, boolean, string | undefined, number, RegExp | undefined][] = [
  ['an image of another version is rebuilt', 'present', true, undefined, 1, /"level":30.*rebuilding it/],
  ['an image of this version is kept', 'present', false, undefined, 0, undefined],
  ['a missing image is not built at the start', 'missing', true, undefined, 0, undefined],
  ['an unreachable engine does not block the start', 'present', true, NOWHERE, 0, /"level":40.*an older version/],
];

for (const [title, image, outdated, socket, builds, says] of RENEWALS) {
  test(title, async (t) => {
    const docker = socket === undefined ? await fakeDocker(t) : { socketPath: socket };
    const lines: string[] = [];
    const built: string[] = [];
    await renewImage(docker, {
      image,
      isOutdated: async (labels) => labels['made'] === 'before' && outdated,
      provide: async (_, wanted) => built.push(wanted) > 0,
      log: logInto(lines),
    });
    t.is(built.length, builds);
    t.is(lines.length, says ? 1 : 0);
    if (says) t.regex(lines[0]!, says);
  });
}

test('an outdated image that cannot be rebuilt is used unchanged', async (t) => {
  const lines: string[] = [];
  const provide = () => Promise.reject(new Error('no space left on device'));
  const own = { image: 'present', isOutdated: async () => true, provide, log: logInto(lines) };
  await renewImage(await fakeDocker(t), own);
  t.regex(lines.at(-1)!, /"level":40.*no space left/);
});
