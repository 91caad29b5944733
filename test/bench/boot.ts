import { inFolder } from './control.ts';
import { median, type Report } from './figures.ts';
import { prepareService, startService } from './service.ts';

const SLEEPING = 10_000;
const RUNS = 5;
/** V8's own threads compile and collect garbage beside the start. */
const CORES = '0,1';

/** Measures the time from process start to ready, without servers and with many asleep. */
export async function run(report: Report): Promise<void> {
  await inFolder((empty) =>
    inFolder(async (full) => {
      await prepareService(empty, { servers: 0 });
      report.progress(`creating ${SLEEPING} servers`);
      await prepareService(full, { servers: SLEEPING });
      const times = new Map<string, number[]>([
        [empty, []],
        [full, []],
      ]);
      for (let round = 0; round <= RUNS; round++) {
        for (const [folder, readyMs] of times) {
          const service = await startService(CORES, folder);
          await service.stop();
          // The first start creates the secret and the lease of the installation.
          if (round > 0) readyMs.push(service.readyMs);
        }
      }
      const [without, having] = [...times.values()].map(median) as [number, number];
      const note = `median of ${RUNS} starts`;
      report.row({ figure: 'start to ready, no servers', value: without, unit: 'ms', note });
      report.row({ figure: `start to ready, ${SLEEPING} asleep`, value: having, unit: 'ms', note });
      report.row({ figure: `start with ${SLEEPING} asleep ÷ with none`, value: having / without, unit: '1' });
    }),
  );
}
