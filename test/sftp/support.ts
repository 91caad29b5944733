import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import type { BlockList } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import ssh2, { type Client, type ClientChannel, type ConnectConfig, type SFTPWrapper } from 'ssh2';
import { Files } from '../../src/files/files.ts';
import { dataRoot } from '../../src/jail/data-root.ts';
import { type Disk, unlimitedDisk } from '../../src/jail/space.ts';
import type { FileOwner } from '../../src/kernel/atomic-file.ts';
import type { Clock } from '../../src/kernel/clock.ts';
import { createLog } from '../../src/kernel/log.ts';
import { createWorkerPool } from '../../src/kernel/workers/pool.ts';
import { insertAccount } from '../../src/accounts/rows.ts';
import { insertServer } from '../../src/servers/rows.ts';
import { SFTP_LIMITS, type SftpLimits } from '../../src/sftp/limits.ts';
import { Sftp, openHostKey } from '../../src/sftp/sftp.ts';
import { type SftpLogin, issueSftpLogin } from '../../src/sftp/users.ts';
import type { Store } from '../../src/store/store.ts';
import { fakeClock } from '../fakes/clock.ts';
import { NO_JOBS } from '../support/no-jobs.ts';
import { serverRow } from '../support/store.ts';
import { openEmptyStore } from '../support/empty-store.ts';
import { writeProgram } from '../support/write-program.ts';

/** SFTP on a free port, with one server, `lobby`, and a login for it. */
export interface SftpUnderTest {
  sftp: Sftp;
  store: Store;
  login: SftpLogin;
  port: number;
  /** The server's data root. */
  root: string;
  /** A folder around the data directory, for other files of a test. */
  folder: string;
  logged: string[];
}

/** What a test changes of the service. */
interface SftpDoubles {
  owner?: FileOwner;
  clock?: Clock;
  disk?: Disk;
  trusted?: BlockList;
  limits?: Partial<SftpLimits>;
}

export async function startSftp(
  t: ExecutionContext,
  { owner, clock = fakeClock(Date.now()), disk = unlimitedDisk, trusted, limits }: SftpDoubles = {},
): Promise<SftpUnderTest> {
  const folder = mkdtempSync(join(tmpdir(), 'dormouse-sftp-'));
  t.teardown(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
  const dataDir = join(folder, 'data');
  const store = await openEmptyStore();
  t.teardown(() => store.close());
  const login = await store.write(async (tx) => {
    await insertAccount(tx, { id: 'acc_test', name: 'test', createdAt: 1 });
    await insertServer(tx, serverRow('lobby', { accountId: 'acc_test', sftpEnabled: true }));
    return issueSftpLogin(tx, 'lobby', 1);
  });
  const logged: string[] = [];
  const log = createLog({ level: 'debug', pretty: false, destination: { write: (line) => void logged.push(line) } });
  t.teardown(() => {
    const errors = logged.filter((line) => line.includes('"level":"error"'));
    if (errors.length > 0) throw new Error(`it logged errors: ${errors.join('')}`);
  });
  const hostKey = await openHostKey(dataDir);
  const files = new Files({ dataDir, owner, disk, lock: NO_JOBS }, createWorkerPool());
  // Time stands still unless a test moves it, so a slow client is not disconnected.
  const base = { store, clock, log, dataDir };
  const sftp = new Sftp(base, hostKey, files, disk, trusted, { ...SFTP_LIMITS, ...limits });
  t.teardown(() => sftp.close());
  await sftp.listen('127.0.0.1', 0);
  const root = dataRoot(dataDir, 'lobby');
  mkdirSync(root, { recursive: true });
  return { sftp, store, login, port: sftp.port, root, folder, logged };
}

/** Connects a client and signs it in. */
export async function connect(
  t: ExecutionContext,
  { port, login }: Pick<SftpUnderTest, 'port' | 'login'>,
  config: ConnectConfig = {},
): Promise<Client> {
  const { username, password } = login;
  const client = new ssh2.Client();
  t.teardown(() => client.destroy());
  await new Promise<void>((resolve, reject) => {
    // Keep this listener: errors after the first one are ignored.
    client.once('ready', resolve).on('error', reject);
    client.once('close', () => reject(new Error('closed before anybody was signed in')));
    // The library's default is 20 s.
    client.connect({ host: '127.0.0.1', port, username, password, readyTimeout: 240_000, ...config });
  });
  return client;
}

export function openSftp(client: Client): Promise<SFTPWrapper> {
  return new Promise((resolve, reject) => client.sftp((error, sftp) => (error ? reject(error) : resolve(sftp))));
}

/** Opens the bare channel, for tests that speak the protocol themselves. */
export function openChannel(client: Client, subsystem = 'sftp'): Promise<ClientChannel> {
  return new Promise((resolve, reject) =>
    client.subsys(subsystem, (error, channel) => (error ? reject(error) : resolve(channel))),
  );
}

/** Runs OpenSSH's `sftp` on a batch of commands, one a line; those that begin with `-` may fail. */
export async function openssh(
  { port, login, folder }: Pick<SftpUnderTest, 'port' | 'login' | 'folder'>,
  batch: string[],
  args: string[] = [],
): Promise<{ code: number | null; output: string }> {
  const askpass = join(folder, 'askpass');
  writeProgram(askpass, '#!/bin/sh\necho "$SFTP_PASSWORD"\n');
  const set = ['BatchMode=no', 'StrictHostKeyChecking=no', 'UserKnownHostsFile=/dev/null', 'LogLevel=ERROR'];
  const options = ['NumberOfPasswordPrompts=1', ...set].flatMap((option) => ['-o', option]);
  const child = spawn('sftp', ['-P', String(port), ...options, ...args, '-b', '-', `${login.username}@127.0.0.1`], {
    cwd: folder,
    env: {
      PATH: process.env['PATH'],
      HOME: folder,
      SSH_ASKPASS: askpass,
      SSH_ASKPASS_REQUIRE: 'force',
      SFTP_PASSWORD: login.password,
    },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  child.stdin.end(`${batch.join('\n')}\n`);
  const code = await new Promise<number | null>((resolve) => void child.once('close', resolve));
  return { code, output };
}
