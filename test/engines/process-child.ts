import { pino } from 'pino';
import { createProcessEngine } from '../../src/engines/process/process.ts';

// A service that a test kills while it starts a game: `process-child.ts <runDir> <entry> <data root>`.
const [runDir = '', sandboxEntry = '', dataDir = ''] = process.argv.slice(2);
const engine = createProcessEngine({ runDir, sandboxEntry, log: pino({ level: 'silent' }) });
const env = { GAME_PRINT: 'hello', GAME_FAREWELL: 'bye' };
const spec = {
  serverId: 'alpha',
  core: 'sandbox',
  version: '',
  ramMb: 256,
  cpus: 1,
  ports: [],
  image: '',
  dataDir,
  env,
};
process.stdout.write('ready\n');
await engine.boot(spec, new AbortController().signal);
process.stdout.write('booted\n');
setInterval(() => undefined, 1_000);
