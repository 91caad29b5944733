import { execFile, spawn } from 'node:child_process';
import { appendFile, mkdtemp, readFile, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import test from 'ava';
import type { LogLine } from '../../src/engines/engine.ts';
import { ProcessLogFiles } from '../../src/engines/process/log-files.ts';
import { readLog } from '../../src/engines/process/log-reader.ts';
import { send } from '../../src/engines/process/signals.ts';
import { processTable } from '../../src/engines/process/table.ts';
import { collect } from '../conformance/engine.ts';
import { until } from '../support/until.ts';

const run = promisify(execFile);

test('a log is rotated while its game writes, without lost or duplicate lines', async (t) => {
  t.timeout(300_000);
  const dir = await mkdtemp(join(tmpdir(), 'dormouse-log-'));
  t.teardown(() => rm(dir, { recursive: true }));
  const files = new ProcessLogFiles(dir, 32 * 1024);
  const out = await files.openForGame('alpha');
  const flood = join(dir, 'flood.js');
  const [enough, counted] = [join(dir, 'enough'), join(dir, 'counted')];
  await writeFile(
    flood,
    `const { existsSync, writeFileSync, writeSync } = require('fs');
     const nap = new Int32Array(new SharedArrayBuffer(4));
     let n = 0;
     for (; n % 200 !== 0 || !existsSync(${JSON.stringify(enough)}); n++) {
       writeSync(1, 'line ' + n + '\\n');
       if (n % 200 === 0) Atomics.wait(nap, 0, 0, 12);
     }
     writeFileSync(${JSON.stringify(counted)}, String(n));`,
  );
  const writer = spawn(process.execPath, [flood], { detached: true, stdio: ['ignore', out.fd, 'inherit'] });
  await out.close();
  const isRunning = () => writer.exitCode === null;
  const got: string[] = [];
  const following = (async () => {
    for await (const line of readLog(files, 'alpha', { follow: true }, isRunning)) got.push(line.text);
  })();
  let rotations = 0;
  const pause = async () => {
    send(-writer.pid!, 'SIGSTOP');
    await until(async () => processTable.isStopped(writer.pid!) || !isRunning());
    rotations += 1;
    return isRunning();
  };
  const resume = () => send(-writer.pid!, 'SIGCONT');
  while (isRunning()) {
    await files.rotateIfLarge('alpha', pause, resume);
    // Only the newest two files are kept, so the follower must not fall behind by more than one.
    const seen = got.length;
    await until(async () => got.length > seen || !isRunning());
    if (rotations >= 8) await writeFile(enough, '');
  }
  await following;
  const count = Number(await readFile(counted, 'utf8'));
  t.true(rotations >= 8);
  t.deepEqual(
    got,
    Array.from({ length: count }, (_, n) => `line ${n}`),
  );
  const kept = await collect(readLog(files, 'alpha', {}, () => false));
  const first = Number(kept[0]!.text.slice('line '.length));
  t.deepEqual(
    kept.map((line) => line.text),
    Array.from({ length: count - first }, (_, n) => `line ${first + n}`),
  );
  t.true((await readdir(dir)).filter((name) => name.endsWith('.log')).length <= 2);
  const middle = Math.floor(kept.length / 2);
  t.deepEqual(
    await collect(readLog(files, 'alpha', { after: kept[middle]!.position }, () => false)),
    kept.slice(middle + 1),
  );
  t.deepEqual(await collect(readLog(files, 'alpha', { tail: middle }, () => false)), kept.slice(-middle));
});

test('a follower reads a line whole even if a rotation moves its first half', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'dormouse-log-'));
  t.teardown(() => rm(dir, { recursive: true }));
  const files = new ProcessLogFiles(dir, 8);
  const path = (generation: number) => files.path('alpha', generation);
  const rotate = () =>
    files.rotateIfLarge(
      'alpha',
      async () => true,
      () => {},
    );
  const long = 'x'.repeat(100_000);
  await (await files.openForGame('alpha')).close();
  await appendFile(path(1), 'one\nhalf of ');
  let running = true;
  const lines = readLog(files, 'alpha', { follow: true }, () => running);
  const next = async () => (await lines.next()).value as LogLine;
  t.is((await next()).text, 'one');
  // The follower has also read the first half of the next line, and holds it back.
  const whole = next();
  await rotate();
  await appendFile(path(2), `a line\ntwo\n${long}`);
  t.like(await whole, { text: 'half of a line', position: '2:15' });
  t.is((await next()).text, 'two');
  const piece = await next();
  t.is(piece.text, long.slice(0, 65_536), 'an endless line is returned in pieces');
  await rotate();
  await appendFile(path(3), 'end\n');
  running = false;
  const rest: LogLine[] = [];
  for await (const line of lines) rest.push(line);
  t.is(piece.text + rest.map(({ text }) => text).join(''), `${long}end`);
  const again = await collect(readLog(files, 'alpha', { after: piece.position }, () => false));
  t.is(again.map(({ text }) => text).join(''), `${long.slice(65_536)}end`, 'a reader continues within the line');
});

test('a game that floods its log keeps only the end, and a follower skips there with a notice', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'dormouse-log-'));
  t.teardown(() => rm(dir, { recursive: true }));
  const files = new ProcessLogFiles(dir, 64 * 1024, 256 * 1024);
  const out = await files.openForGame('alpha');
  let running = true;
  const lines = readLog(files, 'alpha', { follow: true }, () => running);
  await out.appendFile('first\n');
  t.is((await lines.next()).value?.text, 'first');
  const flood = Array.from({ length: 300_000 }, (_, n) => `line ${n}\n`).join('');
  await out.appendFile(flood);
  const { value: told } = await lines.next();
  t.regex(told!.text, /^\[\.\.\. 3\d{6} bytes of the log left out/);
  t.is((await lines.next()).value?.text, 'line 299899');
  // A follower of the file that is rotated next.
  const late = readLog(files, 'alpha', { after: '1:6', follow: true }, () => running);
  t.is((await late.next()).value?.text, 'line 0');
  await files.rotateIfLarge(
    'alpha',
    async () => true,
    () => {},
  );
  await out.appendFile('last\n');
  await out.close();
  t.deepEqual((await readdir(dir)).sort(), ['alpha.2.log', 'alpha.3.log']);
  t.true((await stat(join(dir, 'alpha.2.log'))).size <= 64 * 1024);
  running = false;
  const rest = (await collect(late)).map(({ text }) => text);
  t.is(rest.at(-1), 'last');
  t.is(rest.at(-2), 'line 299999');
  t.deepEqual((await collect(lines)).map(({ text }) => text).at(-1), 'last');
  t.true(
    rest.every((text) => /^(?:line \d{1,6}|last)$/.test(text)),
    'every line is complete',
  );
});

test('an interrupted log rotation is completed, and an unfinished line stays one line', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'dormouse-log-'));
  t.teardown(() => rm(dir, { recursive: true }));
  const files = new ProcessLogFiles(dir);
  const texts = async (query = {}) =>
    (await collect(readLog(files, 'alpha', query, () => false))).map((line) => line.text);
  const write = async (text: string) => {
    const file = await files.openForGame('alpha');
    await file.write(text);
    await file.close();
  };
  await write('one\ntwo\nunfin');
  const [, , last] = await collect(readLog(files, 'alpha', {}, () => false));
  t.is(last!.text, 'unfin');
  t.deepEqual(
    (await collect(readLog(files, 'alpha', {}, () => true))).map((line) => line.text),
    ['one', 'two'],
  );
  // The service died after copying and renaming the log.
  await run('sh', ['-c', 'cp alpha.1.log alpha.1.log.part; mv alpha.1.log alpha.2.log'], { cwd: dir });
  await write('three\n');
  t.deepEqual(await texts(), ['one', 'two', 'unfin', 'three']);
  t.deepEqual((await readdir(dir)).sort(), ['alpha.1.log', 'alpha.2.log']);
  // The service died after copying the log.
  await run('cp', ['alpha.2.log', 'alpha.2.log.part'], { cwd: dir });
  await write('four\n');
  t.deepEqual(await texts({ tail: 2 }), ['three', 'four']);
  t.deepEqual(await texts({ after: '7:1' }), ['one', 'two', 'unfin', 'three', 'four']);
  await write('x'.repeat(200_000));
  t.deepEqual(
    (await texts({ tail: 4 })).map((text) => text.length),
    [65_536, 65_536, 65_536, 3_392],
  );
  files.remove('alpha');
  t.deepEqual(await readdir(dir), []);
});

test('a tail searches only the newest 16 MiB of a log, and long lines are cut to the requested length', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'dormouse-log-'));
  t.teardown(() => rm(dir, { recursive: true }));
  const files = new ProcessLogFiles(dir);
  // A game that ends no line may print this between two checks of the size.
  await writeFile(join(dir, 'alpha.1.log'), `first\n${'x'.repeat(40 * 1_048_576)}\nlast\n`);
  let bytes = 0;
  const read = files.read.bind(files);
  files.read = (...spot) => {
    const chunk = read(...spot);
    bytes += chunk.length;
    return chunk;
  };
  const lines = await collect(readLog(files, 'alpha', { tail: 1_000, lineChars: 100 }, () => false));
  t.deepEqual(
    lines.slice(-1).map(({ text }) => text),
    ['last'],
  );
  t.true(bytes < 34 * 1_048_576, `${bytes} bytes were read`);
  t.true(lines.length < 1_000);
  t.true(lines.every(({ text }) => text.length <= 100));
});
