import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { type App, startApp } from './app.ts';
import { describeApi } from './reference.ts';
import { type Config, ConfigError, loadConfig } from './config.ts';
import { installationOf } from './engines/game-host.ts';
import { refuseGamesElsewhere } from './engines/games-elsewhere.ts';
import { openapiDocument } from './http/openapi.ts';
import { drainChild } from './joining/link/child-file.ts';
import { type Log, createLog } from './kernel/log.ts';
import { homeHost } from './kernel/home-address.ts';
import { isContainer } from './kernel/process-identity.ts';
import { hearStrayErrors } from './kernel/stray-errors.ts';
import { systemClock } from './kernel/system-clock.ts';
import { startWatchdog } from './kernel/watchdog.ts';
import { removeSecondFactor, resetPassword } from './people/reset-password.ts';
import { welcomeText } from './people/welcome.ts';
import { helpText, settingsText } from './settings-help.ts';
import { startFailure } from './start-failure.ts';
import { STOP_ALL, stopService } from './stop-service.ts';
import { acquireLease } from './store/lease.ts';
import type { Secret } from './store/secret.ts';
import { backupService, restoreService } from './store/service-backup.ts';
import { type Store, openStore } from './store/store.ts';
import { systemdUnit } from './systemd-unit.ts';
import { TABLES } from './tables.ts';

/** Commands that run in place of the service. */
const COMMANDS: Readonly<Record<string, (config: Config, argument: string | undefined) => Promise<string>>> = {
  '--version': async () => `${await version()}\n`,
  '--settings': async () => settingsText(),
  '--systemd': async ({ dataDir }, user = 'dormouse') =>
    systemdUnit({ user, node: process.execPath, home: HOME, dataDir }),
  '--openapi': async (config) => `${JSON.stringify(openapiDocument(config, describeApi()), null, 2)}\n`,
  '--stop': stopService,
  '--drain': async ({ dataDir }) => ((await drainChild(dataDir)) ? DRAINING : 'No proxy runs on.\n'),
  '--migrate': (config) => withStore(config, async () => 'The database is up to date.\n'),
  '--backup-service': (config, target) =>
    backUp(config, target || `dormouse-${new Date().toISOString().slice(0, 10)}.tar.gz`),
  '--restore-service': restore,
  '--reset-password': (config, email) => withStore(config, (store) => resetPassword(store, systemClock, email)),
  '--remove-second-factor': (config, email) =>
    withStore(config, (store) => removeSecondFactor(store, systemClock, email)),
};

/** Runs the process: settings, the service or one of `COMMANDS`, signals, exit code. */
async function main([flag, argument, ...more]: string[]): Promise<void> {
  if (flag === '--help') return void process.stdout.write(`${USAGE}${helpText()}`);
  const command = COMMANDS[flag ?? ''];
  if ((flag !== undefined && command === undefined) || more.length > 0) {
    throw new ConfigError(
      `${[flag, argument, ...more].filter(Boolean).join(' ')} is not an option; npm start -- --help shows what there is.`,
    );
  }
  const config = loadConfig();
  try {
    if (command) process.stdout.write(await command(config, argument));
    else await serve(config);
  } catch (error) {
    throw new ConfigError(startFailure(error, config), { cause: error });
  }
}

async function serve(config: Config): Promise<void> {
  const log = createLog({ level: config.logLevel });
  const stopping = new AbortController();
  const starting = startApp(config, log, () => process.exit(1), undefined, stopping.signal);
  const stopWatchdog = startWatchdog({ onStuck: (stuck) => log.error(stuck, 'the event loop was stuck') });
  const letGo = async () => {
    stopping.abort();
    await stopWatchdog();
  };
  closeOnSignal(starting, log, letGo);
  hearStrayErrors({ log, close: () => Promise.all([letGo(), starting.then((app) => app.close())]) });
  try {
    await welcome(await starting, config);
  } catch (error) {
    // The process was stopped while it waited as a standby.
    if (error !== stopping.signal.reason) throw error;
    process.exit(0);
  }
}

/** Opens and migrates the database for this process alone. Rejects with StatusError while a service holds the lease. */
async function withStore<Result>(config: Config, work: (store: Store) => Promise<Result>): Promise<Result> {
  const log = createLog({ level: config.logLevel });
  const store = await openStore(config.databaseUrl, TABLES);
  const lease = await acquireLease(store, { clock: systemClock, log, onLost: () => process.exit(1) });
  await store.migrate();
  const result = await work(store);
  await lease.release();
  await store.close();
  return result;
}

async function backUp(config: Config, target: string): Promise<string> {
  const { dataDir, databaseUrl, backupStore, backupEncryptionKey } = config;
  const { hasSettings } = await backupService({ dataDir, databaseUrl, envFile: ENV_FILE }, target, Date.now());
  const backups = `${dataDir}/backups`;
  const said = [
    hasSettings
      ? `${target} holds the database, the keys and what ${ENV_FILE} sets: keep it as safe as these.`
      : `${target} holds the database and the keys: keep it as safe as these. There is no ${ENV_FILE} here: keep the settings apart.`,
    `The files of servers are in ${dataDir}/servers: copy them too.`,
    backupStore === null
      ? `Their backups are in ${backups}: copy these too.`
      : `Their backups are in ${backupStore}, and stay there; copy ${backups} too, where those are that are not there yet. Where S3_ACCESS_KEY_ID and the other settings of the store are not in ${ENV_FILE}, keep them apart.`,
    backupEncryptionKey.length > 0 &&
      `Backups cannot be read without BACKUP_ENCRYPTION_KEY. If it is not in ${ENV_FILE}, keep it apart.`,
  ];
  return `${said.filter(Boolean).join(' ')}\n`;
}

async function restore({ dataDir, databaseUrl, dockerHost }: Config, archive = ''): Promise<string> {
  if (archive === '') throw new ConfigError('Name the file: npm run restore-service FILE');
  const refuse = (secret: Secret) =>
    refuseGamesElsewhere({ installation: installationOf(secret), dataDir, dockerHost });
  const { madeAt, settings } = await restoreService({ dataDir, databaseUrl, envFile: ENV_FILE }, archive, refuse);
  const said = [
    `Restored as it was at ${madeAt}.`,
    settings !== undefined && `Its settings are in ${settings}.`,
    !databaseUrl.startsWith('sqlite:') &&
      `It is in the PostgreSQL of DATABASE_URL: see that ${ENV_FILE} names that too.`,
  ];
  return `${said.filter(Boolean).join(' ')} Put servers' files back into ${dataDir}/servers, and backups into ${dataDir}/backups; those in a store off site are found there, with the same S3_… settings and BACKUP_ENCRYPTION_KEY. Then npm start.\n`;
}

/** Closes the running or starting service on a signal. */
function closeOnSignal(starting: Promise<App>, log: Log, onSignal: () => Promise<unknown>): void {
  let askedAt = 0;
  for (const signal of ['SIGTERM', 'SIGINT', STOP_ALL] as const) {
    process.on(signal, () => {
      // A terminal sends a signal to both npm and this process, and npm then repeats it.
      if (askedAt > 0 && performance.now() - askedAt < SAME_SIGNAL_MS) return;
      // A second request ends the process at once, which is always safe.
      if (askedAt > 0) process.exit(1);
      askedAt = performance.now();
      log.info({ signal }, signal === STOP_ALL ? 'stopping, and every server with it' : 'stopping; games run on');
      void onSignal();
      starting
        .then(async (app) => {
          if (signal === STOP_ALL) return app.stopAll();
          // SIGINT from a terminal means a final end. A process manager sends SIGTERM and may start the next service.
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

/** Prints the welcome text on each start until the operator has signed in. */
async function welcome({ firstRun, http, players }: App, config: Config): Promise<void> {
  if (firstRun === undefined) return;
  const inContainer = await isContainer();
  const { dataDir, baseUrl, publicHost, defaultServer, proxyHost } = config;
  const said = {
    firstRun,
    file: join(dataDir, 'first-run.json'),
    httpPort: http.port,
    playersPort: players.port,
    baseUrl: baseUrl.replace(/:0$/, `:${http.port}`),
    publicHost,
    needsName: publicHost !== 'localhost' && defaultServer === '',
    homeAddress: homeHost(proxyHost, inContainer),
    inContainer,
  };
  // In a container, terminal output goes to a log.
  process.stdout.write(welcomeText(said, process.stdout.isTTY && !inContainer));
}

/** Returns the version of this release. */
async function version(): Promise<string> {
  const manifest = await readFile(join(HOME, 'package.json'), 'utf8');
  return (JSON.parse(manifest) as { version: string }).version;
}

/** The project's folder. */
const HOME = join(import.meta.dirname, '..');

const ENV_FILE = '.env';
const SAME_SIGNAL_MS = 300;

const DRAINING = 'The proxy accepts no new players and ends when its last player has left.\n';

const USAGE = `Dormouse: Minecraft servers that sleep until someone joins.

Usage: npm start                       the service
       npm start -- --settings         the settings in force
       npm start -- --version          this release
       npm -s start -- --systemd USER  prints a unit of systemd that runs it from here, as USER
       npm start -- --migrate          brings the database up to date
       npm start -- --openapi          prints the description of the API
       npm run stop                    puts every server to sleep, and ends the service and its proxy
       npm start -- --drain            has a proxy that runs on end with its last player
       npm run backup-service [FILE]   the database, keys and settings as one file; the service may run
       npm run restore-service FILE    back from it, where there is no installation
       npm run reset-password [EMAIL]  a new password for an operator, or for EMAIL; stop the service first
       npm run remove-second-factor [EMAIL]  switches their second factor off, where phone and recovery codes are lost

Settings are environment variables, or lines of a file .env in this folder. Secrets may stand in files: NAME_FILE=/path.
`;

main(process.argv.slice(2)).catch((error: unknown) => {
  process.stderr.write(`${startFailure(error)}\n`);
  process.exit(1);
});
