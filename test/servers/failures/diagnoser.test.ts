import test from 'ava';
import { StatusError } from '../../../src/kernel/status.ts';
import { createWorkerPool } from '../../../src/kernel/workers/pool.ts';
import { Diagnoser } from '../../../src/servers/diagnoser.ts';
import type { ServerRow } from '../../../src/servers/rows.ts';

const row = { id: 'abc', accountId: 'acc', type: 'paper', version: '1.21.1', ramMb: 2_048 } as ServerRow;
const DATA_DIR = '/srv/games/dormouse';
const LINES = [
  'Error: Unable to access jarfile /srv/games/dormouse/servers/abc/server.jar',
  'java.io.IOException: /srv/games/dormouse/cores/paper-1.21.1.jar',
];
const artefacts = { lines: LINES, report: ['/srv/games/dormouse/servers/abc/mods'] };
const EVIDENCE = { ...artefacts, exit: { code: 1, oomKilled: false, at: 0 }, phase: 'start' } as const;

test('a worker diagnoses the log, and the result contains no folder of the host', async (t) => {
  const workers = createWorkerPool();
  t.teardown(() => workers.close());
  const asked: string[] = [];
  const spied: typeof workers.run = (job, input, options) => {
    asked.push(`${job.name} for ${options.tenant}`);
    return workers.run(job, input, options);
  };
  const found = await new Diagnoser(DATA_DIR, { run: spied }).diagnose(row, EVIDENCE);
  t.deepEqual(asked, ['diagnoseJob for acc']);
  t.is(found.summary, 'Program missing: There is no server.jar to start.');
  t.true(found.raw.includes('jarfile /data/server.jar'));
  t.false(JSON.stringify(found).includes('/srv'));
  t.deepEqual(await new Diagnoser(DATA_DIR).diagnose(row, EVIDENCE), found);
});

test('without a free worker, the diagnosis falls back to the exit of the game', async (t) => {
  const run = async () => {
    throw new StatusError('UNAVAILABLE', 'BUSY', 'Too many wait.');
  };
  const found = await new Diagnoser(DATA_DIR, { run }).diagnose(row, {
    ...EVIDENCE,
    exit: { ...EVIDENCE.exit, oomKilled: true },
  });
  t.is(found.code, 'out_of_memory');
});

test('the summary of an unexpected error contains no folder of the host either', async (t) => {
  const error = new Error(
    `EACCES: permission denied, open '${DATA_DIR}/servers/abc/server.properties' of ${DATA_DIR}/run`,
  );
  const { summary } = await new Diagnoser(DATA_DIR).failureOf(error, row, 'start', artefacts);
  t.is(summary, "Unexpected error: EACCES: permission denied, open '/data/server.properties' of …/run");
});
