import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import test, { type ExecutionContext } from 'ava';
import { insertAccount } from '../../src/accounts/rows.ts';
import type { Disks } from '../../src/disk/disks.ts';
import { notedBuild } from '../../src/game/installed-build.ts';
import { Imports } from '../../src/imports/imports.ts';
import type { Creation } from '../../src/servers/creation.ts';
import type { Shared } from '../../src/servers/shared.ts';
import { createWorkerPool } from '../../src/kernel/workers/pool.ts';
import { type ApiUnderTest, api } from '../support/api-harness.ts';
import { TAR_END, tarBlock } from '../support/hostile-archives.ts';
import { SERVER_FILES, tarOf } from '../support/server-archive.ts';

/** Uploads an archive and returns the reply. */
const upload = ({ call }: ApiUnderTest, files: Record<string, string> = SERVER_FILES, name = 'My Server.tar') =>
  call('POST', `/v1/imports?name=${encodeURIComponent(name)}`, { raw: tarOf(files) });

async function imported(t: ExecutionContext, it: ApiUnderTest): Promise<string> {
  const { status, json, text } = await upload(it);
  t.is(status, 200, text);
  return String(json['id']);
}

test(`an archive becomes a server with its files, software, memory and properties`, async (t) => {
  const it = await api(t);
  const found = await upload(it);
  t.like(found.json, { name: 'My Server', type: 'paper', version: '1.21.8', ramMb: 1024, files: 3, motd: 'Hello' });
  t.deepEqual(readdirSync(join(it.dataDir, 'imports')), [found.json['id']]);
  t.false((await it.call('GET', '/v1/servers')).text.includes('my-server'));
  const made = await it.call('POST', `/v1/imports/${String(found.json['id'])}:confirm`, { body: {} });
  t.is(made.status, 200, made.text);
  t.like(made.json, { id: 'my-server', type: 'paper', version: '1.21.8', ramMb: 1024, state: 'hibernated' });
  const { entries } = (await it.call('GET', '/v1/servers/my-server/audit')).json as {
    entries: { action: string; detail: string }[];
  };
  t.regex(entries.find(({ action }) => action === 'server.import')?.detail ?? '', /My Server/);
  t.like(made.json['properties'], { 'level-name': 'lobby', pvp: 'false' });
  const root = join(it.dataDir, 'servers/my-server');
  t.is(readFileSync(join(root, 'lobby/level.dat'), 'utf8'), 'level');
  t.is(readFileSync(join(root, 'plugins/Vault-1.7.jar'), 'utf8'), 'jar');
  t.is(await notedBuild(root, { type: 'paper', version: '1.21.8', modpackPlatform: '' }), '60');
  t.false(['eula.txt', 'start.sh', 'paper-1.21.8-60.jar'].some((name) => existsSync(join(root, name))));
  t.deepEqual(readdirSync(join(it.dataDir, 'imports')), []);
  t.is((await it.call('GET', `/v1/imports/${String(found.json['id'])}`)).reason, 'IMPORT_NOT_FOUND');
});

test(`the fields of a confirmation replace the findings`, async (t) => {
  const it = await api(t);
  const id = await imported(t, it);
  const body = { name: 'Other', type: 'purpur', version: '1.20.4', ramMb: 2048 };
  t.like((await it.call('POST', `/v1/imports/${id}:confirm`, { body })).json, body);
});

test(`an import is unknown to other accounts`, async (t) => {
  const it = await api(t);
  const id = await imported(t, it);
  await it.store.write(async (tx) => {
    await insertAccount(tx, { id: 'acc_other', name: 'Other', createdAt: 0 });
  });
  const { key } = await it.mint(['servers:write'], { accountId: 'acc_other' });
  for (const [method, verb] of [
    ['GET', ''],
    ['POST', ':confirm'],
    ['POST', ':delete'],
  ] as const) {
    const answer = await it.call(method, `/v1/imports/${id}${verb}`, { key, ...(method === 'POST' && { body: {} }) });
    t.is(answer.reason, 'IMPORT_NOT_FOUND');
  }
  t.is((await it.call('GET', `/v1/imports/${id}`)).status, 200);
});

test(`a deleted import leaves no files, and a fourth import is refused until then`, async (t) => {
  const it = await api(t);
  const ids = [await imported(t, it), await imported(t, it), await imported(t, it)];
  t.is((await upload(it)).reason, 'TOO_MANY_IMPORTS');
  t.is((await it.call('POST', `/v1/imports/${ids[0]}:delete`, { body: {} })).status, 200);
  t.is(readdirSync(join(it.dataDir, 'imports')).length, 2);
  await imported(t, it);
});

test(`an archive without a server, and a file that is no archive, leave nothing behind`, async (t) => {
  const it = await api(t);
  t.is((await upload(it, { 'cat.jpg': 'cat' })).reason, 'NO_SERVER_FOUND');
  t.is((await it.call('POST', '/v1/imports', { raw: 'x'.repeat(2000) })).reason, 'UNKNOWN_ARCHIVE');
  t.deepEqual(readdirSync(join(it.dataDir, 'imports')), []);
});

test(`a refused server leaves the import, whose files are in no server`, async (t) => {
  const it = await api(t);
  const id = await imported(t, it);
  const answer = await it.call('POST', `/v1/imports/${id}:confirm`, { body: { region: 'nowhere' } });
  t.is(answer.reason, 'INVALID_FIELD');
  t.deepEqual(readdirSync(join(it.dataDir, 'imports', id)).sort(), ['archive', 'import.json']);
  t.is((await it.call('POST', `/v1/imports/${id}:confirm`, { body: {} })).status, 200);
});

/** Opens the imports of the data folder again, as the next process does. */
async function reopened(t: ExecutionContext, it: ApiUnderTest): Promise<Imports> {
  const hold = { grow: () => Promise.resolve(), release() {} };
  const disks = { accounts: { holdFor: () => Promise.resolve(hold) } } as unknown as Disks;
  const { clock, servers, dataDir } = it;
  const shared = { clock, servers, onClose: (close: () => void) => t.teardown(close) } as unknown as Shared;
  const folders = { dataDir, owner: undefined } as Parameters<typeof Imports.open>[1];
  return await Imports.open(shared, folders, disks, createWorkerPool({}), {} as Creation);
}

/** Leaves an import as a process does that is killed after it has moved the files into a server's folder. */
async function killedWhilePlacing(t: ExecutionContext, it: ApiUnderTest, serverId: string) {
  const id = await imported(t, it);
  const folder = join(it.dataDir, 'imports', id);
  const record = JSON.parse(readFileSync(join(folder, 'import.json'), 'utf8')) as object;
  writeFileSync(join(folder, 'import.json'), JSON.stringify({ ...record, serverId }));
  mkdirSync(join(it.dataDir, 'servers', serverId), { recursive: true });
  writeFileSync(join(it.dataDir, 'servers', serverId, 'a.txt'), 'file');
  return { id, folder };
}

test(`after a kill before the server is stored, its folder is gone and the import can be confirmed again`, async (t) => {
  const it = await api(t);
  const { id, folder } = await killedWhilePlacing(t, it, 'lost');
  const imports = await reopened(t, it);
  t.false(existsSync(join(it.dataDir, 'servers/lost')));
  t.deepEqual(readdirSync(folder).sort(), ['archive', 'import.json']);
  t.is(imports.get('acc_test', id).serverId, '');
});

test(`after a kill once the server is stored, it keeps its files and the import is gone`, async (t) => {
  const it = await api(t);
  await it.create('made');
  const { id, folder } = await killedWhilePlacing(t, it, 'made');
  const imports = await reopened(t, it);
  t.is(readFileSync(join(it.dataDir, 'servers/made/a.txt'), 'utf8'), 'file');
  t.false(existsSync(folder));
  t.throws(() => imports.get('acc_test', id), { message: /does not exist/ });
});

test(`after a kill while files are unpacked, or uploaded, only whole imports remain`, async (t) => {
  const it = await api(t);
  const id = await imported(t, it);
  mkdirSync(join(it.dataDir, 'imports', id, 'tree/world'), { recursive: true });
  mkdirSync(join(it.dataDir, 'imports/imp_half'));
  writeFileSync(join(it.dataDir, 'imports/imp_half/archive'), 'half');
  await reopened(t, it);
  t.deepEqual(readdirSync(join(it.dataDir, 'imports')), [id]);
  t.deepEqual(readdirSync(join(it.dataDir, 'imports', id)).sort(), ['archive', 'import.json']);
});

test(`an import expires after a day`, async (t) => {
  const it = await api(t);
  const id = await imported(t, it);
  await it.clock.advance(24 * 60 * 60 * 1_000 + 1);
  t.is((await it.call('GET', `/v1/imports/${id}`)).reason, 'IMPORT_NOT_FOUND');
  await imported(t, it);
  t.false(readdirSync(join(it.dataDir, 'imports')).includes(id));
});

test(`too many entries, a bomb, a path outside and a deep path are refused before anything is kept`, async (t) => {
  const it = await api(t);
  const many = Array.from({ length: 100_001 }, (_, nth) => tarBlock(`top/${nth}`, '0'));
  const bomb = gzipSync(tarBlock('top/server.properties', '0', Buffer.alloc(12 * 1_048_576)), { level: 9 });
  for (const [raw, reason] of [
    [gzipSync(Buffer.concat([...many, TAR_END]), { level: 1 }), 'ARCHIVE_TOO_LARGE'],
    [bomb, 'ARCHIVE_TOO_LARGE'],
    [tarOf({ '../../evil/server.properties': 'x' }), 'BAD_ARCHIVE'],
    [tarOf({ [`${'a/'.repeat(40)}server.properties`]: 'x' }, ''), 'NO_SERVER_FOUND'],
    [Buffer.concat([tarBlock('server.properties', '2'), TAR_END]), 'BAD_ARCHIVE'],
  ] as const) {
    t.is((await it.call('POST', '/v1/imports', { raw })).reason, reason);
    t.deepEqual(readdirSync(join(it.dataDir, 'imports')), []);
  }
});

test(`a server more than five folders below the top is not found`, async (t) => {
  const it = await api(t);
  t.is((await upload(it, { 'b/c/d/e/server.properties': 'x' })).status, 200);
  t.is((await upload(it, { 'b/c/d/e/f/server.properties': 'x' })).reason, 'NO_SERVER_FOUND');
});

test(`an import larger than the server's quota is refused and stays, for a larger server`, async (t) => {
  const it = await api(t, {
    diskQuota: [
      { ramMb: 1024, quotaMb: 1 },
      { ramMb: Infinity, quotaMb: 10 },
    ],
  });
  const { json } = await upload(it, { ...SERVER_FILES, 'lobby/region/r.0.0.mca': 'x'.repeat(2 * 1_048_576) });
  const confirm = (ramMb: number) => it.call('POST', `/v1/imports/${String(json['id'])}:confirm`, { body: { ramMb } });
  t.like(await confirm(1024), { reason: 'DISK_QUOTA_EXCEEDED', status: 429 });
  t.is((await confirm(2048)).status, 200);
});

test(`an import larger than the account's disk limit is refused, and its bytes are free again`, async (t) => {
  const it = await api(t, { accountDiskMb: 3 });
  const large = { ...SERVER_FILES, 'lobby/region/r.0.0.mca': 'x'.repeat(4 * 1_048_576) };
  t.is((await upload(it, large)).reason, 'ACCOUNT_DISK_EXCEEDED');
  t.deepEqual(readdirSync(join(it.dataDir, 'imports')), []);
  t.is((await upload(it, { ...SERVER_FILES, 'lobby/b': 'x'.repeat(2 * 1_048_576) })).status, 200);
  t.is((await upload(it, { ...SERVER_FILES, 'lobby/b': 'x'.repeat(2 * 1_048_576) })).reason, 'ACCOUNT_DISK_EXCEEDED');
});

test(`the list has own imports only, newest first, until they expire`, async (t) => {
  const it = await api(t);
  const ids = [await imported(t, it)];
  await it.clock.advance(1_000);
  ids.unshift(await imported(t, it));
  const listed = async () => ((await it.ok('GET', '/v1/imports'))['imports'] as { id: string }[]).map(({ id }) => id);
  t.deepEqual(await listed(), ids);
  await it.clock.advance(24 * 60 * 60 * 1_000);
  t.deepEqual(await listed(), [ids[0]]);
});

test(`files that an earlier server has left stay as they are, and the import becomes a server with another name`, async (t) => {
  const it = await api(t);
  const id = await imported(t, it);
  mkdirSync(join(it.dataDir, 'servers/my-server'), { recursive: true });
  writeFileSync(join(it.dataDir, 'servers/my-server/left.txt'), 'left');
  const made = await it.call('POST', `/v1/imports/${id}:confirm`, { body: {} });
  t.is(made.json['id'], 'my-server-2', made.text);
  t.deepEqual(readdirSync(join(it.dataDir, 'servers/my-server')), ['left.txt']);
  t.true(existsSync(join(it.dataDir, 'servers/my-server-2/lobby/level.dat')));
});
