/**
 * Stores a data folder as the current version leaves it, for `test/flows/update.real.test.ts`.
 * `node test/support/make-data-folder.ts <name>` writes `test/fixtures/data-folders/<name>.tar.gz`, and beside it
 * `<name>.json` with the API's replies and the credentials. All secrets belong to the test.
 */
import { execFile } from 'node:child_process';
import { copyFile, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { ExecutionContext } from 'ava';
import { newClient } from '../crash/client.ts';
import { type DataFolder, FOLDERS, repliesOf } from './data-folder.ts';
import { startService } from './service.ts';
import { until } from './until.ts';

const run = promisify(execFile);
const [name = ''] = process.argv.slice(2);
/** How many times faster the service's clock runs than the machine's, so that minutes are charged. */
const SPEED = 60;
const teardowns: (() => unknown)[] = [];
const t = {
  teardown: (work: () => unknown) => void teardowns.push(work),
  timeout: () => {},
} as unknown as ExecutionContext;

const begun = Date.now();
const program = ['test/flows/hurried-main.ts', String(begun), String(SPEED)];
const settings = {
  SIGNUP: 'closed',
  SIGNUP_CREDIT_MICROS: '5000000',
  IDLE_TIMEOUT_MINUTES: '1440',
  MINECRAFT_EULA: 'accept',
};
const service = await startService(t, { ...settings, START_TIMEOUT_SECONDS: '7200' }, program);
try {
  const { email, password } = JSON.parse(await readFile(join(service.dataDir, 'first-run.json'), 'utf8')) as {
    email: string;
    password: string;
  };
  await copyFile(join(service.dataDir, 'first-run.json'), join(service.dataDir, 'operator.json'));
  const client = newClient(service);
  await client.signIn();
  const { accountId } = await service.call<{ accountId: string }>('GET', '/v1/whoami');

  await service.call('POST', `/v1/operator/accounts/${accountId}:credit`, {
    amountMicros: 1_234_567,
    kind: 'credit',
    note: 'A gift',
    ref: 'gift-1',
  });
  await service.create('sleeping', '1.20.4', { motd: 'Good night', properties: { difficulty: 'hard' } });
  await service.create('played', '1.21.4');
  await service.create('awake', '1.20.4');
  await service.create('barred', '1.20.4');
  await service.call('POST', '/v1/servers', { name: 'broken', type: 'fabric', version: '1.21.4', ramMb: 512 });
  for (const id of ['played', 'awake', 'broken']) await service.call('POST', `/v1/servers/${id}:start`);
  await service.reach('awake', 'running');
  await service.reach('broken', 'start_failed');
  await service.reach('played', 'running');
  await service.call('POST', '/v1/servers/played/schedules', { kind: 'start', cronExpr: '1 1 1 1 *' });
  await delay(4_000);
  await service.call('POST', '/v1/servers/played:stop');
  await service.reach('played', 'hibernated');
  await service.call('POST', '/v1/servers/played/backups');
  await until(async () => {
    const { backups } = await service.call<{ backups: { state: string }[] }>('GET', '/v1/servers/played/backups');
    return backups[0]?.state === 'ready';
  });
  await service.call('POST', '/v1/templates', { serverId: 'sleeping', name: 'Night' });
  await service.call('POST', '/v1/operator/servers/barred:suspend', { reason: 'A test' });
  await service.call('POST', '/v1/servers/played/members', { email: 'ada@example.com', role: 'member' });
  await service.call('POST', '/v1/servers/played/members', { email: 'bob@example.com', role: 'limited' });

  const started = await client.call('POST', '/v1/public/device/start', {});
  if (started.is !== 'done') throw new Error(JSON.stringify(started));
  const said: Record<string, unknown> = {};
  for (const [field, path] of Object.entries(repliesOf(accountId))) said[field] = await service.call('GET', path);
  const at = begun + (Date.now() - begun) * SPEED;
  await service.stop();

  const grant = { deviceCode: String(started.json['device_code']), userCode: String(started.json['user_code']) };
  const folder: DataFolder = { at, accountId, email, password, apiKey: service.apiKey, grant, said };
  await rm(join(service.dataDir, 'operator.json'));
  await writeFile(join(FOLDERS, `${name}.json`), `${JSON.stringify(folder, undefined, 2)}\n`);
  await run('tar', [
    '-czf',
    join(FOLDERS, `${name}.tar.gz`),
    '--exclude=compile-cache',
    '--exclude=game-compile-cache',
    '-C',
    service.dataDir,
    '.',
  ]);
} finally {
  for (const teardown of teardowns.toReversed()) await teardown();
}
