import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { type Launch, LaunchRefused, readEnvironment } from './environment.ts';
import { readText } from './files.ts';
import { openLog } from './log.ts';
import { ServerProperties } from './properties.ts';

/**
 * The sandbox core: a small Minecraft server. Runs in its data directory; `environment.ts` says what it takes from the
 * environment, `faults.ts` how tests make it misbehave.
 */
async function main(): Promise<void> {
  const launch = readEnvironment(process.env, existsSync('eula.txt') ? readText('eula.txt') : '');
  const properties = prepareProperties(launch);
  if (launch.setupOnly) {
    console.log(`SETUP_ONLY: node ${import.meta.filename}`);
    return;
  }
  const log = openLog('logs');
  // Imported only now: the game and its data cost 100 ms and 50 MB that a refusal need not.
  const { runServer } = await import('./run.ts');
  await runServer({ launch, properties, log });
}

function prepareProperties(launch: Launch): ServerProperties {
  const properties = new ServerProperties('server.properties', launch.overrides);
  if (launch.writeProperties) {
    const { written } = launch;
    const rcon = written['enable-rcon'] ?? 'true';
    const password = written['rcon.password'] || properties.get('rcon.password') || randomBytes(12).toString('hex');
    properties.complete({ ...written, 'enable-rcon': rcon, 'rcon.password': password });
  }
  return properties;
}

// Starting makes much garbage once; without this the runtime would keep 16 MB of room for more of it.
setFlagsFromString('--semi-space-growth-factor=1');
try {
  await main();
} catch (error) {
  const lines = error instanceof LaunchRefused ? error.lines : [error instanceof Error ? error.stack! : String(error)];
  for (const line of lines) console.log(line);
  process.exitCode = 1;
}
