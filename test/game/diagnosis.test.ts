import { readFileSync, readdirSync } from 'node:fs';
import test from 'ava';
import { PROPORTIONAL, growth } from '../support/cpu.ts';
import * as fc from '../support/property.ts';
import type { Exit } from '../../src/engines/engine.ts';
import { type DiagnosisContext, diagnose, explainError } from '../../src/game/diagnosis/diagnosis.ts';

const LOGS = new URL('../fixtures/boot-logs/', import.meta.url);
const CONTEXT: DiagnosisContext = { phase: 'start', core: 'paper', version: '1.21.1', ramMb: 2048 };

function exit(code: number | null, oomKilled = false): Exit {
  return { code, oomKilled, at: 0 };
}
function linesOf(name: string): string[] {
  return readFileSync(new URL(name, LOGS), 'utf8').trimEnd().split('\n');
}

/** The expected insights of each fixture (`code subject`), most important first, and the summary of the first. */
const CASES: Record<string, { code?: number; shows: string[]; summary: string }> = {
  'fail-eula-vanilla.log': {
    code: 0,
    shows: ['eula_not_accepted eula.txt'],
    summary: "EULA not accepted: Minecraft runs only once its owner has agreed to Mojang's End User Licence Agreement.",
  },
  'fail-eula-image.log': { shows: ['eula_not_accepted eula.txt'], summary: 'EULA not accepted: ' },
  'fail-eula-sandbox.log': { shows: ['eula_not_accepted eula.txt'], summary: 'EULA not accepted: ' },
  'fail-java-vanilla-1.20.6.log': {
    shows: ['wrong_java_version Java 21'],
    summary: 'Wrong Java version: Minecraft 1.21.1 needs Java 21; this server runs Java 17.',
  },
  'fail-java-paper-plugin.log': {
    shows: ['wrong_java_version Java 25'],
    summary: 'Wrong Java version: ShopKeeper-2.1.jar needs Java 25; this server runs Java 21.',
  },
  'fail-java-paper-1.18.log': {
    shows: ['wrong_java_version Java 17'],
    summary: 'Wrong Java version: Minecraft 1.21.1 needs at least Java 17.',
  },
  'fail-java-forge-1.12.2.log': { shows: ['wrong_java_version Java 8'], summary: 'Wrong Java version: ' },
  'fail-java-forge-mixin.log': { shows: ['wrong_java_version Java 17'], summary: 'Wrong Java version: ' },
  'fail-java-fabric.log': {
    shows: ['wrong_java_version Java 21'],
    summary: 'Wrong Java version: Lithium needs Java 21 or newer; this server runs Java 17.',
  },
  'fail-missing-fabric.log': {
    shows: ['missing_dependency fabric', 'missing_dependency cloth-config'],
    summary: 'Missing mod: Friends&Foes needs Fabric API (any version), which is not installed.',
  },
  'fail-missing-fabric-version.log': {
    shows: ['missing_dependency fabric-api'],
    summary:
      'Wrong mod version: YetAnotherConfigLib needs Fabric API (0.104.0+1.21.1 or newer), but 0.102.0+1.21/0.99.5+1.21 is installed.',
  },
  'fail-missing-fabric-old.log': {
    shows: ['missing_dependency fabric'],
    summary: 'Missing mod: origins needs Fabric API (any version), which is not installed.',
  },
  'fail-missing-quilt.log': {
    shows: ['missing_dependency yungsapi'],
    summary: "Missing mod: Traveler's Titles needs yungsapi (3.2.1 or newer), which is not installed.",
  },
  'fail-missing-forge-1.20.1.log': {
    shows: ['missing_dependency curios', 'missing_dependency geckolib'],
    summary: 'Missing mod: artifacts needs curios (5.2.0 or newer), which is not installed.',
  },
  'fail-missing-neoforge-1.21.1.log': {
    shows: ['missing_dependency menuapi'],
    summary: 'Missing mod: menutweaks needs menuapi (1.21.1-NeoForge-5.1.2 or newer), which is not installed.',
  },
  'fail-missing-forge-1.12.2.log': {
    shows: ['missing_dependency codechickenlib', 'missing_dependency forge'],
    summary: 'Missing mod: Forge Multipart CBE needs codechickenlib (3.2.2 or newer), which is not installed.',
  },
  'fail-missing-forge-1.7.10.log': {
    shows: ['missing_dependency Baubles'],
    summary: 'Missing mod: Thaumcraft needs Baubles (1.0.1.10 or newer), which is not installed.',
  },
  'fail-plugin-paper.log': {
    shows: ['plugin_missing_dependency WorldEdit', 'plugin_missing_dependency Vault'],
    summary: 'Missing plugin: WorldGuard needs the plugin WorldEdit, which is not installed.',
  },
  'fail-plugin-spigot.log': {
    shows: ['plugin_missing_dependency CMILib'],
    summary: 'Missing plugin: Jobs.jar needs the plugin CMILib, which is not installed.',
  },
  'fail-plugin-api-paper.log': {
    shows: ['wrong_minecraft_version NewWorlds-5.0.jar'],
    summary:
      'Plugin for another Minecraft version: NewWorlds-5.0.jar was made for Minecraft 1.25; this server runs 1.21.1.',
  },
  'fail-incompatible-fabric.log': {
    shows: ['incompatible_mods optifabric'],
    summary: 'Incompatible mods: OptiFabric and Sodium cannot run together.',
  },
  'fail-duplicate-forge.log': {
    shows: ['incompatible_mods rubidium'],
    summary:
      'Incompatible mods: rubidium is installed more than once: rubidium-mc1.20.1-0.7.1.jar, embeddium-0.3.31+mc1.20.1.jar.',
  },
  'fail-duplicate-fabric-old.log': {
    shows: ['incompatible_mods fabric'],
    summary: 'Incompatible mods: fabric is installed more than once.',
  },
  'fail-modules-neoforge.log': {
    shows: ['incompatible_mods sodiumextras'],
    summary: 'Incompatible mods: sodiumextras finds the package net.caffeinemc.mods.sodium.service in two mods.',
  },
  'fail-mixin-fabric.log': { shows: ['incompatible_mods expandability'], summary: 'Incompatible mods: expandability ' },
  'fail-broken-forge.log': {
    shows: ['incompatible_mods '],
    summary: 'Incompatible mods: The mods are not compatible',
  },
  'fail-client-forge.log': {
    shows: ['client_only_mod oculus'],
    summary: "Mod for players only: oculus works only in the player's game, not on a server.",
  },
  'fail-client-neoforge.log': { shows: ['client_only_mod templateviewer'], summary: 'Mod for players only: ' },
  'fail-client-fabric.log': { shows: ['client_only_mod jetpack'], summary: 'Mod for players only: jetpack ' },
  'fail-version-fabric.log': {
    shows: ['wrong_minecraft_version fabric'],
    summary:
      'Wrong Minecraft version: Fabric API needs Minecraft 1.19-alpha.22.18.a up to 1.20; this server runs 1.18.2.',
  },
  'fail-version-forge.log': {
    shows: ['wrong_minecraft_version jei'],
    summary: 'Wrong Minecraft version: jei needs Minecraft 1.20.4 up to 1.20.5; this server runs 1.20.1.',
  },
  'fail-version-image.log': {
    shows: ['wrong_minecraft_version 26.2'],
    summary: 'No such version: There is no stable build of paper for Minecraft 26.2.',
  },
  'fail-version-sandbox.log': {
    shows: ['wrong_minecraft_version 1.7.2'],
    summary: 'Unknown Minecraft version: The sandbox core does not run Minecraft 1.7.2, only 1.8.8 to 26.1.',
  },
  'fail-memory-heap.log': {
    code: 3,
    shows: ['out_of_memory 2048 MB'],
    summary: "Out of memory: The game used all memory that Java can use (Java heap space) of the server's 2048 MB.",
  },
  'fail-memory-jvm.log': { shows: ['out_of_memory 2048 MB'], summary: 'Out of memory: There is not enough memory' },
  'fail-memory-runner.log': {
    code: 255,
    shows: ['out_of_memory 2048 MB'],
    summary: 'Out of memory: The system killed the game',
  },
  'fail-memory-threads.log': { shows: ['out_of_memory threads'], summary: 'Too many threads: ' },
  'fail-killed-runner.log': {
    code: 255,
    shows: ['killed_by_stop '],
    summary: 'Killed: The game was killed before it had finished (exit code 255).',
  },
  'fail-port-vanilla.log': { shows: ['port_in_use '], summary: 'Port in use: ' },
  'fail-server-ip-vanilla.log': { shows: ['bad_config server-ip', 'port_in_use '], summary: 'Wrong server-ip: ' },
  'fail-locked-paper.log': {
    shows: ['world_locked world'],
    summary: 'World in use: Another process still has the world "world" open.',
  },
  'fail-migration-paper.log': {
    shows: ['world_migration world_nether'],
    summary:
      'World not migrated: Minecraft moves the dimension in world_nether/DIM-1 into world/dimensions/minecraft/the_nether, but both hold region files.',
  },
  'fail-migration-link.log': {
    shows: ['world_migration world_the_end'],
    summary: 'World not migrated: The folder world_the_end is a link or a mount: ',
  },
  'fail-newer-paper.log': { shows: ['world_newer_version 1.21.1'], summary: 'World from a newer version: ' },
  'fail-newer-vanilla.log': { shows: ['world_newer_version 1.21.1'], summary: 'World from a newer version: ' },
  'fail-older-vanilla.log': { shows: ['wrong_minecraft_version world'], summary: 'World from a very old version: ' },
  'fail-corrupt-vanilla.log': { shows: ['world_corrupt level.dat'], summary: 'World damaged: ' },
  'fail-chunks-vanilla.log': { shows: ['world_corrupt [12, -7]'], summary: 'Damaged chunks: The chunk at [12, -7] ' },
  'fail-watchdog-vanilla.log': {
    shows: ['watchdog 60 s'],
    summary: "The game hung: One tick took 60 seconds, so the game's watchdog ended it.",
  },
  'fail-watchdog-paper.log': { shows: ['watchdog '], summary: 'The game hung: ' },
  'fail-disk-vanilla.log': { shows: ['disk_full ', 'world_corrupt level.dat'], summary: 'Disk full: ' },
  'fail-config-yaml.log': {
    shows: ['bad_config plugins/Essentials/config.yml'],
    summary: 'Broken settings: plugins/Essentials/config.yml is not valid YAML',
  },
  'fail-config-charset.log': {
    shows: ['bad_config server.properties'],
    summary: 'Broken settings: server.properties cannot be read.',
  },
  'fail-config-image.log': { shows: ['bad_config TYPE'], summary: "Broken settings: Invalid TYPE: 'PAPERR'." },
  'fail-config-jvm.log': {
    shows: ['bad_config '],
    summary: 'Broken settings: Java was started with an unknown option',
  },
  'fail-auth-vanilla.log': { shows: ['auth_servers_down '], summary: 'Sign-in servers down: ' },
  'fail-trace-paper.log': {
    shows: ['mod_crashed ExampleWarps-2.4.jar'],
    summary: 'Crashed in a mod or plugin: The game ended with exit code 1; the error comes from ExampleWarps-2.4.jar: ',
  },
  'fail-unknown-vanilla.log': {
    shows: ['unknown '],
    summary:
      'Crashed: The game ended with exit code 1; last seen: java.lang.NullPointerException: Cannot invoke "Object.hashCode()" because "key" is null.',
  },
  'fail-jar-corrupt.log': {
    shows: ['broken_jar server.jar'],
    summary: 'Not a server program: server.jar is not a jar: it is incomplete, or it is a web page',
  },
  'fail-jar-html-mod-fabric.log': {
    shows: ['broken_jar waystones-fabric.jar', 'incompatible_mods '],
    summary: 'Damaged jar: waystones-fabric.jar is damaged',
  },
  'fail-jar-manifest.log': {
    shows: ['broken_jar EssentialsX-2.20.1.jar'],
    summary: 'Not a server program: EssentialsX-2.20.1.jar cannot be started: it is a plugin',
  },
  'fail-jar-missing.log': {
    shows: ['missing_jar forge-1.16.5-36.2.39.jar'],
    summary: 'Program missing: There is no forge-1.16.5-36.2.39.jar to start.',
  },
  'fail-heap-initial-jvm.log': {
    shows: ['bad_config heap'],
    summary: 'Broken settings: The Java options set more initial memory than the maximum.',
  },
  'fail-java-forge-1.16.5.log': {
    shows: ['wrong_java_version older Java'],
    summary: 'Wrong Java version: This build of paper requires an older Java',
  },
  'fail-java-fabric-asm.log': {
    shows: ['wrong_java_version Java 21'],
    summary: 'Wrong Java version: The mod loader or a mod cannot read the classes of Java 21.',
  },
  'fail-permission-lock-vanilla.log': {
    shows: ['permission_denied world/session.lock'],
    summary: 'Not allowed to write: The game cannot open world/session.lock',
  },
  'fail-permission-log-vanilla.log': {
    shows: ['permission_denied logs/latest.log'],
    summary: 'Not allowed to write: The game cannot open logs/latest.log',
  },
  'fail-readonly-vanilla.log': {
    shows: ['read_only_disk '],
    summary: "Disk cannot be written: The file system that holds the server's files is read-only.",
  },
  'fail-datapack-vanilla.log': {
    shows: ['broken_datapack terralith_old.zip'],
    summary: 'Broken data pack: terralith_old.zip cannot be loaded by Minecraft 1.21.1.',
  },
  'fail-lists-vanilla.log': {
    shows: ['bad_config ops.json', 'bad_config whitelist.json'],
    summary: 'Broken settings: ops.json is not valid JSON',
  },
  'fail-java-crash.log': {
    code: 134,
    shows: ['java_crashed libspark-native.so'],
    summary: 'Java crashed: Java itself crashed in libspark-native.so, not the game.',
  },
  'fail-memory-abort.log': {
    code: 134,
    shows: ['out_of_memory 2048 MB', 'java_crashed '],
    summary: 'Out of memory: The game used all memory that Java can use',
  },
  'fail-memory-node.log': {
    code: 134,
    shows: ['out_of_memory 2048 MB', 'java_crashed '],
    summary: 'Out of memory: The game used all memory that it can use',
  },
  'fail-offline-paper.log': {
    shows: ['download_failed mojang_1.21.1.jar'],
    summary: 'Download failed: mojang_1.21.1.jar could not be downloaded.',
  },
  'fail-offline-fabric.log': {
    shows: ['download_failed launchermeta.mojang.com'],
    summary: 'Download failed: launchermeta.mojang.com could not be reached.',
  },
  'fail-refused-fabric.log': {
    shows: ['download_failed '],
    summary: 'Download failed: A server on the internet did not answer.',
  },
  'fail-hash-paper.log': {
    shows: ['download_failed mojang_1.21.1.jar'],
    summary: 'Download failed: mojang_1.21.1.jar was damaged during the download.',
  },
  'fail-installer-forge-image.log': {
    shows: ['download_failed files.minecraftforge.net'],
    summary: 'Download failed: files.minecraftforge.net answered 503.',
  },
  'fail-installer-neoforge-image.log': {
    shows: ['download_failed neoforge', 'download_failed NeoForge'],
    summary: 'Download failed: The installer of neoforge failed.',
  },
  'fail-installer-neoforge-version-image.log': {
    shows: ['wrong_minecraft_version 1.21.1'],
    summary: 'No such version: There is no build of paper for Minecraft 1.21.1.',
  },
  'fail-installer-quilt-image.log': {
    shows: ['download_failed quilt', 'download_failed Quilt'],
    summary: 'Download failed: The installer of quilt failed.',
  },
  'fail-builds-mohist-image.log': {
    shows: ['wrong_minecraft_version 1.21.1'],
    summary: 'No such version: There is no build of paper for Minecraft 1.21.1.',
  },
  'fail-builds-magma-image.log': { shows: ['wrong_minecraft_version 1.19.4'], summary: 'No such version: ' },
  'fail-builds-arclight-image.log': { shows: ['wrong_minecraft_version 1.21.1'], summary: 'No such version: ' },
  'fail-custom-image.log': {
    code: 2,
    shows: ['missing_jar server.jar'],
    summary: "No server.jar: There is no server.jar in the server's folder.",
  },
  'install-curseforge-manual.log': {
    shows: ['modpack_manual_download Structory: Towers'],
    summary: 'Mod must be downloaded by hand: The authors of Structory: Towers allow only downloads by hand',
  },
  'install-curseforge-pack.log': {
    shows: ['modpack_manual_download ', 'download_failed CurseForge modpack'],
    summary: 'Mods must be downloaded by hand: ',
  },
  'install-modrinth-offline.log': {
    shows: ['download_failed api.modrinth.com'],
    summary: 'Download failed: api.modrinth.com could not be reached.',
  },
  'install-vanilla-version.log': {
    shows: ['download_failed vanilla Minecraft version'],
    summary: 'Download failed: The vanilla Minecraft version could not be installed.',
  },
  'install-slug.log': {
    shows: ['download_failed custom-pack'],
    summary: 'Download failed: CurseForge has no pack or mod named custom-pack.',
  },
  'install-sandbox-pack.log': {
    shows: ['bad_config modpack'],
    summary: 'Broken settings: The sandbox core does not support mod packs.',
  },
};

for (const [name, { code = 1, shows, summary }] of Object.entries(CASES))
  test(name, (t) => {
    const lines = linesOf(name);
    const phase = name.startsWith('install-') ? 'install' : 'start';
    const diagnosis = diagnose(lines, exit(code), { ...CONTEXT, phase });
    t.deepEqual(
      diagnosis.insights.map((each) => `${each.code} ${each.subject}`),
      shows,
    );
    t.true(diagnosis.summary.startsWith(summary), diagnosis.summary);
    const [first] = diagnosis.insights;
    const { code: firstCode, summary: firstSummary, suggestion } = diagnosis;
    t.like(first, { code: firstCode, summary: firstSummary, suggestion });
    t.true(diagnosis.suggestion.endsWith('.'));
    t.true(diagnosis.raw.includes(first?.evidence[0] ?? lines.at(-1) ?? ''));
    t.true(
      first?.evidence.every((line) => lines.some((each) => each.replaceAll(/§./g, '') === line.replaceAll(/§./g, ''))),
    );
  });

test('every recorded failure log is in the table of cases', (t) => {
  t.deepEqual(
    readdirSync(LOGS).filter((name) => !name.startsWith('start-')),
    Object.keys(CASES).sort(),
  );
});

test('the log of a successful start shows no cause of failure', (t) => {
  for (const name of readdirSync(LOGS).filter((each) => each.startsWith('start-'))) {
    const diagnosis = diagnose(linesOf(name), exit(0), { ...CONTEXT, phase: 'run' });
    t.is(diagnosis.code, 'unknown', name);
    t.is(diagnosis.summary, 'Stopped on its own: The game ended with exit code 0 and its log names no cause.');
  }
});

test('the exit decides the diagnosis if the log names no cause, and an OOM kill always wins', (t) => {
  const quiet = ['[11:02:00] [Server thread/INFO]: Preparing level "world"'];
  const mods = linesOf('fail-missing-fabric.log');
  const code = (lines: string[], end: Exit | null, phase: DiagnosisContext['phase'] = 'start') =>
    diagnose(lines, end, { ...CONTEXT, phase }).code;
  t.is(code(quiet, exit(137, true)), 'out_of_memory');
  t.is(code(quiet, exit(255, true)), 'out_of_memory');
  t.is(code(mods, exit(137, true)), 'out_of_memory');
  t.is(code(quiet, exit(137)), 'killed_by_stop');
  t.is(code(quiet, exit(143), 'install'), 'killed_by_stop');
  t.is(code(quiet, exit(255)), 'out_of_memory');
  t.is(code(mods, exit(255)), 'missing_dependency');
  t.is(
    code(
      [...quiet, '2026-08-11T18:40:20Z\tWARN\tmc-server-runner\tMinecraft server failed\t{"exitCode": 255}'],
      exit(255),
    ),
    'unknown',
  );
  t.is(code(quiet, exit(255), 'install'), 'unknown');
  t.is(code(quiet, exit(null)), 'unknown');
  t.is(code(quiet, null), 'unknown');
  t.is(code([], null), 'unknown');
  t.is(diagnose([], null, CONTEXT).summary, 'Not ready: The game did not finish and its log names no cause.');
});

test('worlds and jars are named in full, with spaces, brackets and letters of any language', (t) => {
  const first = (lines: string[]) => diagnose(lines, exit(1), CONTEXT).insights[0];
  for (const world of ['world', 'my world']) {
    const failed = `java.lang.RuntimeException: Failed to migrate world storage for ${world}_nether`;
    const there = `./${world}/dimensions/minecraft/the_nether/region/r.0.0.mca`;
    const here = `./${world}_nether/DIM-1/region/r.0.0.mca`;
    const cause = `Caused by: java.io.IOException: Refusing to overwrite existing migrated file ${there} while moving ${here}`;
    t.is(first([failed, cause])?.subject, `${world}_nether`);
    t.true(
      first([failed, cause])?.summary.includes(`the dimension in ${world}_nether/DIM-1 into ${world}/dimensions/`),
    );
  }
  for (const jar of ['Cool Plugin-1.jar', '[1.20.1] Cool Mod.jar', 'Größe.jar']) {
    const frame = `\tat ${jar}//com.example.Main.run(Main.java:3) ~[${jar}:?]`;
    t.is(first(['java.lang.NullPointerException: x', frame])?.subject, jar);
  }
});

test('a warning decides the diagnosis only without a worse finding', (t) => {
  const plugin = linesOf('fail-plugin-paper.log');
  const both = diagnose([...plugin, ...linesOf('fail-memory-heap.log')], exit(3), CONTEXT);
  t.deepEqual(
    both.insights.map(({ code }) => code),
    ['out_of_memory', 'plugin_missing_dependency', 'plugin_missing_dependency'],
  );
  t.is(diagnose(plugin, exit(255), CONTEXT).code, 'out_of_memory');
});

test('chat messages are not evidence for a diagnosis', (t) => {
  const said = [
    'java.lang.OutOfMemoryError: Java heap space',
    'You need to agree to the EULA in order to run the server',
    'No space left on device',
    '**** FAILED TO BIND TO PORT!',
    'A single server tick took 60.00 seconds (should be max 0.05)',
    "Mod ID: 'a', Requested by: 'b', Expected range: '[1,)', Actual version: '[MISSING]'",
    "	 - Mod 'A' (a) 1 requires any version of b, which is missing!",
  ];
  const lines = said.flatMap((text) => [
    `[20:44:26] [Server thread/INFO]: <Alice> ${text}`,
    `[20:44:26] [Server thread/INFO]: [Not Secure] <Alice> ${text}`,
    `[20:44:26] [Server thread/INFO]: [Server] ${text}`,
    `[20:44:26] [Server thread/INFO]: * Alice ${text}`,
    `[20:44:26] [Async Chat Thread - #0/INFO]: Alice: ${text}`,
    `[20:44:26 INFO]: [Admin] Alice » ${text}`,
    `[20:44:26 INFO]: Alice issued server command: /say ${text}`,
  ]);
  t.is(diagnose(lines, exit(1), { ...CONTEXT, phase: 'run' }).code, 'unknown');
});

test('a diagnosis reads only the newest 2 000 lines, and its raw excerpt is at most 4 KB', (t) => {
  const [eula = ''] = linesOf('fail-eula-vanilla.log').slice(-1);
  const filler = Array.from({ length: 1_999 }, (_, n) => `[10:00:01] [Server thread/INFO]: ${n} ${'ä'.repeat(300)}`);
  const near = diagnose([eula, ...filler], exit(1), CONTEXT);
  t.is(near.code, 'eula_not_accepted');
  t.true(near.raw.startsWith(eula));
  const far = diagnose([eula, ...filler, 'one more'], exit(1), CONTEXT);
  t.is(far.code, 'unknown');
  t.true(far.raw.endsWith('one more'));
  for (const { raw } of [near, far]) t.true(Buffer.byteLength(raw) <= 4_096 && Buffer.byteLength(raw) > 2_000);
  const colours = diagnose(
    [`\u001b[31m[10:00:00 ERROR]: \u001b[0mNo space left on device\u001b[K\u0007\u202e`],
    exit(1),
    CONTEXT,
  );
  t.is(colours.raw, '[10:00:00 ERROR]: No space left on device');
});

test('a diagnosis has at most 20 insights with at most 5 lines of evidence each', (t) => {
  const lines = Array.from(
    { length: 2_000 },
    (_, n) => `	 - Mod 'A' (a) 1.0 requires any version of lib${n % 500}, which is missing!`,
  );
  const { insights } = diagnose(lines, exit(1), CONTEXT);
  t.is(insights.length, 20);
  t.true(insights.every(({ evidence }) => evidence.length <= 5 && evidence.length > 1));
});

const pieces = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 200 }),
  fc.constantFrom(...Object.keys(CASES)).chain((name) => fc.constantFrom(...linesOf(name))),
);
test('any log and exit get a complete diagnosis without an exception', (t) => {
  const ends = fc.option(fc.record({ code: fc.option(fc.nat(255)), oomKilled: fc.boolean(), at: fc.constant(null) }));
  const contexts = fc.record({
    phase: fc.constantFrom('install' as const, 'start' as const, 'run' as const),
    core: fc.string(),
    version: fc.string(),
    ramMb: fc.nat(),
  });
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 40 }), ends, contexts, (lines, end, context) => {
      const { code, summary, suggestion, raw, insights } = diagnose(lines, end, context);
      return (
        /^[a-z_]+$/.test(code) &&
        summary.includes(': ') &&
        suggestion !== '' &&
        Buffer.byteLength(raw) <= 4_096 &&
        insights.length > 0 &&
        insights.length <= 20
      );
    }),
    { numRuns: 500 },
  );
  t.pass();
});

test('the diagnosis of very long hostile lines has no quadratic cost', (t) => {
  // A quadratic pattern would need hours for each of these. The runner allows a test ten seconds without progress.
  const hostile = [
    " - Mod '",
    "	 - Mod 'a' (a) 1 requires ",
    ' requires a of ',
    'a requires version [',
    'Failed to install ',
    'java.a.',
    'InjectionError from mod ',
    'Modules a and ',
    "the mod 'a' have disallowed project distribution. Manually download the file '",
    'while parsing a ',
    '/a',
    'Immediate reason: [HARD_DEP ',
    '\u001b[',
    '> ',
    '§',
  ];
  for (const piece of hostile) {
    const line = piece.repeat(Math.ceil(100_000 / piece.length));
    t.is(
      diagnose(
        Array.from({ length: 100 }, () => line),
        exit(1),
        CONTEXT,
      ).insights.length,
      1,
      piece,
    );
  }
});

test('a log crafted against a single rule is diagnosed in linear time', (t) => {
  const repeat =
    (unit: string, last = '') =>
    (length: number) =>
      unit.repeat(Math.ceil(length / unit.length)).slice(0, length - last.length) + last;
  const attacks = [
    repeat('a/', 'MalformedInputException'),
    repeat('UnsupportedClassVersionError: '),
    repeat('a.', '/session.lock'),
    repeat('InjectionError ', ' from mod '),
    repeat('mod a requires mods ['),
    (length: number) =>
      repeat('Failed to create mod instance. ModID: ', 'load a clientside only mod')(length).replace('ModID: ', 'ModI'),
    repeat('Attempted to load class net/minecraft/client/'),
    repeat('Exception reading aaaa', ' level.dat'),
    repeat('Refusing to overwrite existing migrated file  while moving '),
    repeat('Failed to migrate world storage for '),
    (length: number) => `\tat ${repeat(' ~[')(length)}`,
  ];
  for (const attack of attacks) {
    const work = (length: number) => {
      const lines = Array.from({ length: 100 }, () => attack(length));
      diagnose(lines, exit(1), CONTEXT, lines);
    };
    const times = growth(work, 250);
    t.true(times < PROPORTIONAL, `${attack(60)}: ${times}`);
  }
});

test('one error of a log is explained by its own lines: the message above, and the stack trace', (t) => {
  const log = linesOf('fail-trace-paper.log');
  const run: DiagnosisContext = { ...CONTEXT, phase: 'run' };
  const unknown = explainError(log, 2, run);
  t.is(unknown.lines.length, 7);
  t.regex(unknown.lines[0] ?? '', /Encountered an unexpected exception/);
  t.deepEqual([unknown.insights, unknown.jar], [[], 'ExampleWarps-2.4.jar']);
  t.is(
    explainError([...log, '[18:02:21 ERROR]: java.lang.OutOfMemoryError: Java heap space'], 2, run).insights.length,
    0,
  );
  const memory = ['[18:02:21 ERROR]: Ticking', 'java.lang.OutOfMemoryError: Java heap space', '\tat a.B.c(D.java:1)'];
  t.deepEqual(
    explainError([...log, ...memory], log.length, run).insights.map(({ code }) => code),
    ['out_of_memory'],
  );
  t.is(explainError(['x.Exception', ...Array<string>(5_000).fill('\tat a.B.c(D.java:1)')], 0, run).lines.length, 120);
});
