import { createHash, randomBytes } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { createS3, etagOf } from '../../../src/backups/offsite/s3.ts';
import type { Bucket } from '../../../src/backups/offsite/bucket.ts';
import { MIB } from '../../../src/kernel/units.ts';
import { isHere } from '../../support/needs.ts';
import { BUCKET, type S3UnderTest, badLine, startS3 } from '../../support/s3.ts';

let server: Promise<S3UnderTest> | undefined;
const signal = new AbortController().signal;

test.after.always(async () => await (await server)?.remove());

async function store(t: ExecutionContext): Promise<S3UnderTest> {
  t.timeout(300_000);
  return await (server ??= startS3());
}

const partOf = (bytes: Buffer) => ({ bytes, sha256: createHash('sha256').update(bytes).digest('hex') });

async function read(bucket: Bucket, key: string, start: number, end: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of bucket.read(key, { start, end })) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** Uploads 7 MiB in two parts. */
async function uploaded(bucket: Bucket, key: string): Promise<Buffer> {
  const content = randomBytes(7 * MIB);
  const upload = { key, uploadId: await bucket.begin(key, 'abc') };
  const first = await bucket.sendPart(upload, 1, partOf(content.subarray(0, 5 * MIB)), signal);
  const second = await bucket.sendPart(upload, 2, partOf(content.subarray(5 * MIB)), signal);
  await bucket.complete(upload, [first, second]);
  return content;
}

test.runIf(isHere('s3'))(
  'a multipart upload becomes one object, readable in full and in part until it is removed',
  async (t) => {
    const it = await store(t);
    const bucket = it.offSite('whole').bucket(`s3://${BUCKET}/whole`);
    t.is(await bucket.head('lobby/a.tar.zst'), undefined);
    const content = await uploaded(bucket, 'lobby/a.tar.zst');
    t.deepEqual(await bucket.head('lobby/a.tar.zst'), { sizeBytes: content.length, sha256: 'abc' });
    t.true(content.equals(await read(bucket, 'lobby/a.tar.zst', 0, content.length - 1)));
    t.true(content.subarray(9, 6_000_000).equals(await read(bucket, 'lobby/a.tar.zst', 9, 5_999_999)));
    await bucket.remove('lobby/a.tar.zst');
    await bucket.remove('lobby/a.tar.zst');
    t.is(await bucket.head('lobby/a.tar.zst'), undefined);
    await t.throwsAsync(read(bucket, 'lobby/a.tar.zst', 0, 9), { message: /missing/ });
  },
);

test.runIf(isHere('s3'))(
  'an open upload lists its parts, appears only under its own prefix, and can be aborted',
  async (t) => {
    const it = await store(t);
    const bucket = it.offSite('begun').bucket(`s3://${BUCKET}/begun`);
    const upload = { key: 'lobby/b.tar.zst', uploadId: await bucket.begin('lobby/b.tar.zst', '') };
    const bytes = randomBytes(5 * MIB);
    const sent = await bucket.sendPart(upload, 2, partOf(bytes), signal);
    t.is(sent.etag, etagOf(bytes), 'a process compares this ETag after a kill');
    t.deepEqual(await bucket.parts(upload), [sent]);
    t.deepEqual(await bucket.uploads(''), [upload]);
    t.deepEqual(await bucket.uploads('elsewhere/'), []);
    t.deepEqual(await it.offSite('other').bucket(`s3://${BUCKET}/other`).uploads(''), []);
    await bucket.abort(upload);
    await bucket.abort(upload);
    t.is(await bucket.parts(upload), undefined);
    t.deepEqual(await bucket.uploads(''), []);
  },
);

test.runIf(isHere('s3'))('a part that does not match its checksum is refused', async (t) => {
  const it = await store(t);
  const bucket = it.offSite('sums').bucket(`s3://${BUCKET}/sums`);
  const upload = { key: 'lobby/c.tar.zst', uploadId: await bucket.begin('lobby/c.tar.zst', '') };
  const part = { ...partOf(Buffer.from('what was read')), bytes: Buffer.from('what was sent') };
  const error = await t.throwsAsync(bucket.sendPart(upload, 1, part, signal), { message: /off-site/ });
  t.like(error?.cause, { name: 'XAmzContentSHA256Mismatch' });
  t.deepEqual(await bucket.parts(upload), []);
  await bucket.abort(upload);
});

test.runIf(isHere('s3'))(
  'a bucket read resumes after a cut connection, and fails if the store stays unreachable',
  async (t) => {
    const it = await store(t);
    const line = await badLine(t, it);
    const bucket = createS3(line.options)({ bucket: BUCKET, prefix: 'cut' });
    const content = await uploaded(bucket, 'lobby/d.tar.zst');
    let cuts = 0;
    line.fault = ({ method }) => (method === 'GET' && cuts++ < 3 ? { cutReceived: 2 * MIB } : undefined);
    t.true(content.equals(await read(bucket, 'lobby/d.tar.zst', 0, content.length - 1)));
    t.is(cuts, 4);
    line.fault = () => 'away';
    await t.throwsAsync(read(bucket, 'lobby/d.tar.zst', 0, 9), { message: /off-site/ });
  },
);
