import { existsSync } from 'node:fs';
import { mkdtemp, open, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import process from 'node:process';
import test, { type ExecutionContext } from 'ava';
import { StatusError } from '../../../src/kernel/status.ts';
import { type WorkerPoolOptions, createWorkerPool } from '../../../src/kernel/workers/pool.ts';
import * as jobs from '../../support/jobs.ts';
import { isThorough } from '../../support/needs.ts';
import { until } from '../../support/until.ts';

const JOBS = join(import.meta.dirname, '../../support');
const TENANT = 'ann';

function poolOf(t: ExecutionContext, options?: WorkerPoolOptions) {
  const pool = createWorkerPool({ ...options, modules: [JOBS] });
  t.teardown(() => pool.close());
  return pool;
}

async function folder(t: ExecutionContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'dormouse-test-'));
  t.teardown(() => rm(path, { recursive: true, force: true }));
  return path;
}

test('a job runs in another process, which is reused and inherits no environment variables', async (t) => {
  const pool = poolOf(t);
  t.is(await pool.run(jobs.double, 21, { tenant: TENANT }), 42);
  const first = await pool.run(jobs.whoAmI, null, { tenant: TENANT });
  t.not(first.pid, process.pid);
  t.is((await pool.run(jobs.whoAmI, null, { tenant: TENANT })).pid, first.pid);
  t.deepEqual(
    first.environment.filter((name) => !['PWD', 'OLDPWD', 'SHLVL', '_'].includes(name)),
    ['NODE_CHANNEL_FD', 'NODE_CHANNEL_SERIALIZATION_MODE'].filter((name) => first.environment.includes(name)),
  );
});

test('a StatusError thrown in a job reaches the caller with its reason and metadata', async (t) => {
  const pool = poolOf(t);
  const error = await t.throwsAsync(pool.run(jobs.refuse, 'a.tar', { tenant: TENANT }), { instanceOf: StatusError });
  t.is(error.reason, 'BAD_ARCHIVE');
  t.deepEqual(error.options.metadata, { path: 'a.tar' });
  t.is(await pool.run(jobs.double, 1, { tenant: TENANT }), 2, 'the pool still works');
});

for (const [what, job, limits] of [
  ['computes without end', jobs.spin, { cpuMs: 300 }],
  ['fills its heap', jobs.eatHeap, { cpuMs: 60_000, memoryMb: 64 }],
  ['fills memory beside its heap', jobs.eatBuffers, { cpuMs: 60_000, memoryMb: 64 }],
] as const)
  test(`a job that ${what} is ended, and the next job runs`, async (t) => {
    const pool = poolOf(t);
    const error = await t.throwsAsync(pool.run(job, null, { tenant: TENANT, ...limits }), { instanceOf: StatusError });
    t.is(error.reason, 'WORK_TOO_LARGE');
    t.is(await pool.run(jobs.double, 1, { tenant: TENANT }), 2);
  });

test.runIf(isThorough)('a full heap ends only the worker process', async (t) => {
  const pool = poolOf(t);
  await t.throwsAsync(pool.run(jobs.eatHeap, null, { tenant: TENANT, cpuMs: 60_000, memoryMb: 4096 }), {
    message: /more CPU time or memory/,
  });
});

test('aborting a job’s signal ends the job and frees its place in the pool', async (t) => {
  const pool = poolOf(t, { runs: 1 });
  const gone = new AbortController();
  const job = pool.run(jobs.never, null, { tenant: TENANT, signal: gone.signal });
  const waiting = pool.run(jobs.double, 2, { tenant: 'bob' });
  gone.abort(new Error('gone'));
  await t.throwsAsync(job, { message: 'gone' });
  t.is(await waiting, 4);
});

test('jobs of one tenant do not keep another tenant waiting', async (t) => {
  const pool = poolOf(t, { runs: 2 });
  const gone = new AbortController();
  const hers = Array.from({ length: 10 }, () => pool.run(jobs.never, null, { tenant: TENANT, signal: gone.signal }));
  t.is(await pool.run(jobs.double, 3, { tenant: 'bob' }), 6);
  gone.abort(new Error('gone'));
  for (const { status } of await Promise.allSettled(hers)) t.is(status, 'rejected');
});

test('a worker stream yields its items in order and ends when its reader stops', async (t) => {
  const pool = poolOf(t);
  const all: number[] = [];
  for await (const number of pool.stream(jobs.countTo, 100, { tenant: TENANT })) all.push(number);
  t.deepEqual(
    all,
    Array.from({ length: 100 }, (_, index) => index + 1),
  );
  for await (const number of pool.stream(jobs.countTo, Infinity, { tenant: TENANT })) if (number === 40) break;
  t.is(await pool.run(jobs.double, 1, { tenant: TENANT }), 2);
});

test('a job can read an open file that it received, but no other file, and cannot write', async (t) => {
  const pool = poolOf(t);
  const path = join(await folder(t), 'archive');
  await writeFile(path, 'content');
  await using file = await open(path);
  await rm(path);
  t.is(await pool.run(jobs.firstBytes, 4, { tenant: TENANT, files: [file.fd] }), 'cont');
  await writeFile(path, 'content');
  await t.throwsAsync(pool.run(jobs.readSomewhere, path, { tenant: TENANT }), { code: 'ERR_ACCESS_DENIED' });
  await t.throwsAsync(pool.run(jobs.writeSomewhere, `${path}-2`, { tenant: TENANT }), { code: 'ERR_ACCESS_DENIED' });
});

test('idle workers end, and closing a pool ends its busy workers', async (t) => {
  const pool = poolOf(t, { idleMs: 1 });
  const { pid } = await pool.run(jobs.whoAmI, null, { tenant: TENANT });
  await until(() => !existsSync(`/proc/${pid}`));
  const closing = createWorkerPool({ modules: [JOBS] });
  const working = closing.run(jobs.never, null, { tenant: TENANT });
  await Promise.all([t.throwsAsync(working), closing.close()]);
});

test('a job reads a stream or an open file as its input, and fails with the stream’s error', async (t) => {
  const pool = poolOf(t);
  const read = async (stdin: Readable | number) => {
    let text = '';
    for await (const part of pool.stream(jobs.readInput, null, { tenant: TENANT, stdin })) text += part;
    return text;
  };
  t.is(await read(Readable.from(['to ', 'be ', 'read'])), 'to be read');
  const path = join(await folder(t), 'file');
  await writeFile(path, 'from a file');
  await using file = await open(path);
  t.is(await read(file.fd), 'from a file');
  async function* fails() {
    yield 'a part';
    throw new StatusError('UNAVAILABLE', 'AWAY', 'It is away.');
  }
  const error = await t.throwsAsync(read(Readable.from(fails())), { instanceOf: StatusError });
  t.is(error.reason, 'AWAY');
});

test('a streaming job pauses after each item until the next one is requested', async (t) => {
  const pool = poolOf(t);
  const file = await open(join(await folder(t), 'steps'), 'w+');
  t.teardown(() => file.close());
  const items = pool.stream(jobs.writeSteps, 3, { tenant: TENANT, ahead: 1, files: [file.fd] });
  for (let step = 0; step < 3; step++) {
    t.is((await items.next()).value, step);
    t.is((await file.stat()).size, step, 'the job pauses until the next item is requested');
  }
  t.true((await items.next()).done);
  t.is((await file.stat()).size, 3);
});
