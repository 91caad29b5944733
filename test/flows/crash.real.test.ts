import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { openCrashes, PROJECTS } from '../crash/driver.ts';
import { modrinth } from '../support/modrinth.ts';
import { SEED } from '../support/random.ts';
import { type Service, startService } from '../support/service.ts';

/** `npm run test:crash` sets higher numbers. */
const ROUNDS = Number(process.env['CRASH_ROUNDS'] ?? 10);
const SECONDS = Number(process.env['CRASH_SECONDS'] ?? 60);
/** The fewest rounds, even on a busy machine. */
const FEWEST = 3;

async function keepLog({ log }: Service): Promise<string> {
  const path = join(await mkdtemp(join(tmpdir(), 'dormouse-crash-')), 'service.log');
  await writeFile(path, log.map((line) => `${JSON.stringify(line)}\n`).join(''));
  return path;
}

test('kills during arbitrary customer actions neither lose nor duplicate acknowledged work, and leave no leftovers', async (t) => {
  const registry = await modrinth(t);
  for (const name of PROJECTS)
    registry.project(name, [{ id: `${name}1`, loaders: ['fabric'], gameVersions: ['1.21.4'] }]);
  const service = await startService(t, {
    MODRINTH_URL: registry.url,
    MAX_SERVERS_PER_ACCOUNT: '50',
    SANDBOX_FAULTS: 'START_MS=300',
    LOG_LEVEL: 'debug',
  });
  const crashes = await openCrashes(service, SEED);
  const end = Date.now() + SECONDS * 1_000;
  let rounds = 0;
  for (; rounds < ROUNDS && (rounds < FEWEST || Date.now() < end); rounds++) {
    const broken = await crashes.round(rounds);
    if (broken.length > 0) t.log(`the log of the service: ${await keepLog(service)}`);
    t.deepEqual(broken, [], `round ${rounds} of seed ${SEED}`);
  }
  t.log({ seed: SEED, rounds, ...crashes.steps() });
});
