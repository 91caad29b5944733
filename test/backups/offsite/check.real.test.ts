import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { createOffSite, createStoreCheck, openOffSite } from '../../../src/backups/offsite/offsite.ts';
import { createS3 } from '../../../src/backups/offsite/s3.ts';
import { createLog } from '../../../src/kernel/log.ts';
import { systemClock } from '../../../src/kernel/system-clock.ts';
import { isHere } from '../../support/needs.ts';
import { BUCKET, type S3UnderTest, badLine, silentStore, startS3 } from '../../support/s3.ts';

type Settings = Parameters<typeof openOffSite>[0];

let server: Promise<S3UnderTest> | undefined;

test.after.always(async () => await (await server)?.remove());

/** Longer than the slowest machine takes. */
const PATIENCE_MS = 120_000;

/** Opens the off-site store of the given settings, like a start of the service. Returns the logged lines. */
async function opening(
  t: ExecutionContext,
  fields: Partial<Settings>,
  { installation = 'one', patienceMs = PATIENCE_MS } = {},
) {
  const { options } = await (server ??= startS3());
  const logged: string[] = [];
  const log = createLog({ level: 'info', pretty: false, destination: { write: (line) => void logged.push(line) } });
  const settings: Settings = {
    backupStore: `s3://${BUCKET}/${t.title.replaceAll(/\W+/g, '-').slice(0, 40)}`,
    s3Endpoint: options.endpoint,
    s3Region: options.region,
    s3PathStyle: 'auto',
    s3AccessKeyId: options.accessKeyId,
    s3SecretAccessKey: options.secretAccessKey,
    resticPassword: '',
    resticEnvironment: {},
    dataDir: '/nowhere',
    ...fields,
  };
  const secret = { derive: (purpose: string, id: string) => `${installation} ${purpose} ${id}` };
  await openOffSite(settings, secret, systemClock, log).settled(patienceMs);
  return logged;
}

test.runIf(isHere('s3'))(
  'correct settings log no message, and a second start accepts the store as its own',
  async (t) => {
    t.deepEqual(await opening(t, {}), []);
    t.deepEqual(await opening(t, {}), []);
  },
);

test.runIf(isHere('s3'))(
  'wrong settings stop the start with an error that names the setting and contains no secret',
  async (t) => {
    const wrong: [Partial<Settings>, RegExp][] = [
      [{ backupStore: 's3://nowhere' }, /no bucket "nowhere" at http.*BACKUP_STORE or S3_ENDPOINT/],
      [{ s3AccessKeyId: 'somebody' }, /does not accept S3_ACCESS_KEY_ID/],
      [{ s3SecretAccessKey: 'a-wrong-secret' }, /does not accept S3_ACCESS_KEY_ID/],
      [{ s3Region: 'eu-north-9' }, /not in the region of S3_REGION/],
    ];
    for (const [fields, sentence] of wrong) {
      const error = await t.throwsAsync(opening(t, fields), { message: sentence });
      t.like(error, { code: 'FAILED_PRECONDITION', reason: 'BACKUP_STORE_REFUSED' });
      t.notRegex(error?.message ?? '', /secret-?$|a-wrong-secret|tester-secret/);
    }
  },
);

test.runIf(isHere('s3'))('a prefix in use by another installation is refused', async (t) => {
  await opening(t, {});
  await t.throwsAsync(opening(t, {}, { installation: 'two' }), { message: /different prefix in BACKUP_STORE/ });
});

test.runIf(isHere('s3'))('a read-only store is refused, and the error names the missing permission', async (t) => {
  const line = await badLine(t, await (server ??= startS3()));
  line.fault = ({ method }) => (method === 'PUT' ? { status: 403 } : undefined);
  const refused = opening(t, { s3Endpoint: line.options.endpoint });
  await t.throwsAsync(refused, { message: /may not write in the bucket "worlds".*s3:PutObject/ });
});

test.runIf(isHere('s3'))('an unreachable or busy store is logged and does not stop the start', async (t) => {
  const line = await badLine(t, await (server ??= startS3()));
  for (const fault of ['away', { status: 503 }] as const) {
    line.fault = () => fault;
    const logged = await opening(t, { s3Endpoint: line.options.endpoint });
    t.is(logged.length, 1);
    t.regex(logged[0] ?? '', /BACKUP_STORE does not respond/);
  }
});

test.runIf(isHere('s3'))('a bucket created after a refused start is accepted by the next start', async (t) => {
  const { buckets } = await (server ??= startS3());
  await t.throwsAsync(opening(t, { backupStore: 's3://later' }), { message: /no bucket/ });
  await mkdir(join(buckets, 'later'));
  t.teardown(() => rm(join(buckets, 'later'), { recursive: true, force: true }));
  t.deepEqual(await opening(t, { backupStore: 's3://later' }), []);
});

test.runIf(isHere('s3'))(
  'a silent store does not delay the start, and the log reports that its check is not done',
  async (t) => {
    const logged = await opening(t, { s3Endpoint: await silentStore(t) }, { patienceMs: 20 });
    t.is(logged.length, 1);
    t.regex(logged[0] ?? '', /not done within 20 ms.*BACKUP_STORE does not respond/);
  },
);

test.runIf(isHere('s3'))('a failed store check is repeated on the next use, and a passed one is not', async (t) => {
  const s3 = await (server ??= startS3());
  const line = await badLine(t, s3);
  const location = `s3://${BUCKET}/again`;
  const bucket = createOffSite(location, createS3(line.options)).bucket(location);
  line.fault = () => 'away';
  const log = createLog({ level: 'silent' });
  const check = createStoreCheck({ bucket, location, endpoint: '' }, 'one', log);
  t.like(await t.throwsAsync(check.passed()), { reason: 'BACKUP_STORE_AWAY' });
  line.fault = ({ method }) => (method === 'PUT' ? { status: 403 } : undefined);
  t.like(await t.throwsAsync(check.passed()), { reason: 'BACKUP_STORE_REFUSED' });
  line.fault = () => undefined;
  await check.passed();
  const requests = line.seen.length;
  await check.passed();
  t.is(line.seen.length, requests);
});
