import { once } from 'node:events';
import { open } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { encodeFrame } from '../../proxy/codec.ts';
import { createProxy } from '../../proxy/index.ts';
import type { Wake } from '../../proxy/ports.ts';
import type { Engine } from '../../src/engines/engine.ts';
import { addServers, inFolder, openControl, readyGames } from './control.ts';
import { type Report, median, quantile } from './figures.ts';
import { join as joinGame } from './player.ts';

const WAKES = 200;
const WARM_UP = 20;

/** The instants of one join's steps, in ms of `performance.now()`. */
interface Steps {
  asked: number;
  boot: number;
  ready: number;
  woken: number;
  played: number;
}

/**
 * Measures the time that control and proxy add to the start of a game. Players join sleeping servers one after the
 * other, through a real proxy and a real store. The games are ready at once.
 */
export async function run(report: Report): Promise<void> {
  await inFolder(async (folder) => {
    const game = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.once('data', () => socket.write(encodeFrame(1, Buffer.alloc(32))));
    }).listen(0, '127.0.0.1');
    await once(game, 'listening');
    const { port } = game.address() as AddressInfo;
    const steps = new Map<string, Partial<Steps>>();
    const games = readyGames({ host: '127.0.0.1', port });
    const control = await openControl(folder, { ...games, engine: watched(games.engine, steps) });
    const wake: Wake = {
      admit: (serverId, player) => control.routing.admit(serverId, player),
      async wake(serverId, ...rest) {
        const step: Partial<Steps> = { asked: performance.now() };
        steps.set(serverId, step);
        const address = await control.routing.wake(serverId, ...rest);
        step.woken = performance.now();
        return address;
      },
    };
    const proxy = createProxy({ routes: control.routing, wake, log: control.log });
    try {
      await addServers(control, WARM_UP + WAKES);
      const players = await proxy.listen('127.0.0.1', 0);
      const done: Steps[] = [];
      for (let index = 0; index < WARM_UP + WAKES; index++) {
        const id = `server-${index}`;
        const played = await joinGame(players.port, `${id}.localhost`);
        if (index >= WARM_UP) done.push({ ...steps.get(id), played } as Steps);
        // Wait for the remaining writes of this wake, so that they do not delay the next one.
        await control.store.write(async () => {});
      }
      const spans: [string, (step: Steps) => number][] = [
        ['JOIN to the boot call', ({ asked, boot }) => boot - asked],
        ['ready game to the player let through', ({ ready, woken }) => woken - ready],
        ['let through to the first relayed byte', ({ woken, played }) => played - woken],
        ['all that is added to a start', ({ asked, boot, ready, played }) => boot - asked + played - ready],
      ];
      for (const [figure, span] of spans) {
        const values = done.map(span);
        report.row({ figure: `${figure}, median`, value: median(values), unit: 'ms', note: `${WAKES} wakes` });
        report.row({ figure: `${figure}, p99`, value: quantile(values, 0.99), unit: 'ms' });
      }
      report.row({
        figure: 'for comparison: this disk syncs a small file in',
        value: await syncMs(folder),
        unit: 'ms',
      });
    } finally {
      await proxy.close();
      await control.close();
      game.close();
    }
  });
}

function watched(engine: Engine, steps: Map<string, Partial<Steps>>): Engine {
  return {
    ...engine,
    async boot(spec, signal) {
      const step = steps.get(spec.serverId) ?? {};
      step.boot = performance.now();
      const game = await engine.boot(spec, signal);
      step.ready = performance.now();
      return game;
    },
  };
}

async function syncMs(folder: string): Promise<number> {
  const file = await open(join(folder, 'fsync'), 'w');
  const times: number[] = [];
  for (let index = 0; index < 100; index++) {
    await file.write(Buffer.alloc(512, index), 0, 512, 0);
    const begun = performance.now();
    await file.sync();
    times.push(performance.now() - begun);
  }
  await file.close();
  return median(times);
}
