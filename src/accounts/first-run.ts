import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { writeAtomic } from '../kernel/atomic-file.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Log } from '../kernel/log.ts';
import { DAY_MS } from '../kernel/units.ts';

/** The credentials of the first operator, shown at each start until they have signed in. */
export interface FirstRun {
  email: string;
  password: string;
  accountId: string;
  apiKey: string;
  baseUrl: string;
}

/**
 * The file with the first operator's credentials. It loses the password at the first sign-in, and the API key a week
 * later at the latest.
 */
export interface FirstRunFile {
  /** Returns the file's path until its account first signs in; then undefined. */
  waiting(): string | undefined;
  /** Removes the password if the file belongs to this account. Never rejects. */
  signedIn(accountId: string): Promise<void>;
  /** Removes the file if it belongs to this account, which has signed in. Never rejects. */
  dismissed(accountId: string): Promise<void>;
}

const FILE = 'first-run.json';
const KEY_STAYS_MS = 7 * DAY_MS;

/** Opens the file written by `firstRun`, and removes it a week after the first sign-in. */
export async function openFirstRunFile(
  dataDir: string,
  { clock, log }: { clock: Clock; log: Log },
): Promise<FirstRunFile> {
  const path = join(dataDir, FILE);
  let left = await readFirstRun(dataDir);
  const remove = async () => {
    try {
      await rm(path, { force: true });
      left = undefined;
      log.info('removed first-run.json');
    } catch (error) {
      log.warn({ err: error }, 'could not remove first-run.json; remove it, because it contains an API key');
    }
  };
  const removeAt = (at: number) => void clock.at(at, () => void (left && remove()));
  if (left?.removeAt !== undefined) removeAt(left.removeAt);
  return {
    waiting: () => (left?.password === undefined ? undefined : path),
    async signedIn(accountId) {
      if (left?.password === undefined || accountId !== left.accountId) return;
      const { password: _, ...kept } = { ...left, removeAt: clock.now() + KEY_STAYS_MS };
      try {
        await writeFirstRun(dataDir, kept);
        left = kept;
        removeAt(kept.removeAt);
        log.info('removed the password from first-run.json, because its account has signed in');
      } catch (error) {
        log.warn({ err: error }, 'could not change first-run.json; remove it, because it contains a password');
      }
    },
    async dismissed(accountId) {
      if (left?.removeAt !== undefined && accountId === left.accountId) await remove();
    },
  };
}

/** `removeAt`: epoch ms; set at the first sign-in, when the password is removed. */
export type Left = Partial<FirstRun> & { removeAt?: number };

/** Returns undefined if the file is missing or invalid. */
export async function readFirstRun(dataDir: string): Promise<Left | undefined> {
  try {
    return JSON.parse(await readFile(join(dataDir, FILE), 'utf8')) as Left;
  } catch {
    return undefined;
  }
}

/** Resolves once the file is safely on disk. */
export async function writeFirstRun(dataDir: string, made: Left): Promise<void> {
  await writeAtomic(join(dataDir, FILE), `${JSON.stringify(made, null, 2)}\n`, { durable: true });
}

/** The welcome printed at every start until the operator has signed in. */
export interface Welcome {
  firstRun: FirstRun;
  /** The file that also has the credentials. */
  file: string;
  httpPort: number;
  playersPort: number;
  /** The pages' base URL for browsers. */
  baseUrl: string;
  /** Players reach a server at `<id>.<publicHost>`, or at `publicHost` itself unless `needsName`. */
  publicHost: string;
  needsName: boolean;
  /** This machine's address in the home network; undefined if there is no such network or it is closed to players. */
  homeAddress: string | undefined;
  /** Whether the service runs in a container, with the reader outside of it. */
  inContainer: boolean;
}

/**
 * Returns the welcome of the first start for a person at the terminal. Other outputs (a journal, container logs, a
 * file) are stored and read by others, so they get the location of the credentials instead.
 */
export function welcomeText(
  { firstRun, file, httpPort, playersPort, baseUrl, publicHost, needsName, homeAddress, inContainer }: Welcome,
  isTerminal: boolean,
): string {
  const { apiKey, email, password } = firstRun;
  const shown = `Your account, also in ${file}:

    e-mail    ${email}
    password  ${password}
    API key   ${apiKey}`;
  const key = isTerminal ? apiKey : '<the apiKey in that file>';
  const port = playersPort === 25_565 ? '' : `:${playersPort}`;
  const named = (id: string) => `${needsName ? `${id}.` : ''}${publicHost}${port}`;
  const fromHome =
    homeAddress === undefined || needsName ? '' : `\n    At home    ${homeAddress}${port}, for others in your network`;
  const fromOutside = inContainer ? `\n  From outside this container: docker exec <its name> cat ${file}` : '';
  return `
  Welcome to Dormouse. ${isTerminal ? shown : `Your e-mail, password and API key are in ${file}.${fromOutside}`}

    Pages      ${baseUrl}/servers, and for you as the operator ${baseUrl}/operator
    Players    ${named('<its id>')}${fromHome}

  Sign in and create a first server there, or through the API:

    curl -H 'x-api-key: ${key}' localhost:${httpPort}/v1/servers -d '{"name":"Lobby","ramMb":512}'

  then join ${named('lobby')} with Minecraft. This message appears at each start until you have signed in.

`;
}
