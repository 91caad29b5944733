import process from 'node:process';
import type { ServerState } from '../../machines/server-types.ts';
import { ACCOUNT, addServers, BENCH, type Control, inFolder, openControl, readyGames } from './control.ts';
import type { Report } from './figures.ts';

const SERVERS = 100;
const WARM_UP_MS = 2_000;
const MEASURED_MS = 6_000;
const NOWHERE = { host: '127.0.0.1', port: 1 };
const GIVEN_UP_MS = 60_000;

/** Measures servers that start and stop repeatedly. Each transition is on disk before its effects begin. */
export async function run(report: Report): Promise<void> {
  await inFolder(async (folder) => {
    const control = await openControl(folder, readyGames(NOWHERE));
    try {
      await addServers(control, SERVERS);
      for (const at of [1, SERVERS]) {
        await cycles(control, at, WARM_UP_MS);
        const [cpu, begun] = [process.cpuUsage(), performance.now()];
        const count = await cycles(control, at, MEASURED_MS);
        const { user, system } = process.cpuUsage(cpu);
        const seconds = (performance.now() - begun) / 1_000;
        const name = at === 1 ? 'transitions, one server' : `transitions, ${at} servers at once`;
        const note = 'each stored with its cause; one in four begins a boot, with its files';
        report.row({ figure: name, value: count / seconds, unit: '1/s', note });
        report.row({ figure: `${name}, CPU each`, value: (user + system) / count, unit: 'µs' });
      }
    } finally {
      await control.close();
    }
  });
}

/** Repeats START, ready, STOP, halted, and returns the number of transitions. */
async function cycles({ servers }: Control, count: number, forMs: number): Promise<number> {
  const end = performance.now() + forMs;
  const signal = AbortSignal.timeout(forMs + GIVEN_UP_MS);
  let transitions = 0;
  const reach = (id: string, state: ServerState) => servers.until(id, (now) => now?.state === state, signal);
  async function cycle(id: string): Promise<void> {
    while (performance.now() < end) {
      await servers.send(id, { type: 'START', at: Date.now(), cause: BENCH });
      await reach(id, 'running');
      await servers.send(id, { type: 'STOP', at: Date.now(), cause: BENCH });
      await reach(id, 'hibernated');
      transitions += 4;
    }
  }
  const mine = (await servers.listByAccount(ACCOUNT)).slice(0, count);
  await Promise.all(mine.map(({ row }) => cycle(row.id)));
  return transitions;
}
