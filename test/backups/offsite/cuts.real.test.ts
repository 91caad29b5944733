import { createHash, randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { readFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { type OffSite, createOffSite } from '../../../src/backups/offsite/offsite.ts';
import { insertRemoval } from '../../../src/backups/offsite/rows.ts';
import { createS3 } from '../../../src/backups/offsite/s3.ts';
import type { FreeDisk } from '../../../src/disk/free.ts';
import { MIB } from '../../../src/kernel/units.ts';
import type { ApiUnderTest } from '../../support/api-harness.ts';
import { isHere } from '../../support/needs.ts';
import { BUCKET, type BadLine, type Fault, type S3UnderTest, badLine, startS3 } from '../../support/s3.ts';
import { plant, treeOf } from '../../support/tree.ts';
import { archiveOf, backUp, backupsOf, ended, filesOf, find, leaving, restore, rootOf, sleeping } from '../parts.ts';

let server: Promise<S3UnderTest> | undefined;
let prefixes = 0;

test.after.always(async () => await (await server)?.remove());

interface Far {
  it: ApiUnderTest;
  line: BadLine;
  /** Lists the server's objects in the store. */
  stored(): Promise<string[]>;
  /** Advances the clock until the backup is off site. */
  arrives(id: string): Promise<void>;
  /** Whether the store has an unfinished upload. */
  isUploadOpen(): Promise<boolean>;
}

/** A server whose backups are uploaded in more than one part over a connection that can fail. */
async function far(t: ExecutionContext, free?: FreeDisk, passed?: OffSite['passed']): Promise<Far> {
  const s3 = await (server ??= startS3());
  const line = await badLine(t, s3);
  const prefix = `test-${++prefixes}`;
  const offSite = createOffSite(`s3://${BUCKET}/${prefix}`, createS3(line.options), passed);
  const it = await sleeping(t, { world: { room: { offSite, ...(free && { free }) } } });
  await plant(rootOf(it, 'lobby'), { 'world/region/r.1.0.mca': randomBytes(12 * MIB) });
  const folder = join(s3.buckets, BUCKET, prefix, 'lobby');
  return {
    it,
    line,
    stored: () => readdir(folder).catch(() => []),
    async arrives(id) {
      await it.passUntil(async () => (await find(it, 'lobby', id))?.offSite === true, 1_000);
      await it.until(async () => (await filesOf(it, 'lobby')).length === 0);
    },
    isUploadOpen: async () => (await s3.offSite(prefix).bucket(offSite.location).uploads('')).length > 0,
  };
}

const isPart = ({ method, url }: IncomingMessage) => method === 'PUT' && /partNumber=/.test(url ?? '');
const isComplete = ({ method, url }: IncomingMessage) => method === 'POST' && /uploadId=/.test(url ?? '');

/** Each fault hits `count` matching requests. Later requests succeed. */
const FAULTS: Record<string, { count: number; of: (request: IncomingMessage) => boolean; fault: Fault }> = {
  'a store that answers 503 for a while': { count: 8, of: () => true, fault: { status: 503 } },
  'a store that answers 500 to parts': { count: 4, of: isPart, fault: { status: 500 } },
  'a line that is cut in the middle of parts': { count: 4, of: isPart, fault: { cutSent: 3 * MIB } },
  'a lost answer to a part': { count: 3, of: isPart, fault: { cutReceived: 0 } },
  'a lost answer to the end of the upload': { count: 3, of: isComplete, fault: { cutReceived: 0 } },
};

for (const [name, { count, of, fault }] of Object.entries(FAULTS))
  test.runIf(isHere('s3'))(
    `${name}: the backup is ready at once and reaches the store exactly once, intact`,
    async (t) => {
      const there = await far(t);
      const { it, line } = there;
      let faults = 0;
      line.fault = (request) => (of(request) && faults < count && ++faults ? fault : undefined);
      const { id, sizeBytes } = await backUp(it, 'lobby');
      await there.arrives(id);
      t.is(faults, count);
      t.deepEqual(await there.stored(), [`${id}.tar.zst`]);
      t.false(await there.isUploadOpen());
      const whole = await fetch(`${it.origin}/v1/servers/lobby/backups/${id}:download`, {
        headers: { 'x-api-key': it.key },
      });
      const bytes = Buffer.from(await whole.arrayBuffer());
      t.is(bytes.length, Number(sizeBytes));
      const digest = createHash('sha256').update(bytes).digest('base64');
      t.is(whole.headers.get('repr-digest'), `sha-256=:${digest}:`);
    },
  );

test.runIf(isHere('s3'))(
  'an unchecked store receives no requests, and backups are uploaded after its check passes',
  async (t) => {
    let isRight = false;
    const there = await far(t, undefined, async () => {
      if (!isRight) throw new Error('not checked yet');
    });
    const { it, line } = there;
    const { id } = await backUp(it, 'lobby');
    await it.clock.advance(60_000);
    t.deepEqual(line.seen, []);
    t.is((await filesOf(it, 'lobby')).length, 1);
    isRight = true;
    await there.arrives(id);
  },
);

test.runIf(isHere('s3'))(
  'backups work in the folder while the store is away, and off-site ones return BACKUP_STORE_AWAY',
  async (t) => {
    const there = await far(t);
    const { it, line } = there;
    const away = await backUp(it, 'lobby');
    await there.arrives(away.id);
    line.fault = () => 'away';
    await plant(rootOf(it, 'lobby'), { 'world/level.dat': 'played since' });
    const played = await treeOf(rootOf(it, 'lobby'));
    const refused = await restore(it, away.id);
    t.deepEqual([refused.status, refused.reason], [503, 'BACKUP_STORE_AWAY'], refused.text);
    t.is((await it.call('GET', `/v1/servers/lobby/backups/${away.id}:download`)).reason, 'BACKUP_STORE_AWAY');
    t.deepEqual(await treeOf(rootOf(it, 'lobby')), played);

    const near = await backUp(it, 'lobby');
    await plant(rootOf(it, 'lobby'), { 'world/level.dat': 'played again' });
    t.is((await it.during(restore(it, near.id))).status, 200);
    t.deepEqual(await treeOf(rootOf(it, 'lobby')), played);

    // The backup leaves the list at once. Its object is removed once the store is reachable.
    await it.ok('POST', `/v1/servers/lobby/backups/${away.id}:delete`);
    t.is(await find(it, 'lobby', away.id), undefined);
    t.deepEqual(await there.stored(), [`${away.id}.tar.zst`]);
    line.fault = () => undefined;
    await there.arrives(near.id);
    await it.until(async () => (await there.stored()).length === 1);
    t.deepEqual(await there.stored(), [`${near.id}.tar.zst`]);
  },
);

test.runIf(isHere('s3'))(
  'a store that becomes unreachable during a restore leaves the server’s files unchanged',
  async (t) => {
    const there = await far(t);
    const { it, line } = there;
    const { id } = await backUp(it, 'lobby');
    await there.arrives(id);
    await plant(rootOf(it, 'lobby'), { 'world/level.dat': 'played since' });
    const played = await treeOf(rootOf(it, 'lobby'));
    let reads = 0;
    line.fault = ({ method }) => (method === 'GET' ? { cutReceived: ++reads === 1 ? 4 * MIB : 0 } : undefined);
    const answer = await it.during(restore(it, id));
    t.deepEqual([answer.status, answer.reason], [503, 'BACKUP_STORE_AWAY'], answer.text);
    t.deepEqual(await treeOf(rootOf(it, 'lobby')), played);
    t.deepEqual(await readdir(join(it.dataDir, 'servers')), ['lobby'], 'the staged files are removed');
    line.fault = () => undefined;
    t.is((await it.during(restore(it, id))).status, 200);
  },
);

test.runIf(isHere('s3'))(
  'a full disk during a restore from off site leaves the server’s files unchanged',
  async (t) => {
    let least = 0;
    const there = await far(t, { hold: (path, bytes) => leaving(least).hold(path, bytes) });
    const { it } = there;
    const { id } = await backUp(it, 'lobby');
    await there.arrives(id);
    const before = await treeOf(rootOf(it, 'lobby'));
    least = Number.MAX_SAFE_INTEGER;
    const answer = await it.during(restore(it, id));
    t.deepEqual([answer.status, answer.reason], [429, 'DISK_FULL'], answer.text);
    t.deepEqual(await treeOf(rootOf(it, 'lobby')), before);
    t.deepEqual(await readdir(join(it.dataDir, 'servers')), ['lobby']);
  },
);

test.runIf(isHere('s3'))('a backup deleted during its upload leaves no object in the store', async (t) => {
  const there = await far(t);
  const { it, line } = there;
  const { promise: reached, resolve } = Promise.withResolvers<void>();
  line.fault = (request) => {
    if (!isPart(request)) return undefined;
    resolve();
    return { cutSent: 100_000 };
  };
  const { id } = await backUp(it, 'lobby');
  await reached;
  await it.ok('POST', `/v1/servers/lobby/backups/${id}:delete`);
  t.deepEqual(await backupsOf(it, 'lobby'), []);
  line.fault = () => undefined;
  await it.passUntil(async () => (await it.store.query('SELECT 1 FROM "offsite_removals"')).length === 0, 1_000);
  t.deepEqual(await there.stored(), []);
  t.false(await there.isUploadOpen());
  t.deepEqual(await filesOf(it, 'lobby'), []);
});

test.runIf(isHere('s3'))('a backup that cannot be uploaded does not block the next one', async (t) => {
  const there = await far(t);
  const { it, line } = there;
  let first: string | undefined;
  line.fault = ({ url = '' }) => {
    first ??= /lobby\/(\w+)\.tar/.exec(url)?.[1];
    return first !== undefined && url.includes(first) ? { status: 403 } : undefined;
  };
  const { id } = await backUp(it, 'lobby');
  const tries = () => line.seen.filter((each) => each.includes(id)).length;
  await it.until(() => tries() > 0);
  const next = await backUp(it, 'lobby');
  // The clock stands still, so the failed upload is not retried.
  await it.until(async () => (await find(it, 'lobby', next.id))?.offSite === true);
  t.is(first, id);
  line.fault = () => undefined;
  await there.arrives(id);
});

test.runIf(isHere('s3'))(
  'an off-site removal does not wait for uploads, and a removal from a missing bucket is abandoned',
  async (t) => {
    const there = await far(t);
    const { it, line } = there;
    const old = await backUp(it, 'lobby');
    await there.arrives(old.id);
    const { promise: goOn, resolve } = Promise.withResolvers<void>();
    t.teardown(resolve);
    line.held = (request) => (isPart(request) ? goOn : undefined);
    const { id } = await backUp(it, 'lobby');
    await it.until(() => line.seen.some((each) => each.includes(id) && /partNumber=/.test(each)));
    // A removal from the bucket of earlier settings.
    await it.store.write((tx) =>
      insertRemoval(tx, { location: 's3://gone-since/a', serverId: 'lobby', backupId: 'b1', at: 0 }),
    );
    await it.ok('POST', `/v1/servers/lobby/backups/${old.id}:delete`);
    await it.until(async () => (await it.store.query('SELECT 1 FROM "offsite_removals"')).length === 0);
    t.true(line.seen.some((each) => each.includes('/gone-since')));
    t.false((await there.stored()).includes(`${old.id}.tar.zst`));
    resolve();
    await there.arrives(id);
  },
);

test.runIf(isHere('s3'))('a backup damaged in the folder is not uploaded off site', async (t) => {
  const there = await far(t);
  const { it, line } = there;
  line.fault = () => ({ status: 503 });
  const { id } = await ended(it, 'lobby', (await it.ok('POST', '/v1/servers/lobby/backups'))['id'] as string);
  const path = archiveOf(it, 'lobby', id);
  const bytes = await readFile(path);
  bytes[9_000_000]! ^= 1;
  await writeFile(path, bytes);
  line.fault = () => undefined;
  await it.passUntil(async () => (await it.store.query('SELECT 1 FROM "backup_uploads"')).length === 0, 1_000);
  t.deepEqual(await there.stored(), []);
  t.false(await there.isUploadOpen());
  t.is((await find(it, 'lobby', id))?.offSite, false);
  t.is((await it.during(restore(it, id))).reason, 'BACKUP_CORRUPT');
});
