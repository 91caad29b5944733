import process from 'node:process';
import { createAlerts } from '../../src/insight/alerts/alerts.ts';
import { Metrics, SAMPLE_MS } from '../../src/insight/metrics.ts';
import { fakeClock } from '../fakes/clock.ts';
import { ACCOUNT, BENCH, addServers, inFolder, openControl, readyGames } from './control.ts';
import { type Report, median } from './figures.ts';

const SERVERS = 500;
const MINUTES = 10;
const STARTED_TOGETHER = 50;
const SLOW_SERVERS = 5;
const REPLY =
  'The game is running normallyTarget tick rate: 20.0 per second.\nAverage time per tick: 2.2ms (Target: 50.0ms)';

/**
 * Measures the sampling of many running servers that is due each minute: read over the console, judged for alerts, and
 * stored.
 */
export async function run(report: Report): Promise<void> {
  await inFolder(async (folder) => {
    const games = readyGames({ host: '127.0.0.1', port: 1 });
    const control = await openControl(folder, games);
    const { store, servers, log } = control;
    try {
      report.progress(`${SERVERS} running servers`);
      await addServers(control, SERVERS);
      const ids = (await servers.listByAccount(ACCOUNT)).map(({ row }) => row.id);
      while (ids.length > 0) await Promise.all(ids.splice(0, STARTED_TOGETHER).map((id) => started(id)));
      const clock = fakeClock(Date.now());
      const outbox = { add: async () => {} };
      const alerts = createAlerts(outbox, { publish: () => {} }, log);
      let stored = Promise.withResolvers<void>();
      const metrics = new Metrics({
        servers,
        engine: games.engine,
        consoles: { run: async () => REPLY },
        clock,
        store,
        log,
        serverEvents: { publish: () => {} },
        onMinute: async (tx, at, minutes) => {
          const slow = minutes.map((each, nth) =>
            nth < SLOW_SERVERS ? { ...each, sample: { ...each.sample, tps: 10, players: 1 } } : each,
          );
          const tell = await alerts.minute(tx, at, slow);
          return () => {
            tell();
            stored.resolve();
          };
        },
      });
      const cpuMs: number[] = [];
      const wallMs: number[] = [];
      for (let minute = 0; minute < MINUTES; minute++) {
        stored = Promise.withResolvers<void>();
        const [cpu, begun] = [process.cpuUsage(), performance.now()];
        await clock.advance(SAMPLE_MS);
        await stored.promise;
        const { user, system } = process.cpuUsage(cpu);
        cpuMs.push((user + system) / 1_000);
        wallMs.push(performance.now() - begun);
      }
      metrics.close();
      const note = `${SERVERS} running servers, of which the console and the engine are stubs that answer at once; median of ${MINUTES} minutes`;
      report.row({ figure: 'a minute of metrics, CPU', value: median(cpuMs), unit: 'ms', note });
      report.row({ figure: 'a minute of metrics, until it is stored', value: median(wallMs), unit: 'ms' });
    } finally {
      await control.close();
    }

    async function started(id: string): Promise<void> {
      await servers.send(id, { type: 'START', at: Date.now(), cause: BENCH });
      await servers.until(id, (now) => now?.state === 'running', AbortSignal.timeout(60_000));
    }
  });
}
