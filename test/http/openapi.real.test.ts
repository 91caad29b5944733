import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import test from 'ava';
import { openapiDocument } from '../../src/http/openapi.ts';
import { OPERATIONS } from '../../src/reference.ts';
import { isHere } from '../support/needs.ts';

const ROOT = join(import.meta.dirname, '../..');
const run = promisify(execFile);

test.runIf(isHere('tools'))('the OpenAPI document passes the linter', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'dormouse-openapi-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const file = join(folder, 'openapi.json');
  await writeFile(file, JSON.stringify(openapiDocument({ baseUrl: 'http://panel.example' }, OPERATIONS)));
  const program = join(ROOT, 'test/node_modules/@redocly/cli/bin/cli.js');
  const options = ['--config', join(ROOT, '.redocly.yaml'), '--format', 'json', '--max-problems', '1000'];
  const env = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' };
  const { stdout } = await run(process.execPath, [program, 'lint', file, ...options], { env }).catch(
    // The linter exits with 1 if it finds problems, but still prints them.
    (failed: { stdout: string }) => failed,
  );
  const { problems } = JSON.parse(stdout) as {
    problems: { ruleId: string; message: string; location: { pointer?: string }[] }[];
  };
  t.deepEqual(
    problems.map(({ ruleId, message, location }) => `${location[0]?.pointer} ${ruleId}: ${message}`),
    [],
  );
});
