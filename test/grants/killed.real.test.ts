import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import { postgresUrl } from '../store/postgres.ts';
import { isHere } from '../support/needs.ts';

/** The report of a child process. */
interface Said {
  error?: string;
  deviceCode: string;
  userCode: string;
  token: string;
  keys: number;
}

const run = promisify(execFile);
const CHILD = join(import.meta.dirname, 'killed-child.ts');

/** Runs child processes one after the other on the same database. `later` is in seconds. */
async function processes(t: ExecutionContext, url?: string) {
  const folder = await mkdtemp(join(tmpdir(), 'dormouse-grants-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const database = url ?? `sqlite:${join(folder, 'dormouse.db')}`;
  const child = (what: string, argument: string, later: number, ...more: string[]) =>
    run(process.execPath, [CHILD, database, folder, `${later * 1_000}`, what, argument, ...more], { timeout: 180_000 });
  const does = async (what: string, argument = '', later = 0) =>
    JSON.parse((await child(what, argument, later)).stdout) as Said;
  await does('setup');
  return {
    does,
    /** Runs a child that is killed between its commit and its answer. */
    killed: async (what: string, argument = '', later = 0): Promise<void> => {
      const error = await t.throwsAsync<Error & { signal?: string }>(child(what, argument, later, 'die'));
      t.is(error?.signal, 'SIGKILL', error?.message);
    },
  };
}

for (const database of ['sqlite', 'postgres'] as const) {
  const urlOf = (t: ExecutionContext) => (database === 'sqlite' ? Promise.resolve(undefined) : postgresUrl(t));

  test.runIf(database === 'sqlite' || isHere('postgres'))(
    `${database}: after a kill between redemption and response, a poll within a minute returns the existing key`,
    async (t) => {
      t.timeout(300_000);
      const { does, killed } = await processes(t, await urlOf(t));
      const { deviceCode, userCode } = await does('start');
      await does('approve', userCode);
      await killed('poll', deviceCode);
      t.is((await does('count')).keys, 1);
      const { token } = await does('poll', deviceCode, 10);
      t.regex(token, /^dmk_/);
      t.deepEqual(await does('poll', deviceCode, 20), { error: 'expired_token' }, 'the token was received');
      t.is((await does('count')).keys, 1, 'one key was created');
    },
  );

  test.runIf(database === 'sqlite' || isHere('postgres'))(
    `${database}: the device code of a killed redemption is expired after a minute`,
    async (t) => {
      t.timeout(300_000);
      const { does, killed } = await processes(t, await urlOf(t));
      const { deviceCode, userCode } = await does('start');
      await does('approve', userCode);
      await killed('poll', deviceCode);
      t.deepEqual(await does('poll', deviceCode, 61), { error: 'expired_token' });
    },
  );
}

test('an acknowledged grant and a stored approval both survive a kill of the process', async (t) => {
  t.timeout(300_000);
  const { does, killed } = await processes(t);
  const [first, second] = [await does('start'), await does('start')];
  await killed('start');
  t.deepEqual(await does('approve', first.userCode, 54), {});
  await killed('approve', second.userCode);
  t.deepEqual(await does('approve', second.userCode, 54), { error: 'not found' });
  for (const { deviceCode } of [first, second]) t.regex((await does('poll', deviceCode, 55)).token, /^dmk_/);
});
