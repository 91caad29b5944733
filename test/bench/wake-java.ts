import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout as delay } from 'node:timers/promises';
import { createProxy } from '../../proxy/index.ts';
import { pingStatus } from '../../proxy/ping.ts';
import { createRconConsole } from '../../src/engines/console/rcon.ts';
import { heapMb } from '../../src/engines/java-heap.ts';
import { createJavas } from '../../src/engines/process/java-homes.ts';
import { createProcessEngine } from '../../src/engines/process/process.ts';
import { QuickStarts } from '../../src/engines/process/quick-starts.ts';
import { processTrainer } from '../../src/engines/process/training.ts';
import { runFiles } from '../../src/engines/process/runs.ts';
import type { Address } from '../../src/kernel/address.ts';
import { createLog } from '../../src/kernel/log.ts';
import { createCoreJar, minestomJars } from '../support/java-core.ts';
import { JDK25 } from '../support/needs.ts';
import { freePort } from '../support/service.ts';
import { cpuMs } from './children.ts';
import { BENCH, type Control, addServers, inFolder, openControl } from './control.ts';
import { type Report, median } from './figures.ts';
import { join as joinGame } from './player.ts';

const ROUNDS = 5;
const ID = 'server-0';
/** The protocol of the game, 1.21.11. */
const PROTOCOL = 774;
const RAM_MB = 1_024;
const RETRY_MS = 20;
const START_MS = 300_000;
const JAR = 'vanilla-1.21.11.jar';

/** The wall and processor time of one start, in ms. */
interface Cost {
  wall: number;
  cpu: number;
}

/**
 * Measures a player's join to a sleeping server of a real Java game on Java 25, until its first byte, and the same jar
 * started by hand with `java -jar`, in turns. The game is Minestom from Maven Central, in a jar like Mojang's. The
 * figures with Dormouse include the processor time of the service and of the player.
 */
export async function run(report: Report): Promise<void> {
  await inFolder(async (folder) => {
    const coresDir = join(folder, 'cores');
    for (const each of [coresDir, join(folder, 'drafts'), join(folder, 'by-hand')]) await mkdir(each);
    report.progress('compiling the game');
    await createCoreJar(join(coresDir, JAR), join(folder, 'drafts'), 'MinestomGame', {
      libraries: await minestomJars(),
    });
    const log = createLog({ level: 'silent' });
    const searchPath = process.env.PATH ?? '';
    const quickStarts = new QuickStarts({ coresDir, trainer: processTrainer({}, searchPath), log });
    const javas = createJavas({ homes: [JDK25] });
    const engine = createProcessEngine({ runDir: join(folder, 'run'), log, sandboxEntry: '/', javas, quickStarts });
    const pinger = { status: (address: Address, timeoutMs: number) => pingStatus(address, { timeoutMs }) };
    const console = createRconConsole();
    const control = await openControl(folder, { engine, pinger, console });
    const proxy = createProxy({ routes: control.routing, wake: control.routing, log: control.log });
    // Games outlive the process that started them.
    process.once('SIGTERM', () => void engine.erase(ID).finally(() => process.exit(1)));
    try {
      await addServers(control, 1, { type: 'vanilla', version: '1.21.11', ramMb: RAM_MB, clientVersions: 'any' });
      const { port } = await proxy.listen('127.0.0.1', 0);
      const first = await withDormouse(control, port, folder);
      report.progress('recording the start cache');
      await quickStarts.settled();
      const [plain, quick]: [Cost[], Cost[]] = [[], []];
      for (let round = 1; round <= ROUNDS; round++) {
        plain.push(await byHand(folder));
        quick.push(await withDormouse(control, port, folder));
        report.progress(`round ${round} of ${ROUNDS}`);
      }
      const note = `median of ${ROUNDS} starts in turns`;
      report.row({ figure: 'first wake, before its cache exists', value: first.wall, unit: 'ms' });
      for (const [kind, name] of [
        ['wall', 'time'],
        ['cpu', 'CPU'],
      ] as const) {
        const [byHandMs, dormouseMs] = [plain, quick].map((costs) => median(costs.map((cost) => cost[kind])));
        report.row({ figure: `java -jar: start to the first byte, ${name}`, value: byHandMs!, unit: 'ms', note });
        report.row({ figure: `Dormouse: join to the first byte, ${name}`, value: dormouseMs!, unit: 'ms', note });
        report.row({
          figure: `Dormouse / java -jar, ${name}`,
          value: dormouseMs! / byHandMs!,
          unit: '1',
          note: '≤ 0.55',
        });
      }
    } finally {
      await proxy.close();
      await control.close();
      console.close();
      await quickStarts.close();
      await engine.erase(ID);
    }
  });
}

async function withDormouse({ servers }: Control, port: number, folder: string): Promise<Cost> {
  const [begun, cpu] = [performance.now(), process.cpuUsage()];
  const played = await joinGame(port, `${ID}.localhost`, PROTOCOL);
  const { user, system } = process.cpuUsage(cpu);
  const game = await runFiles(join(folder, 'run')).read(ID);
  const cost = { wall: played - begun, cpu: cpuMs({ pid: game?.pid ?? undefined }) + (user + system) / 1_000 };
  const signal = AbortSignal.timeout(START_MS);
  await servers.until(ID, (now) => now?.state === 'running', signal);
  await servers.send(ID, { type: 'STOP', at: Date.now(), cause: BENCH });
  await servers.until(ID, (now) => now?.state === 'hibernated', signal);
  return cost;
}

async function byHand(folder: string): Promise<Cost> {
  const cwd = join(folder, 'by-hand');
  const port = await freePort();
  await writeFile(join(cwd, 'server.properties'), `server-ip=127.0.0.1\nserver-port=${port}\n`);
  const begun = performance.now();
  const args = [`-Xmx${heapMb(RAM_MB)}M`, '-jar', join(folder, 'cores', JAR), 'nogui'];
  const game = spawn(join(JDK25, 'bin/java'), args, { cwd, stdio: 'ignore' });
  try {
    for (const end = begun + START_MS; performance.now() < end; await delay(RETRY_MS)) {
      const played = await joinGame(port, 'localhost', PROTOCOL).catch(() => undefined);
      if (played !== undefined) return { wall: played - begun, cpu: cpuMs(game) };
    }
    throw new Error('the game never answered');
  } finally {
    game.kill('SIGKILL');
    await once(game, 'exit');
  }
}
