import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { javaRange } from '../../src/game/container.ts';
import { EngineError, type GameSpec } from '../../src/engines/engine.ts';
import { commandFor } from '../../src/engines/process/command.ts';
import { createJavas } from '../../src/engines/process/java-homes.ts';

const never = new AbortController().signal;

/** A server's folder with the given files, on a machine with one Java. */
async function server(t: ExecutionContext, files: Record<string, string>) {
  const dir = await mkdtemp(join(tmpdir(), 'dormouse-launch-'));
  t.teardown(() => rm(dir, { recursive: true, force: true }));
  const put = async (path: string, text: string, mode = 0o644) => {
    await mkdir(dirname(join(dir, path)), { recursive: true });
    await writeFile(join(dir, path), text, { mode });
  };
  await put('java/bin/java', '#!/bin/sh\n', 0o755);
  await put('java/release', 'JAVA_VERSION="17.0.15"\n');
  for (const [path, text] of Object.entries(files)) await put(`data/${path}`, text);
  const programs = {
    sandboxEntry: '',
    javas: createJavas({ homes: [join(dir, 'java')] }),
    coresDir: join(dir, 'cores'),
  };
  const data = join(dir, 'data');
  const command = async (core: string, version: string) => {
    const spec = { core, version, dataDir: data, ramMb: 2_048, java: javaRange(version, core) } as GameSpec;
    const { args } = await commandFor(spec, programs, never);
    t.is(args.at(-1), 'nogui');
    return args.slice(0, -1).filter((arg) => !arg.startsWith('-X'));
  };
  const refusal = (core: string, version: string) =>
    t.throwsAsync<EngineError>(command(core, version), { instanceOf: EngineError });
  return { data, put, command, refusal };
}

const args = (library: string, build: string) => `libraries/net/${library}/${build}/unix_args.txt`;

test('Forge starts with the arguments of its run.sh after the owner’s own, or else with the newest matching build', async (t) => {
  const older = args('minecraftforge/forge', '1.20.1-47.2.0');
  const newer = args('minecraftforge/forge', '1.20.1-47.10.0');
  const it = await server(t, {
    'run.sh': `#!/usr/bin/env sh\njava @user_jvm_args.txt @${older} "$@"\n`,
    'user_jvm_args.txt': '-Xmx64G\n',
    [older]: '',
    [newer]: '',
    [args('minecraftforge/forge', '1.19.2-43.3.0')]: '',
    'server.jar': 'of Mojang',
  });
  t.deepEqual(await it.command('forge', '1.20.1'), ['@user_jvm_args.txt', `@${older}`]);
  await it.put('data/run.sh', `java @libraries/../../../etc/unix_args.txt`);
  t.deepEqual(
    await it.command('forge', '1.20.1'),
    ['@user_jvm_args.txt', `@${newer}`],
    'otherwise the newest installed build',
  );
  t.deepEqual((await it.command('forge', '1.19.2')).at(-1), `@${args('minecraftforge/forge', '1.19.2-43.3.0')}`);
  t.deepEqual(await it.command('forge', '1.20.4'), ['-jar', join(it.data, 'server.jar')]);
  await rm(join(it.data, 'server.jar'));
  const { code, message } = await it.refusal('forge', '1.20.4');
  t.deepEqual([code, message], ['core_unavailable', 'The installed forge is 1.19.2-43.3.0, which is not for 1.20.4.']);
});

test('the service’s memory flags come after the owner’s and therefore win', async (t) => {
  const file = args('neoforged/neoforge', '20.4.237');
  const it = await server(t, { [file]: '', 'user_jvm_args.txt': '-Xmx64G' });
  const programs = { sandboxEntry: '', javas: createJavas({ homes: [join(it.data, '../java')] }), coresDir: '/none' };
  const spec = { core: 'neoforge', version: '1.20.4', dataDir: it.data, ramMb: 2_048 } as GameSpec;
  const all = (await commandFor(spec, programs, never)).args;
  t.deepEqual(all, ['@user_jvm_args.txt', '-Xms384M', '-Xmx1536M', '-XX:+ExitOnOutOfMemoryError', `@${file}`, 'nogui']);
});

test('the NeoForge build is chosen by the game version in its name', async (t) => {
  const builds = ['20.4.237', '20.4.80-beta', '20.6.119', '21.0.167'];
  const it = await server(t, {
    ...Object.fromEntries(builds.map((build) => [args('neoforged/neoforge', build), ''])),
    [args('neoforged/forge', '1.20.1-47.1.106')]: '',
  });
  t.deepEqual(await it.command('neoforge', '1.20.4'), [`@${args('neoforged/neoforge', '20.4.237')}`]);
  t.deepEqual(await it.command('neoforge', '1.20.1'), [`@${args('neoforged/forge', '1.20.1-47.1.106')}`]);
  t.is((await it.refusal('neoforge', '1.20.2')).code, 'core_unavailable');
  t.is((await it.refusal('neoforge', '1.21')).code, 'wrong_java_version');
});

test('installed launchers take precedence over Mojang’s server.jar, and an older Forge starts from its own jar', async (t) => {
  const it = await server(t, {
    'server.jar': 'of Mojang',
    'quilt-server-launch.jar': '',
    'fabric-server-launch.jar': '',
  });
  for (const core of ['quilt', 'fabric']) {
    t.deepEqual(await it.command(core, '1.20.1'), ['-jar', join(it.data, `${core}-server-launch.jar`)]);
  }
  t.deepEqual(await it.command('vanilla', '1.20.1'), ['-jar', join(it.data, 'server.jar')]);
  const old = await server(t, { 'forge-1.18.2-40.2.0-installer.jar': '', 'forge-1.18.2-40.2.0.jar': '' });
  t.deepEqual(await old.command('forge', '1.18.2'), ['-jar', join(old.data, 'forge-1.18.2-40.2.0.jar')]);
  t.is((await old.refusal('forge', '1.12.2')).code, 'wrong_java_version');
  t.regex((await old.refusal('quilt', '1.18.2')).suggestion, /quilt-server-launch\.jar/);
});

test('a custom server runs only the uploaded server.jar', async (t) => {
  const it = await server(t, { 'custom-1.20.1.jar': 'not this' });
  const { code, message, suggestion } = await it.refusal('custom', '1.20.1');
  t.is(code, 'core_unavailable');
  t.regex(`${message} ${suggestion}`, /no server\.jar.*Upload/);
  await it.put('data/server.jar', 'theirs');
  t.deepEqual(await it.command('custom', '1.20.1'), ['-jar', join(it.data, 'server.jar')]);
});
