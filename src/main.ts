import { join } from 'node:path';
import process from 'node:process';
import { type App, startApp } from './app.ts';
import { describeApi } from './reference.ts';
import { type Config, ConfigError, helpText, loadConfig } from './config.ts';
import { openapiDocument } from './http/openapi.ts';
import { drainChild } from './joining/link/child-file.ts';
import { type Log, createLog } from './kernel/log.ts';
import { StatusError } from './kernel/status.ts';
import { systemClock } from './kernel/system-clock.ts';
import { startWatchdog } from './kernel/watchdog.ts';
import { welcomeText } from './people/welcome.ts';
import { acquireLease } from './store/lease.ts';
import { openStore } from './store/store.ts';
import { TABLES } from './tables.ts';

/**
 * The process: settings, the service, signals, exit code. `--help` lists the settings, `--migrate` brings the database up to
 * date and ends, `--openapi` prints the API description and ends, `--drain` has the proxy that lives on end with its last player.
 */
async function main(flags: string[]): Promise<void> {
  const unknown = flags.find((flag) => !['--help', '--migrate', '--openapi', '--drain'].includes(flag));
  if (unknown !== undefined) throw new ConfigError(`${unknown} is not an option; --help shows what there is.`);
  if (flags.includes('--help')) {
    process.stdout.write(`Dormouse: Minecraft servers that sleep until somebody joins.\n\n${USAGE}\n${helpText()}`);
    return;
  }
  const config = loadConfig();
  if (flags.includes('--openapi')) {
    process.stdout.write(`${JSON.stringify(openapiDocument(config, describeApi()), null, 2)}\n`);
    return;
  }
  if (flags.includes('--drain')) {
    process.stdout.write((await drainChild(config.dataDir)) ? DRAINING : 'No proxy runs on.\n');
    return;
  }
  const log = createLog({ level: config.logLevel });
  if (flags.includes('--migrate')) {
    const store = await openStore(config.databaseUrl, TABLES);
    const lease = await acquireLease(store, { clock: systemClock, log, onLost: () => process.exit(1) });
    await store.migrate();
    await lease.release();
    await store.close();
    process.stdout.write('The database is up to date.\n');
    return;
  }
  const starting = startApp(config, log, () => process.exit(1));
  const stopWatchdog = startWatchdog({ onStuck: (stuck) => log.error(stuck, 'the event loop was stuck') });
  closeOnSignal(starting, log, stopWatchdog);
  welcome(await starting, config);
}

/** Stops what runs, or is about to, when the process is told to end. */
function closeOnSignal(starting: Promise<App>, log: Log, stopWatchdog: () => Promise<unknown>): void {
  let askedAt = 0;
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      // npm sends once more what the terminal has sent to both.
      if (askedAt > 0 && performance.now() - askedAt < SAME_SIGNAL_MS) return;
      // Asked twice: whoever waits has lost patience, and an end at any instant is safe.
      if (askedAt > 0) process.exit(1);
      askedAt = performance.now();
      log.info({ signal }, 'stopping; games run on');
      void stopWatchdog();
      starting
        .then(async (app) => {
          // At a terminal somebody ends it for good; a process manager, which sends SIGTERM, may be about to start the next one.
          const farewell = signal === 'SIGINT' ? await app.farewell() : '';
          await app.close();
          if (farewell !== '') process.stdout.write(`${farewell}\n`);
        })
        .then(
          () => process.exit(0),
          (error: unknown) => {
            log.error({ err: error }, 'could not stop cleanly');
            process.exit(1);
          },
        );
    });
  }
}

/** Greets whoever has started it for the first time. */
function welcome({ firstRun, http, players }: App, { dataDir }: Config): void {
  if (firstRun === undefined) return;
  const said = { firstRun, file: join(dataDir, 'first-run.json'), httpPort: http.port, playersPort: players.port };
  process.stdout.write(welcomeText(said, process.stdout.isTTY));
}

const SAME_SIGNAL_MS = 300;

const DRAINING = 'The proxy takes nobody new, and ends when its last player has left.\n';

const USAGE = `Usage: npm start [-- --help | --migrate | --openapi | --drain]

Settings are environment variables, or lines of a file .env in this folder:
`;

/** What goes wrong at the first start of all. */
const LISTEN_ERRORS: Record<string, string> = {
  EADDRINUSE:
    'A port is in use already: choose others by HTTP_PORT and PROXY_PORT, or stop what listens there (a proxy without players ends a minute after its service).',
  EACCES: 'This user may not open a port below 1024, or write to DATA_DIR; choose others.',
};

main(process.argv.slice(2)).catch((error: unknown) => {
  const told = error instanceof ConfigError || error instanceof StatusError;
  const message = told
    ? error.message
    : error instanceof Error
      ? (LISTEN_ERRORS[codeOf(error)] ?? error.stack)
      : String(error);
  process.stderr.write(`${message}\n`);
  process.exit(1);
});

function codeOf(error: NodeJS.ErrnoException): string {
  return error.code ?? '';
}
