import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { promisify } from 'node:util';
import test from 'ava';

const TABLE = join(import.meta.dirname, '../../src/engines/process/table.ts');
const PROCESSES = 80;

test.runIf(process.platform === 'linux')(
  'all processes with a mark are found with fewer file descriptors than processes',
  async (t) => {
    const mark = `DORMOUSE_TABLE_TEST=${process.pid}`;
    const [name = '', value] = mark.split('=');
    const script = `for n in $(seq ${PROCESSES}); do sleep 300 & done; echo up; wait`;
    const sleepers = spawn('sh', ['-c', script], { env: { ...process.env, [name]: value }, detached: true });
    t.teardown(() => void process.kill(-sleepers.pid!, 'SIGKILL'));
    await once(sleepers.stdout, 'data');
    const search = `const { processTable } = await import(${JSON.stringify(TABLE)});
    console.log((await processTable.withEnvironment(${JSON.stringify(mark)})).length);`;
    const limited = ['-c', 'ulimit -n 60; exec "$0" "$@"', process.execPath, '--input-type=module', '-e', search];
    const { stdout } = await promisify(execFile)('sh', limited);
    t.is(Number(stdout), PROCESSES + 1);
  },
);
