import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { type Launch, LaunchRefused, readEnvironment } from './environment.ts';
import { readText } from './files.ts';
import { openLog } from './log.ts';
import { ServerProperties } from './properties.ts';

/**
 * Runs the sandbox core, a small Minecraft server, in its data directory. `environment.ts` describes its environment
 * variables, and `faults.ts` those by which tests cause faults.
 */
async function main(): Promise<void> {
  const launch = readEnvironment(process.env, existsSync('eula.txt') ? readText('eula.txt') : '');
  const properties = prepareProperties(launch);
  if (launch.setupOnly) {
    console.log(`SETUP_ONLY: node ${import.meta.filename}`);
    return;
  }
  const log = openLog('logs');
  // Imported only now, because a refused start does not need the 100 ms and 50 MB of the game and its data.
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

// A start creates much garbage once. Without this flag, the runtime would reserve 16 MB for more.
setFlagsFromString('--semi-space-growth-factor=1');
try {
  await main();
} catch (error) {
  const lines = error instanceof LaunchRefused ? error.lines : [error instanceof Error ? error.stack! : String(error)];
  for (const line of lines) console.log(line);
  process.exitCode = 1;
}
