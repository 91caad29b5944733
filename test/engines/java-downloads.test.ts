import { mkdir, mkdtemp, readFile, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { EngineError, type GameSpec, type Preparation } from '../../src/engines/engine.ts';
import { commandFor } from '../../src/engines/process/command.ts';
import { createJavaDownloads } from '../../src/engines/process/cores/java-downloads.ts';
import { createJavas } from '../../src/engines/process/java-homes.ts';
import { javaRange } from '../../src/game/container.ts';
import { cutInHalf, hurriedClock, javaArchive, standIn } from '../support/core-sources.ts';
import { sum } from '../support/modrinth.ts';

const never = new AbortController().signal;

/** A machine with Java 17 and a server with a jar of its own, and a stand-in for Adoptium. */
async function machine(t: ExecutionContext, { download = true, apiUrl = '' } = {}) {
  const dir = await mkdtemp(join(tmpdir(), 'dormouse-java-'));
  t.teardown(() => rm(dir, { recursive: true, force: true }));
  const home = join(dir, 'java17');
  await mkdir(join(home, 'bin'), { recursive: true });
  await writeFile(join(home, 'bin/java'), '#!/bin/sh\n', { mode: 0o755 });
  await writeFile(join(home, 'release'), 'JAVA_VERSION="17.0.15"\n');
  await mkdir(join(dir, 'data'));
  await writeFile(join(dir, 'data/server.jar'), 'own');
  const from = await standIn(t);
  const javaDir = join(dir, 'java');
  const options = { apiUrl: apiUrl || from.url, dir: javaDir, clock: hurriedClock, contact: 'http://localhost' };
  const shown: Preparation[] = [];
  const programs = {
    sandboxEntry: '',
    coresDir: join(dir, 'cores'),
    javas: createJavas({ homes: [home] }),
    downloadedJavas: createJavas({ roots: [javaDir] }),
    fetchJava: download ? createJavaDownloads(options) : undefined,
  };
  const javaFor = async (version: string, core = 'custom') => {
    const spec = {
      core,
      version,
      dataDir: join(dir, 'data'),
      ramMb: 2_048,
      java: javaRange(version, core),
    } as GameSpec;
    return (await commandFor(spec, programs, never, (progress) => shown.push(progress))).file.slice(dir.length + 1);
  };
  const refusal = (version: string) => t.throwsAsync<EngineError>(javaFor(version), { instanceOf: EngineError });
  return { dir, javaDir, from, shown, javaFor, refusal };
}

test('a missing Java is downloaded once for all servers, and an installed one comes first', async (t) => {
  const it = await machine(t);
  it.from.java(25, await javaArchive(25, '#!/bin/sh\necho 25\n'));
  t.is(await it.javaFor('1.20.4'), 'java17/bin/java');
  t.is(it.from.asked.length, 0);
  const both = await Promise.all([it.javaFor('26.1'), it.javaFor('26.2')]);
  t.deepEqual(
    both,
    Array.from({ length: 2 }, () => 'java/jdk-25.0.1+9-jre/bin/java'),
  );
  t.is(it.from.count('/java/'), 1);
  t.deepEqual(it.from.asked[0]?.path.includes('image_type=jre') && it.from.asked[0].path.includes('os=linux'), true);
  t.deepEqual(it.shown.at(0), { phase: 'downloading', javaMajor: 25, percent: 0 });
  t.deepEqual(it.shown.at(-1)?.percent, 100);
  t.deepEqual(await readdir(it.javaDir), ['jdk-25.0.1+9-jre']);
  t.is((await stat(join(it.javaDir, 'jdk-25.0.1+9-jre/bin/java'))).mode & 0o777, 0o755);
  t.like(process.report, { excludeNetwork: true }, 'the system’s description asks no name server');
  t.is(await it.javaFor('1.21.8'), 'java/jdk-25.0.1+9-jre/bin/java', 'a newer Java that is here');
  t.is(await it.javaFor('1.20.4'), 'java17/bin/java');
});

test('a server gets the Java with long-term support in the range that it needs', async (t) => {
  const it = await machine(t);
  for (const major of [8, 21]) it.from.java(major, await javaArchive(major, ''));
  t.is(await it.javaFor('1.12.2', 'custom'), 'java17/bin/java');
  t.is(await it.javaFor('1.21.8'), 'java/jdk-21.0.1+9-jre/bin/java');
});

test('a Java with a wrong checksum is discarded, and a cut download continues', async (t) => {
  const it = await machine(t);
  const archive = await javaArchive(25, '#!/bin/sh\n');
  it.from.java(25, archive, '0'.repeat(64));
  const wrong = await it.refusal('26.1');
  t.is(wrong.code, 'download_failed');
  t.regex(
    wrong.message,
    /^custom 26\.1 needs Java 25 or newer; this machine has Java 17\. The download of Java 25 does not/,
  );
  t.regex(wrong.suggestion, /or install Java 25\.$/);
  t.deepEqual(await readdir(it.javaDir), []);
  it.from.java(25, archive);
  it.from.disturb('/java/', cutInHalf(archive, join(it.javaDir, 'jdk-25.0.1+9-jre.tar.gz.part')));
  t.is(await it.javaFor('26.1'), 'java/jdk-25.0.1+9-jre/bin/java');
  t.regex(it.from.asked.at(-1)?.range ?? '', /^bytes=\d+-$/);
});

test('an archive of Java writes only files and directories below its own home', async (t) => {
  const it = await machine(t);
  it.from.java(25, await javaArchive(25, '', [{ name: 'jdk/legal/link', linkname: '/etc/passwd' }]));
  await it.javaFor('26.1');
  t.deepEqual((await readdir(join(it.javaDir, 'jdk-25.0.1+9-jre'))).toSorted(), ['bin', 'release']);
  for (const name of ['jdk/../../../escaped', '/jdk/escaped']) {
    await rm(it.javaDir, { recursive: true });
    it.from.java(25, await javaArchive(25, '', [{ name, text: 'x' }]));
    t.regex((await it.refusal('26.1')).message, /downloaded Java cannot be unpacked/);
    await t.throwsAsync(readFile(join(it.dir, 'escaped')), { code: 'ENOENT' });
    t.deepEqual(await readdir(it.javaDir), ['jdk-25.0.1+9-jre.tar.gz']);
  }
});

test('a kind of runtime that Adoptium does not offer is no part of a path', async (t) => {
  const it = await machine(t);
  const archive = await javaArchive(25, '');
  it.from.java(25, archive);
  it.from.disturb('/v3/assets/latest/25', (reply) => {
    const file = { checksum: sum(archive, 'sha256'), link: `${it.from.url}/java/x.tar.gz`, size: archive.length };
    const binary = { image_type: '/../../escaped', package: file };
    reply.end(JSON.stringify([{ release_name: 'jdk-25.0.1+9', binary }]));
  });
  it.from.put('/java/x.tar.gz', archive);
  const { code, message } = await it.refusal('26.1');
  t.deepEqual(
    [code, /Adoptium, the source of Java, returned an invalid response/.test(message)],
    ['download_failed', true],
  );
  t.false((await readdir(it.dir)).includes('escaped'));
});

test('Java is not downloaded against the setting, and without the internet the error says so', async (t) => {
  const forbidden = await machine(t, { download: false });
  const refused = await forbidden.refusal('26.1');
  t.deepEqual([refused.code, forbidden.from.asked.length], ['wrong_java_version', 0]);
  const offline = await machine(t, { apiUrl: 'http://adoptium.invalid' });
  const { code, message, suggestion } = await offline.refusal('26.1');
  t.is(code, 'download_failed');
  t.is(
    message,
    'custom 26.1 needs Java 25 or newer; this machine has Java 17. This machine has no connection to the internet.',
  );
  t.is(suggestion, 'Connect it, or install Java 25.');
  const none = await machine(t);
  t.regex((await none.refusal('26.1')).message, /Adoptium has no Java 25 for this machine/);
});
