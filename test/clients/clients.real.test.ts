import { spawn } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import test, { type ExecutionContext } from 'ava';
import { OPERATIONS } from '../../src/reference.ts';
import { openapiDocument } from '../../src/http/openapi.ts';
import { fakeRegistry } from '../fakes/registry.ts';
import { api } from '../support/api-harness.ts';
import { isHere } from '../support/needs.ts';

const HERE = import.meta.dirname;
const TOOLS = join(HERE, '../../node_modules/.cache/client-tools/bin');
/** They end after half an hour. */
const NOT_TRIED = ['StreamServerLogs', 'StreamServerEvents', 'StreamMachines'];

test.serial.runIf(isHere('client-tools'))(
  'a Python client is generated without a warning and creates a server',
  async (t) => {
    const { origin, key, ok } = await api(t);
    const { folder, file } = await documentFile(t, origin);
    const config = join(folder, 'config.yaml');
    await writeFile(config, 'post_hooks: []\n');
    const target = join(folder, 'client_of_dormouse');
    const options = [
      '--path',
      file,
      '--output-path',
      target,
      '--meta',
      'none',
      '--config',
      config,
      '--fail-on-warning',
    ];
    await run(t, 'openapi-python-client', ['generate', ...options]);
    const said = await run(t, 'python', [join(HERE, 'call.py'), folder, origin, key], { input: patterns() });
    t.is(said, 'from-python 0\n');
    t.like(await ok('GET', '/v1/servers/from-python'), { name: 'From Python' });
  },
);

test.serial.runIf(isHere('client-tools'))('a generated Go client compiles and creates a server', async (t) => {
  const { origin, key, ok } = await api(t);
  const { folder, file } = await documentFile(t, origin);
  await cp(join(HERE, 'go'), folder, { recursive: true });
  await mkdir(join(folder, 'api'));
  await run(t, 'oapi-codegen', ['-config', 'oapi-codegen.yaml', '-o', 'api/client.go', file], { cwd: folder });
  const said = await run(t, 'go', ['run', '.', origin, key], { cwd: folder, input: patterns() });
  t.is(said, 'from-go 0\n');
  t.like(await ok('GET', '/v1/servers/from-go'), { name: 'From Go' });
});

test.serial.runIf(isHere('client-tools'))(
  'schemathesis finds no fault with the service by its OpenAPI document',
  async (t) => {
    const telemetry = { expose: async () => '', contentType: 'text/plain', answered: () => {} };
    const registries = [fakeRegistry('modrinth'), fakeRegistry('curseforge')];
    const { origin, key, ok } = await api(t, { registries, telemetry });
    await ok('POST', '/v1/servers', { name: 'abc', ramMb: 256 });
    // Last: what starts a service sets a shorter one.
    t.timeout(15 * 60_000);
    const { folder, file } = await documentFile(t, origin);
    const options = [
      `--url=${origin}`,
      `--header=x-api-key: ${key}`,
      '--seed=1',
      '--max-examples=4',
      '--no-color',
      '--phases=coverage,fuzzing',
      '--request-timeout=20',
      // An example that fails is told as it was found: to make it smaller takes a quarter of an hour.
      '--no-shrink',
      '--generation-codec=utf-8',
      // Messages are as lenient as protojson asks: null is unset, unknown fields are ignored, numbers may be strings.
      '--exclude-checks=negative_data_rejection,positive_data_acceptance',
      ...NOT_TRIED.flatMap((id) => ['--exclude-operation-id', id]),
    ];
    const env = { SCHEMATHESIS_HOOKS: 'hooks', PYTHONPATH: HERE };
    const said = await run(t, 'schemathesis', ['run', file, ...options], { cwd: folder, env });
    t.regex(said, /Tested: 1\d\d/);
  },
);

/** All patterns of the document, as JSON. */
function patterns(): string {
  const found = new Set<string>();
  JSON.stringify(openapiDocument({ baseUrl: 'http://panel.example' }, OPERATIONS), (key, value: unknown) => {
    if (key === 'pattern' && typeof value === 'string') found.add(value);
    return value;
  });
  return JSON.stringify([...found]);
}

async function documentFile(t: ExecutionContext, baseUrl: string): Promise<{ folder: string; file: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'dormouse-client-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const file = join(folder, 'openapi.json');
  await writeFile(file, JSON.stringify(openapiDocument({ baseUrl }, OPERATIONS)));
  return { folder, file };
}

interface RunOptions {
  cwd?: string;
  env?: NodeJS.ProcessEnv;
  input?: string;
}

/** What a program says; fails the test with all of it where it does not end with 0. */
async function run(t: ExecutionContext, program: string, args: string[], options: RunOptions = {}): Promise<string> {
  const env = { ...process.env, PATH: `${TOOLS}:${process.env.PATH}`, ...options.env };
  const child = spawn(program, args, { cwd: options.cwd, env });
  t.teardown(() => child.kill('SIGKILL'));
  child.stdin.end(options.input);
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  const [out, err, code] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  if (code !== 0) t.fail(`${program} ended with ${code}\n${out.slice(-200_000)}\n${err.slice(-5_000)}`);
  return out;
}
