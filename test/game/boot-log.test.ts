import { readFileSync, readdirSync } from 'node:fs';
import test from 'ava';
import * as fc from '../support/property.ts';
import { type Progress, createBootLog } from '../../src/game/boot-log.ts';

const LOGS = new URL('../fixtures/boot-logs/', import.meta.url);
const STARTED_AT = 1_800_000_000_000;

/** Reads a fixture line by line, one second apart. Returns the log and the progress steps. */
function replay(name: string, core: string, expectedMs: number | null = null) {
  const log = createBootLog({ core, expectedMs, startedAt: STARTED_AT });
  const steps: Progress[] = [];
  readFileSync(new URL(name, LOGS), 'utf8')
    .split('\n')
    .forEach((line, second) => {
      const step = log.read(line, STARTED_AT + second * 1_000);
      if (step) steps.push(step);
    });
  return { log, steps };
}

function shown(steps: readonly Progress[]): string[] {
  return steps.map(({ phase, percent }) => `${phase} ${percent}`);
}

const W = 'generating_world';
const STARTS: Record<string, { core: string; rcon: boolean; steps: string[] }> = {
  'start-vanilla-1.20.2-image.log': {
    core: 'vanilla',
    rcon: true,
    steps: [`${W} 0`, `${W} 18`, `${W} 47`, `${W} 83`, `${W} 99`, 'ready 100'],
  },
  'start-vanilla-26.1.log': { core: 'vanilla', rcon: true, steps: [`${W} 0`, `${W} 99`, 'ready 100'] },
  'start-paper-1.19.4.log': {
    core: 'paper',
    rcon: true,
    steps: ['loading_mods 0', `${W} 0`, `${W} 11`, `${W} 30`, `${W} 33`, `${W} 53`, `${W} 66`, `${W} 99`, 'ready 100'],
  },
  'start-paper-1.21.4.log': {
    core: 'paper',
    rcon: true,
    steps: ['loading_mods 0', `${W} 0`, `${W} 33`, `${W} 66`, `${W} 99`, 'ready 100'],
  },
  'start-fabric-1.21.1.log': {
    core: 'fabric',
    rcon: false,
    steps: ['loading_mods 0', `${W} 0`, `${W} 2`, `${W} 51`, `${W} 99`, 'ready 100'],
  },
  'start-forge-1.20.1.log': {
    core: 'forge',
    rcon: true,
    steps: ['loading_mods 0', `${W} 0`, `${W} 18`, `${W} 70`, `${W} 99`, 'ready 100'],
  },
  'start-forge-1.12.2.log': {
    core: 'forge',
    rcon: true,
    steps: ['loading_mods 0', `${W} 0`, `${W} 21`, `${W} 76`, 'ready 100'],
  },
  'start-neoforge-1.21.3.log': {
    core: 'neoforge',
    rcon: false,
    steps: ['loading_mods 0', `${W} 0`, `${W} 2`, `${W} 99`, 'ready 100'],
  },
  'start-quilt-1.20.2.log': {
    core: 'quilt',
    rcon: false,
    steps: ['loading_mods 0', `${W} 0`, `${W} 44`, `${W} 99`, 'ready 100'],
  },
  'start-sandbox-1.21.4.log': { core: 'sandbox', rcon: true, steps: [`${W} 0`, `${W} 99`, 'ready 100'] },
};

for (const [name, { core, rcon, steps }] of Object.entries(STARTS))
  test(`replaying ${name} shows the expected phases and percentages`, (t) => {
    const replayed = replay(name, core);
    t.deepEqual(shown(replayed.steps), steps);
    t.true(replayed.log.ready);
    t.is(replayed.log.rconRunning, rcon);
    t.true(replayed.steps.every(({ phase, etaSeconds }) => etaSeconds === (phase === 'ready' ? 0 : null)));
  });

test('every recorded start log is in the table of starts', (t) => {
  t.deepEqual(
    readdirSync(LOGS).filter((name) => name.startsWith('start-')),
    Object.keys(STARTS).sort(),
  );
});

test('a failed start is never ready before its Done line', (t) => {
  for (const name of readdirSync(LOGS).filter((name) => /^(fail|install)-/.test(name))) {
    const { log, steps } = replay(name, 'paper');
    const says = /\]: Done \(/.test(readFileSync(new URL(name, LOGS), 'utf8'));
    t.is(log.ready, says, name);
    t.is(steps.at(-1)?.phase === 'ready', says, name);
  }
});

test('while the log is silent, the percentage follows the expected start time, up to 95', (t) => {
  const log = createBootLog({ core: 'vanilla', expectedMs: 20_000, startedAt: STARTED_AT });
  t.deepEqual(log.progress(STARTED_AT), { phase: 'starting', percent: 0, etaSeconds: 20 });
  t.deepEqual(log.progress(STARTED_AT + 5_000), { phase: 'starting', percent: 25, etaSeconds: 15 });
  t.deepEqual(log.read('[00:40:51] [Server thread/INFO]: Selecting global world spawn...', STARTED_AT + 10_000), {
    phase: 'generating_world',
    percent: 50,
    etaSeconds: 10,
  });
  t.deepEqual(log.progress(STARTED_AT + 60_000), { phase: 'generating_world', percent: 95, etaSeconds: 0 });
  t.deepEqual(log.read('[00:41:04] [Server thread/INFO]: Done (13.448s)! For help, type "help"', STARTED_AT + 61_000), {
    phase: 'ready',
    percent: 100,
    etaSeconds: 0,
  });
});

test('a clock that jumps back does not lower the percentage', (t) => {
  const log = createBootLog({ core: 'vanilla', expectedMs: 10_000, startedAt: STARTED_AT });
  t.is(log.progress(STARTED_AT + 6_000).percent, 60);
  t.deepEqual(log.progress(STARTED_AT - 3_600_000), { phase: 'starting', percent: 60, etaSeconds: 10 });
});

const PRETENDED = [
  'Done (1.0s)! For help, type "help"',
  'RCON running on 0.0.0.0:25575',
  'Preparing spawn area: 90%',
  'Preparing level "world"',
];
const SPOKEN = [
  (text: string) => `[20:44:26] [Server thread/INFO]: <Alice> ${text}`,
  (text: string) => `[20:44:26] [Server thread/INFO]: [Not Secure] <Alice> ${text}`,
  (text: string) => `[20:44:26] [Server thread/INFO]: [Alice] ${text}`,
  (text: string) => `[20:44:26] [Server thread/INFO]: [Server] ${text}`,
  (text: string) => `[20:44:26] [Server thread/INFO]: [Rcon] ${text}`,
  (text: string) => `[20:44:26] [Server thread/INFO]: * Alice ${text}`,
  (text: string) => `[20:44:26] [Async Chat Thread - #0/INFO]: ${text}`,
  (text: string) => `[20:44:26] [Async Chat Thread - #0/INFO]: <Alice> ${text}`,
  (text: string) => `[20:44:26] [Server thread/INFO] [net.minecraft.server.MinecraftServer/]: <Alice> ${text}`,
  (text: string) => `[20:44:26 INFO]: <Alice> ${text}`,
  (text: string) => `[20:44:26 INFO]: [Not Secure] [Admin] Alice: ${text}`,
  (text: string) => `[20:44:26 INFO]: Alice issued server command: /say ${text}`,
  (text: string) => `[20:44:26] [Server thread/INFO]: <Alice> [20:44:26] [Server thread/INFO]: ${text}`,
  (text: string) => `[20:44:26] [Some Plugin Thread/INFO]: ${text}`,
  (text: string) => text,
];

test('chat, commands and plugin output do not advance a start’s progress', (t) => {
  for (const say of SPOKEN)
    for (const text of PRETENDED) {
      const log = createBootLog({ core: 'paper', expectedMs: null, startedAt: 0 });
      t.is(log.read(say(text), 1), undefined, say(text));
      t.false(log.ready || log.rconRunning, say(text));
    }
});

const anyLine = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 300 }),
  fc
    .tuple(fc.constantFrom(...SPOKEN), fc.oneof(fc.constantFrom(...PRETENDED), fc.string({ maxLength: 80 })))
    .map(([say, text]) => say(text)),
  fc
    .constantFrom('[1:1:1 INFO]: ', '[00:00:00] [Server thread/INFO]: ', '\u001b[', '[init] ')
    .map((start) => start.repeat(200)),
);

test('arbitrary log lines never throw, lower the percentage or mark a start as ready', (t) => {
  fc.assert(
    fc.property(fc.array(anyLine, { maxLength: 30 }), fc.option(fc.nat()), (lines, expectedMs) => {
      const log = createBootLog({ core: 'paper', expectedMs, startedAt: 0 });
      let percent = 0;
      for (const [at, line] of lines.entries()) {
        const step = log.read(line, at * 100);
        if (step && (step.percent < percent || step.percent > 99 || !Number.isInteger(step.percent))) return false;
        percent = step?.percent ?? percent;
      }
      return !log.ready && !log.rconRunning;
    }),
    { numRuns: 500 },
  );
  t.pass();
});

test('the boot log reads megabyte-long lines without quadratic cost', (t) => {
  // A quadratic pattern would need hours for these lines. The test runner would time out.
  for (const piece of ['\u001b[1;', '[', '[a] ', ' ', '\u001b]0;', '[00:00:00] [', '§', 'Done (1'])
    for (const head of ['', '[00:00:00] [Server thread/INFO]: ', '[00:00:00] [Server thread/INFO] [']) {
      const log = createBootLog({ core: 'paper', expectedMs: null, startedAt: 0 });
      const line = head + piece.repeat(1_000_000 / piece.length);
      for (let n = 0; n < 20; n += 1) log.read(line, n);
      t.false(log.ready);
    }
});
