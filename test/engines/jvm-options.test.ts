import test from 'ava';
import { JVM_PRESETS, checkJvmOptions, ownFlags, presetFlags } from '../../src/engines/jvm-options.ts';
import { assert, array, constantFrom, oneof, property, string, stringMatching, tuple } from '../support/property.ts';

for (const options of [
  '',
  '  ',
  '-XX:MaxGCPauseMillis=100',
  '-XX:+UseStringDeduplication  -XX:-UseAdaptiveSizePolicy',
  '-XX:+UseG1GC -XX:G1HeapRegionSize=16M -XX:ParallelGCThreads=2 -XX:SoftMaxHeapSize=1g',
  '-Dpaper.maxChatLength=512 -Dfile.encoding=UTF-8 -Duser.timezone=UTC -Djava.awt.headless=true',
  '-Xss2M -Xmn256m -Xlog:gc -ea',
  '-XX:+PerfDisableSharedMem -XX:TypeProfileLevel=111 -XX:+UseProfiledLoopPredicate',
  '--add-opens=java.base/java.lang=ALL-UNNAMED --enable-preview --add-modules=jdk.incubator.vector',
]) {
  test(`owners may set "${options}"`, (t) => t.is(checkJvmOptions(options), undefined));
}

const REFUSED: Record<string, readonly string[]> = {
  agents: ['-javaagent:x.jar', '-agentlib:jdwp', '-agentpath:/x.so', '-XX:+EnableDynamicAgentLoading', '-Xdebug'],
  'debug ports': [
    '-Xrunjdwp:transport=dt_socket,server=y,address=5005',
    '-Dcom.sun.management.jmxremote.port=9010',
    '-XX:+ManagementServer',
    '-XX:+StartAttachListener',
  ],
  'other programs and class paths': ['-jar', '-cp', '-classpath', '--class-path=x', '-p', '--module-path=x', 'Main'],
  'boot class paths': ['-Xbootclasspath/a:x.jar', '--patch-module=java.base=x', '--upgrade-module-path=x'],
  'files of arguments': [
    '@args',
    '@/etc/passwd',
    '-XX:Flags=x',
    '-XX:VMOptionsFile=x',
    '-XX:+IgnoreUnrecognizedVMOptions',
  ],
  'commands after an error': ['-XX:OnError=reboot', '-XX:OnOutOfMemoryError=x', '-XX:-ExitOnOutOfMemoryError'],
  'files and folders': [
    '-XX:HeapDumpPath=/x',
    '-XX:+HeapDumpOnOutOfMemoryError',
    '-XX:+CreateCoredumpOnCrash',
    '-XX:ErrorFile=x',
    '-XX:CompileCommandFile=x',
    '-XX:StartFlightRecording=filename=x',
    '-Xlog:gc:x',
    '-Xlog:gc:file=x',
    '-Xloggc:x',
    '-Djava.io.tmpdir=x',
    '-Djna.library.path=plugins',
    '-Dlog4j.configurationFile=x',
    '-Dlog4j2.configurationFile=x',
  ],
  'memory limits': [
    '-Xmx8G',
    '-Xms8G',
    '-XX:MaxHeapSize=8g',
    '-XX:MaxRAM=8g',
    '-XX:MaxRAMPercentage=99',
    '-XX:DefaultMaxRAMFraction=1',
    '-XX:InitialHeapSize=8g',
    '-XX:MaxDirectMemorySize=8g',
    '-XX:ReservedCodeCacheSize=2g',
    '-XX:ThreadStackSize=1048576',
    '-Xss1g',
    '-XX:+UseLargePages',
  ],
  'start caches': [
    '-XX:AOTCache=x',
    '-XX:AOTMode=create',
    '-XX:SharedArchiveFile=x',
    '-XX:+AutoCreateSharedArchive',
    '-Xshare:dump',
  ],
  'signals by which a server is stopped': ['-Xrs', '-XX:+ReduceSignalUsage'],
  'consent to the licence of Minecraft': ['-Dcom.mojang.eula.agree=true'],
  launchers: [
    '-Dpaperclip.patchonly=true',
    '-DbundlerMainClass=x',
    '-Dfabric.addMods=x',
    '-Djava.class.path=x',
    '-Djdk.module.path=x',
  ],
  'characters of a shell': [
    '-Dx=$(id)',
    '-Dx=`id`',
    '-Dx="a',
    "-Dx='a",
    '-Dx=a;b',
    '-Dx=a*',
    '-Dx=%VAR%',
    '-Dx=a\\b',
    '-Dx=a\tb',
    '-Dx=a\nb',
  ],
};
for (const [what, refused] of Object.entries(REFUSED)) {
  test(`owners may not set options for ${what}`, (t) => {
    for (const option of refused) {
      t.regex(checkJvmOptions(`-ea ${option} -XX:+UseG1GC`) ?? 'accepted', /^must not contain /, option);
    }
  });
}

const DANGEROUS = Object.values(REFUSED).flat();

test('a refused option is refused among any others', (t) => {
  const fine = stringMatching(/^-D[a-c]{1,3}=[a-z0-9]{1,5}$/);
  const mixed = tuple(array(fine), constantFrom(...DANGEROUS), array(fine));
  assert(
    property(mixed, ([before, option, after]) => {
      t.not(checkJvmOptions([...before, option, ...after].join(' ')), undefined);
    }),
  );
});

test('accepted options contain no character that a shell or a file of options treats specially', (t) => {
  const piece = oneof(
    string(),
    constantFrom(...DANGEROUS, '-XX:', '-D', '-X', '--', '=', ' '),
    stringMatching(/^-XX:[+-]?\w+(=\w+)?$/),
  );
  assert(
    property(array(piece), (pieces) => {
      const options = pieces.join('');
      if (checkJvmOptions(options) !== undefined) return;
      t.regex(options, /^[\w .,:+=/@-]*$/);
      for (const flag of ownFlags(options)) t.regex(flag, /^-(?:-|D|X|ea|da|esa|dsa|server)/);
    }),
    { numRuns: 1_000 },
  );
});

test('options are at most 1,024 characters long', (t) => {
  t.is(checkJvmOptions(`-Da=${'x'.repeat(200)}`), undefined);
  t.regex(checkJvmOptions('-ea '.repeat(300)) ?? '', /at most 1024/);
});

test('presets fit the version of Java, and unlock options before they set them', (t) => {
  for (const preset of JVM_PRESETS)
    t.deepEqual(
      presetFlags(preset, 8).filter((flag) => flag.includes('ZGC')),
      [],
    );
  t.deepEqual(presetFlags('default', 25), []);
  t.deepEqual(presetFlags('zgc', 17), ['-XX:+UseZGC']);
  t.deepEqual(presetFlags('zgc', 21), ['-XX:+UseZGC', '-XX:+ZGenerational']);
  t.deepEqual(presetFlags('zgc', 25), ['-XX:+UseZGC']);
  t.deepEqual(presetFlags('zgc'), [], 'an unknown Java');
  t.is(presetFlags('aikar', 25)[0], '-XX:+UnlockExperimentalVMOptions');
});
