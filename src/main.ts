import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { type App, startApp } from './app.ts';
import { withoutCredentials } from './backups/offsite/restic-process.ts';
import { OPERATIONS } from './reference.ts';
import { type Config, ConfigError, loadConfig } from './config.ts';
import { installationOf } from './engines/game-host.ts';
import { refuseGamesElsewhere } from './engines/games-elsewhere.ts';
import { openapiDocument } from './http/openapi.ts';
import { drainChild } from './joining/link/child-process.ts';
import { type Log, createLog } from './kernel/log.ts';
import { homeHost } from './kernel/ip.ts';
import { isContainer } from './kernel/process-identity.ts';
import { hearStrayErrors } from './kernel/stray-errors.ts';
import { systemClock } from './kernel/system-clock.ts';
import { startWatchdog } from './kernel/watchdog.ts';
import { removeSecondFactor, resetPassword } from './accounts/password-reset.ts';
import { welcomeText } from './accounts/first-run.ts';
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
  '--openapi': async (config) => `${JSON.stringify(openapiDocument(config, OPERATIONS), null, 2)}\n`,
  '--stop': stopService,
  '--drain': async ({ dataDir }) => ((await drainChild(dataDir)) ? DRAINING : 'No proxy is running.\n'),
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
      `${[flag, argument, ...more].filter(Boolean).join(' ')} is not an option. For a list, run npm start -- --help.`,
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
  const { dataDir, databaseUrl, backupStore } = config;
  const { hasSettings } = await backupService({ dataDir, databaseUrl, envFile: ENV_FILE }, target, Date.now());
  const backups = `${dataDir}/backups`;
  const said = [
    hasSettings
      ? `${target} contains the database, the keys and the settings from ${ENV_FILE}. It contains secrets, so keep it safe.`
      : `${target} contains the database and the keys. It contains secrets, so keep it safe. This folder has no ${ENV_FILE}, so back up the settings separately.`,
    `Servers' files are in ${dataDir}/servers. Copy them too.`,
    backupStore === null
      ? `Servers' backups are in ${backups}. Copy them too.`
      : `Servers' backups are in ${withoutCredentials(backupStore)} and stay there. Also copy ${backups}, which contains the backups that are not uploaded yet. If RESTIC_PASSWORD and the credentials of the store are not in ${ENV_FILE}, keep them separately.`,
  ];
  return `${said.filter(Boolean).join(' ')}\n`;
}

async function restore({ dataDir, databaseUrl, dockerHost }: Config, archive = ''): Promise<string> {
  if (archive === '') throw new ConfigError('Name the file: npm run restore-service FILE');
  const refuse = (secret: Secret) => refuseGamesElsewhere(installationOf(secret), dataDir, dockerHost);
  const { madeAt, settings } = await restoreService({ dataDir, databaseUrl, envFile: ENV_FILE }, archive, refuse);
  const said = [
    `Restored the backup of ${madeAt}.`,
    settings !== undefined && `The settings are in ${settings}.`,
    !databaseUrl.startsWith('sqlite:') &&
      `The database is in the PostgreSQL of DATABASE_URL. Check that ${ENV_FILE} has the same DATABASE_URL.`,
  ];
  return `${said.filter(Boolean).join(' ')} Copy servers' files back to ${dataDir}/servers, and backups to ${dataDir}/backups. Backups in an off-site store stay there and need the same RESTIC_PASSWORD and credentials. Then run npm start.\n`;
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
      log.info({ signal }, signal === STOP_ALL ? 'stopping, together with all servers' : 'stopping; games run on');
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

Usage: npm start                       start the service
       npm start -- --settings         print the current settings
       npm start -- --version          print the version
       npm -s start -- --systemd USER  print a systemd unit that runs this installation as USER
       npm start -- --migrate          migrate the database to this version
       npm start -- --openapi          print the API description
       npm run stop                    put all servers to sleep, and end the service and its proxy
       npm start -- --drain            make a running proxy end when its last player leaves
       npm run backup-service [FILE]   save the database, keys and settings to a file; the service may be running
       npm run restore-service FILE    restore that file where no installation exists yet
       npm run reset-password [EMAIL]  create a new password for an operator or EMAIL; stop the service first
       npm run remove-second-factor [EMAIL]  turn off two-factor sign-in of an operator or EMAIL, if phone and recovery codes are lost; stop the service first

Settings are environment variables, or lines in a file .env in this folder. Secrets can be in files: NAME_FILE=/path.
`;

main(process.argv.slice(2)).catch((error: unknown) => {
  process.stderr.write(`${startFailure(error)}\n`);
  process.exit(1);
});
