import { join } from 'node:path';
import process from 'node:process';
import { setTimeout as delay } from 'node:timers/promises';
import { createProxy } from '../../proxy/index.ts';
import { pingStatus } from '../../proxy/ping.ts';
import { createRconConsole } from '../../src/engines/console/rcon.ts';
import type { Engine } from '../../src/engines/engine.ts';
import { createProcessEngine } from '../../src/engines/process/process.ts';
import type { Address } from '../../src/kernel/address.ts';
import { createLog } from '../../src/kernel/log.ts';
import { BENCH, type Control, addServers, inFolder, openControl } from './control.ts';
import { type Report, median } from './figures.ts';
import { join as joinGame } from './player.ts';

const STARTS = 7;
const ID = 'server-0';
const LOOK_EVERY_MS = 10;
const STOP_MS = 30_000;
const START_MS = 60_000;

/**
 * Measures a player's join to a sleeping server of the built-in game, which runs as a process: from the login to the
 * game's first byte.
 */
export async function run(report: Report): Promise<void> {
  await inFolder(async (folder) => {
    const sandboxEntry = join(import.meta.dirname, '../../src/sandbox/main.ts');
    const log = createLog({ level: 'silent' });
    const console = createRconConsole();
    const engine = createProcessEngine({ runDir: join(folder, 'run'), log, sandboxEntry });
    const pinger = { status: (address: Address, timeoutMs: number) => pingStatus(address, { timeoutMs }) };
    const control = await openControl(folder, { engine, pinger, console });
    const proxy = createProxy({ routes: control.routing, wake: control.routing, log: control.log });
    // Games outlive the process that started them.
    process.once('SIGTERM', () => void engine.erase(ID).finally(() => process.exit(1)));
    const [whole, noticed]: [number[], number[]] = [[], []];
    try {
      await addServers(control, 1, { ramMb: 256 });
      const players = await proxy.listen('127.0.0.1', 0);
      for (let start = 0; start <= STARTS; start++) {
        const begun = performance.now();
        const answering = firstAnswer(engine);
        const played = await joinGame(players.port, `${ID}.localhost`);
        // The first start creates the world.
        if (start > 0) {
          whole.push(played - begun);
          noticed.push(played - (await answering));
        }
        await asleep(control);
      }
      const note = `median of ${STARTS} starts`;
      report.row({ figure: 'sandbox: login to the first byte of the game', value: median(whole), unit: 'ms', note });
      report.row({ figure: 'sandbox: of which after its first status answer', value: median(noticed), unit: 'ms' });
    } finally {
      await proxy.close();
      await control.close();
      console.close();
      await engine.erase(ID);
    }
  });
}

/** Returns the time of the game's first answer to a status request. Frequent requests make it nearly exact. */
async function firstAnswer(engine: Engine): Promise<number> {
  for (const end = performance.now() + START_MS; performance.now() < end; await delay(LOOK_EVERY_MS)) {
    const address = (await engine.inspect(ID))?.game;
    if (!address) continue;
    const status = await pingStatus(address, { timeoutMs: 1_000 }).catch(() => undefined);
    if (status) return performance.now();
  }
  throw new Error('the game never answered');
}

async function asleep({ servers }: Control): Promise<void> {
  const signal = AbortSignal.timeout(STOP_MS);
  await servers.until(ID, (now) => now?.state === 'running', signal);
  await servers.send(ID, { type: 'STOP', at: Date.now(), cause: BENCH });
  await servers.until(ID, (now) => now?.state === 'hibernated', signal);
}
