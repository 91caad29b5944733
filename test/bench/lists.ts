import { setTimeout as delay } from 'node:timers/promises';
import { cpuMs, rssBytes } from './children.ts';
import { inFolder } from './control.ts';
import { type Report, median } from './figures.ts';
import { longestTurn, prepareService, startService, watchedTurns } from './service.ts';

const SERVERS = 10_000;
const CALLERS = 50;
const RUNS = 5;
const LOOK_MS = 20;

/**
 * Measures the list of all servers of a large account: whole, as a page, and requested by many at once while others
 * call too.
 */
export async function run(report: Report): Promise<void> {
  await inFolder(async (folder) => {
    report.progress(`creating ${SERVERS} servers`);
    const keys = await prepareService(folder, { servers: SERVERS, keys: CALLERS });
    const service = await startService(0, folder, watchedTurns(folder));
    const longestTurnMs = () => longestTurn(service, folder);
    const origin = `http://127.0.0.1:${service.httpPort}`;
    const list = async (key: string, query = '') => {
      const begun = performance.now();
      const answer = await fetch(`${origin}/v1/servers${query}`, { headers: { 'x-api-key': key } });
      if (!answer.ok) throw new Error(`${answer.status}: ${await answer.text()}`);
      const { byteLength } = await answer.arrayBuffer();
      return { ms: performance.now() - begun, bytes: byteLength };
    };
    try {
      const runs = { whole: [] as number[], page: [] as number[] };
      let bytes = 0;
      for (let n = 0; n <= RUNS; n++) {
        const whole = await list(keys[n]!);
        const page = await list(keys[n]!, '?limit=200');
        bytes = whole.bytes;
        if (n === 0) continue;
        runs.whole.push(whole.ms);
        runs.page.push(page.ms);
      }
      report.row({ figure: `list of ${SERVERS} servers`, value: median(runs.whole), unit: 'ms' });
      report.row({ figure: `list of ${SERVERS} servers, size`, value: bytes / 1_048_576, unit: 'MiB' });
      report.row({ figure: 'a page of 200 of them', value: median(runs.page), unit: 'ms' });
      const others: number[] = [];
      let most = 0;
      const over = new AbortController();
      const calling = (async () => {
        while (!over.signal.aborted) {
          const begun = performance.now();
          await (await fetch(`${origin}/healthz`)).arrayBuffer();
          others.push(performance.now() - begun);
          most = Math.max(most, rssBytes(service.child));
          await delay(LOOK_MS);
        }
      })();
      await longestTurnMs();
      const cpu = cpuMs(service.child);
      const lists = await Promise.all(keys.map((key) => list(key)));
      const longest = await longestTurnMs();
      over.abort();
      await calling;
      const note = `${CALLERS} callers at once`;
      report.row({
        figure: 'lists at once, CPU each',
        value: (cpuMs(service.child) - cpu) / CALLERS,
        unit: 'ms',
        note,
      });
      report.row({
        figure: 'lists at once, the last',
        value: Math.max(...lists.map(({ ms }) => ms)),
        unit: 'ms',
        note,
      });
      report.row({ figure: 'another call meanwhile, the worst', value: Math.max(...others), unit: 'ms', note });
      report.row({ figure: 'the event loop meanwhile, its longest turn', value: longest, unit: 'ms', note });
      report.row({ figure: 'memory at most', value: most / 1_048_576, unit: 'MiB', note });
    } finally {
      await service.stop();
    }
  });
}
