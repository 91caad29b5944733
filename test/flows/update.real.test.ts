import { execFile } from 'node:child_process';
import { readFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import { type Client, newClient } from '../crash/client.ts';
import { type DataFolder, FOLDERS, repliesOf } from '../support/data-folder.ts';
import { type ServerRecord, type Service, startService } from '../support/service.ts';

type Replies = Record<string, unknown>;

const run = promisify(execFile);
const VERSIONS = ['0.1.0'];
/** The time between the stop of the old version and this start. The pending grant is valid for ten minutes. */
const LATER_MS = 5_000;
/** The fields of a server that only its owner may change. The state may differ, because `awake` starts again. */
const SETTINGS = 'name hostname container type version ramMb plan motd properties'.split(' ');
const KEPT = ['id', 'accountId', 'createdAt', 'bakedAt', 'startErrorCode', 'startErrorSummary', ...SETTINGS];

/** Starts the current service on a copy of the data folder of an old version. */
async function updated(t: ExecutionContext, version: string): Promise<{ service: Service; folder: DataFolder }> {
  const folder = JSON.parse(await readFile(join(FOLDERS, `${version}.json`), 'utf8')) as DataFolder;
  const program = ['test/flows/hurried-main.ts', String(Date.now()), '1', String(folder.at + LATER_MS)];
  const service = await startService(t, { IDLE_TIMEOUT_MINUTES: '1440' }, program, async (dataDir) => {
    await run('tar', ['-xzf', join(FOLDERS, `${version}.tar.gz`), '-C', dataDir]);
    const { email, password } = folder;
    await writeFile(join(dataDir, 'operator.json'), JSON.stringify({ email, password }));
    return folder.apiKey;
  });
  return { service, folder };
}

function kept(reply: unknown): object[] {
  const { servers } = reply as { servers: (ServerRecord & Record<string, unknown>)[] };
  return servers.map((server) => Object.fromEntries(KEPT.map((field) => [field, server[field]])));
}

function contains(t: ExecutionContext, all: object[], some: object[], what: string): void {
  const texts = new Set(all.map((each) => JSON.stringify(each)));
  for (const each of some) t.true(texts.has(JSON.stringify(each)), `${what}: ${JSON.stringify(each)}`);
}

/** Completes a device sign-in that began before the update. */
async function signsIn(t: ExecutionContext, client: Client, { accountId, grant }: DataFolder): Promise<void> {
  const poll = () => client.call('POST', '/v1/public/device/poll', { device_code: grant.deviceCode });
  t.like(await poll(), { is: 'refused', reason: 'authorization_pending' });
  await client.signIn();
  const { userCode } = grant;
  t.like(await client.call('POST', '/v1/session/device:approve', { userCode }, { session: true }), { is: 'done' });
  let polled = await poll();
  for (; polled.is === 'refused' && polled.reason === 'slow_down'; polled = await poll()) await delay(6_000);
  const key = polled.is === 'done' ? String(polled.json['api_key']) : JSON.stringify(polled);
  t.like(await client.call('GET', '/v1/whoami', undefined, { key }), { is: 'done', json: { accountId } }, key);
}

function sameLists(t: ExecutionContext, now: Replies, said: Replies): void {
  for (const name of ['members', 'backups', 'schedules', 'players', 'usage', 'failures'])
    t.deepEqual(asFarAs(said[name], now[name]), said[name], name);
  const entries = (from: Replies, name: string) => (from[name] as { entries: object[] }).entries;
  contains(t, entries(now, 'audit'), entries(said, 'audit'), 'audit');
  const own = (from: Replies) =>
    (from['templates'] as { templates: { name: string }[] }).templates.filter(({ name }) => name === 'Night');
  t.is(own(now).length, 1);
  t.deepEqual(asFarAs(own(said), own(now)), own(said));
}

/** Returns the new value without fields that the old one lacks. Later releases add fields. */
function asFarAs(before: unknown, now: unknown): unknown {
  if (typeof before !== 'object' || before === null || typeof now !== 'object' || now === null) return now;
  if (Array.isArray(now)) return now.map((each, index) => asFarAs((before as unknown[])[index], each));
  const names = new Set(Object.keys(before));
  return Object.fromEntries(
    Object.entries(now)
      .filter(([name]) => names.has(name))
      .map(([name, value]) => [name, asFarAs((before as Record<string, unknown>)[name], value)]),
  );
}

/** Asserts that wallet and ledger are the same, except for a minute that `awake` may have been charged since. */
function sameMoney(t: ExecutionContext, now: Replies, said: Replies): void {
  const entries = (from: Replies) => (from['ledger'] as { entries: { serverId: string }[] }).entries;
  const closed = entries(said).filter(({ serverId }) => serverId !== 'awake');
  contains(t, entries(now), closed, 'ledger');
  const balance = ({ wallet }: Replies) => Number((wallet as { balanceMicros: string }).balanceMicros);
  const [before, after] = [balance(said), balance(now)];
  t.true(after <= before && after > before - 3_000, `${before} before, ${after} after`);
}

for (const version of VERSIONS) {
  test(`an update from ${version} loses nothing`, async (t) => {
    const { service, folder } = await updated(t, version);
    const { accountId, said } = folder;
    const now: Replies = {};
    for (const [name, path] of Object.entries(repliesOf(accountId))) now[name] = await service.call('GET', path);
    const client = newClient(service);
    await signsIn(t, client, folder);

    t.deepEqual(kept(now['servers']), kept(said['servers']));
    for (const { id, state } of (said['servers'] as { servers: ServerRecord[] }).servers)
      await service.reach(id, state);
    sameLists(t, now, said);
    sameMoney(t, now, said);
    t.like(await client.call('POST', '/v1/servers/barred:start'), { is: 'refused', reason: 'SERVER_SUSPENDED' });

    // A restore verifies the archive's hash.
    const [backup] = (now['backups'] as { backups: { id: string }[] }).backups;
    t.like(await client.call('POST', `/v1/servers/played/backups/${backup?.id}:restore`), { is: 'done' });
    await service.reach('played', 'hibernated');
    t.true((await readdir(join(service.dataDir, 'servers/played/world'))).includes('level.dat'));
    t.is(await service.stop(), 0);
  });
}
