import { execFile } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import { createOffSite } from '../../../src/backups/offsite/offsite.ts';
import { createS3 } from '../../../src/backups/offsite/s3.ts';
import { fastDir } from '../../support/fast-dir.ts';
import { fewAtATime } from '../../support/few.ts';
import { isHere } from '../../support/needs.ts';
import { BUCKET, type BadLine, type S3UnderTest, badLine, startS3 } from '../../support/s3.ts';
import { plant, treeOf } from '../../support/tree.ts';
import { headless } from '../headless.ts';

const run = promisify(execFile);
const CHILD = join(import.meta.dirname, '../killed-child.ts');
const takePlace = fewAtATime(2);
/** Fills three parts of at most 8 MiB each. */
const THREE_PARTS = randomBytes(20_000_000);
let server: Promise<S3UnderTest> | undefined;
let prefixes = 0;

test.after.always(async () => await (await server)?.remove());

interface Killed {
  folder: string;
  location: string;
  /** The folder of the store's objects with the prefix. */
  bucket: string;
  /** The connection of the next process to the store. */
  line: BadLine;
  saved: object;
  next: (what: string) => ReturnType<typeof headless>;
}

/** Creates a backup of a server and kills the process at a step of its upload. */
async function killed(t: ExecutionContext, step: string, what = 'setup'): Promise<Killed> {
  await takePlace(t);
  t.timeout(300_000);
  const s3 = await (server ??= startS3());
  const prefix = `test-${++prefixes}`;
  const location = `s3://${BUCKET}/${prefix}`;
  const folder = await mkdtemp(join(await fastDir(), 'dormouse-killed-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const root = join(folder, 'servers/lobby');
  await plant(root, { 'world/level.dat': 'backed up', 'world/region/r.mca': THREE_PARTS });
  const saved = await treeOf(root);
  const TEST_S3 = JSON.stringify({ location, options: s3.options });
  const child = (...given: string[]) =>
    run(process.execPath, [CHILD, folder, ...given], { timeout: 180_000, env: { ...process.env, TEST_S3 } });
  if (what !== 'setup') await child('setup');
  const error = await t.throwsAsync<Error & { signal?: string }>(child(what, step));
  t.is(error?.signal, 'SIGKILL', error?.message);
  const line = await badLine(t, s3);
  const offSite = createOffSite(location, createS3(line.options));
  const next = (then: string) => headless(folder, then, '', offSite);
  return { folder, location, bucket: join(s3.buckets, BUCKET, prefix), line, saved, next };
}

const archivesIn = async (folder: string) => await readdir(folder).catch(() => []);
const sentParts = ({ seen }: BadLine) => seen.filter((each) => /^PUT .*partNumber=/.test(each)).length;

/** The most parts that the next process sends again, by step of the kill. The store has the others. */
const STEPS: Record<string, number> = {
  'upload-begun': 3,
  'upload-noted': 3,
  'part-sent': 2,
  'parts-sent': 0,
  'upload-completed': 0,
  'upload-stored': 0,
};

for (const [step, atMost] of Object.entries(STEPS))
  test.runIf(isHere('s3'))(
    `an upload killed at ${step} is completed by the next process, and the backup is restored from off site`,
    async (t) => {
      const it = await killed(t, step);
      const { folder, location, bucket, line, saved, next } = it;
      const { backups } = await next('look');
      t.like(backups, [{ kind: 'manual', state: 'ready', location }]);
      t.true(sentParts(line) <= atMost, `it sent ${sentParts(line)} parts again`);
      const names = await archivesIn(join(bucket, 'lobby'));
      t.is(names.length, 1);
      const stored = await readFile(join(bucket, 'lobby', names[0] ?? ''));
      t.is(createHash('sha256').update(stored).digest('hex'), backups[0]?.sha256 ?? 'none');
      t.deepEqual(await archivesIn(join(folder, 'backups/lobby')), [], 'the folder has no archive left');
      const open = await createS3(line.options)({ bucket: BUCKET, prefix: '' }).uploads(
        `${location.slice(`s3://${BUCKET}/`.length)}/`,
      );
      t.deepEqual(open, [], 'no upload is left open');
      await plant(join(folder, 'servers/lobby'), { 'world/level.dat': 'played since' });
      t.like(await next('restore'), { state: 'hibernated', maintained: { failure: null } });
      t.deepEqual(await treeOf(join(folder, 'servers/lobby')), saved);
    },
  );

test.runIf(isHere('s3'))('a killed off-site removal is completed by the next process', async (t) => {
  const it = await killed(t, 'object-removed', 'remove');
  const { backups } = await it.next('look');
  t.deepEqual(backups, []);
  t.deepEqual(await archivesIn(join(it.bucket, 'lobby')), []);
});
