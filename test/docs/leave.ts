/** Ends the games and proxies that the service of a session has left running. */
import { join } from 'node:path';
import { runningGames } from '../support/running-games.ts';
import { endProxies } from '../support/running-proxies.ts';

const dataDir = join(process.cwd(), 'data');
for (const { pid } of await runningGames({ dataDir })) process.kill(pid, 'SIGKILL');
await endProxies({ dataDir });
