import { type ChildProcess, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { createWorkerPool } from '../../src/kernel/workers/pool.ts';
import { Files } from '../../src/files/files.ts';
import { unlimitedDisk } from '../../src/jail/space.ts';
import { createLog } from '../../src/kernel/log.ts';
import { systemClock } from '../../src/kernel/system-clock.ts';
import { insertAccount } from '../../src/accounts/rows.ts';
import { insertServer } from '../../src/servers/rows.ts';
import { Sftp, openHostKey } from '../../src/sftp/sftp.ts';
import { issueSftpLogin } from '../../src/sftp/users.ts';
import { openStore } from '../../src/store/store.ts';
import { TABLES } from '../../src/tables.ts';
import { NO_JOBS } from '../support/no-jobs.ts';
import { serverRow } from '../support/store.ts';
import { message, pinningNote, startChild, startRole } from './children.ts';
import { type Report, median } from './figures.ts';
import { freePort, opens } from './ports.ts';

const SSHD = '/usr/sbin/sshd';
/**
 * The algorithms that OpenSSH's client and our server choose by default. They are set, so that both servers use the
 * same.
 */
const CIPHER = 'aes256-ctr';
const MAC = 'hmac-sha2-256-etm@openssh.com';
const ROUNDS = 3;
const MIB = 256;

/** A server to measure, and how its client signs in. */
interface Peer {
  child: ChildProcess;
  port: number;
  username: string;
  /** The environment and the arguments of the client. */
  env: Record<string, string>;
  args: string[];
}

interface Measured {
  upSeconds: number;
  downSeconds: number;
  /** CPU time of the server for both directions together. */
  cpuSeconds: number;
}

/** Measures one file of 256 MiB up and down with OpenSSH's client, beside OpenSSH's own server if it is installed. */
export async function run({ row, progress }: Report): Promise<void> {
  if (spawnSync('ssh', ['-V']).status !== 0) return progress('left out: the OpenSSH client is not installed');
  const folder = mkdtempSync(join(tmpdir(), 'sftp-bench-'));
  const peers: Peer[] = [];
  try {
    writeFileSync(join(folder, 'big'), randomBytes(MIB * 2 ** 20));
    const own = await startOwn(folder);
    peers.push(own);
    const openssh = await startOpenssh(folder);
    if (openssh) peers.push(openssh);
    const hasPeer = openssh !== undefined;
    const results = new Map<Peer, Measured[]>(peers.map((peer) => [peer, []]));
    for (let round = 1; round <= ROUNDS; round++) {
      progress(`round ${round} of ${ROUNDS}`);
      // The servers alternate, so that other work on the machine affects both alike.
      for (const [peer, measured] of results) measured.push(await measure(folder, peer));
    }
    const of = (peer: Peer, name: keyof Measured): number => median(results.get(peer)!.map((each) => each[name]));
    const note = [`median of ${ROUNDS} rounds`, CIPHER, pinningNote, hasPeer ? '' : 'sshd is not to be had: no ratios']
      .filter(Boolean)
      .join('; ');
    row({ figure: 'SFTP up', value: MIB / of(own, 'upSeconds'), unit: 'MiB/s', note });
    row({ figure: 'SFTP down', value: MIB / of(own, 'downSeconds'), unit: 'MiB/s' });
    row({ figure: 'SFTP, CPU per GiB', value: (of(own, 'cpuSeconds') * 1_024) / MIB / 2, unit: 's' });
    row({ figure: 'SFTP, most memory of the process', value: peakMib(own.child), unit: 'MiB' });
    if (!openssh) return;
    row({ figure: 'OpenSSH up', value: MIB / of(openssh, 'upSeconds'), unit: 'MiB/s' });
    row({ figure: 'OpenSSH down', value: MIB / of(openssh, 'downSeconds'), unit: 'MiB/s' });
    row({ figure: 'SFTP ÷ OpenSSH, speed up', value: of(openssh, 'upSeconds') / of(own, 'upSeconds'), unit: '1' });
    row({
      figure: 'SFTP ÷ OpenSSH, speed down',
      value: of(openssh, 'downSeconds') / of(own, 'downSeconds'),
      unit: '1',
    });
    row({ figure: 'SFTP ÷ OpenSSH, CPU', value: of(own, 'cpuSeconds') / of(openssh, 'cpuSeconds'), unit: '1' });
  } finally {
    for (const { child } of peers) child.kill();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function measure(folder: string, peer: Peer): Promise<Measured> {
  const before = cpuSeconds(peer.child);
  const upSeconds = await transfer(folder, peer, `put big ${remote(folder, peer)}`);
  const downSeconds = await transfer(folder, peer, `get ${remote(folder, peer)} back`);
  // The CPU time of an OpenSSH session counts for the server only after the server has waited for the session's process.
  await delay(200);
  return { upSeconds, downSeconds, cpuSeconds: cpuSeconds(peer.child) - before };
}

/** Returns the path on the server. Our server has a root of its own. */
function remote(folder: string, { args }: Peer): string {
  return args.includes('-i') ? join(folder, 'theirs') : 'ours';
}

/** Returns the duration in seconds, including the connection and the sign-in. */
async function transfer(folder: string, { port, username, env, args }: Peer, command: string): Promise<number> {
  const set = ['BatchMode=no', 'StrictHostKeyChecking=no', 'UserKnownHostsFile=/dev/null', 'LogLevel=ERROR'];
  const agreed = ['-c', CIPHER, '-o', `MACs=${MAC}`];
  const options = ['-q', '-P', String(port), ...agreed, ...set.flatMap((each) => ['-o', each]), ...args, '-b', '-'];
  const at = performance.now();
  const client = startChild(1, 'sftp', [...options, `${username}@127.0.0.1`], {
    cwd: folder,
    env: { PATH: process.env['PATH'], HOME: folder, ...env },
    stdio: ['pipe', 'ignore', 'inherit'],
  });
  client.stdin?.end(`${command}\n`);
  const [code] = (await once(client, 'exit')) as [number | null];
  if (code !== 0) throw new Error(`sftp ended with ${code}: ${command}`);
  return (performance.now() - at) / 1_000;
}

async function startOwn(folder: string): Promise<Peer> {
  const child = startRole(0, import.meta.filename, 'own', folder);
  const { port, username, password } = await message<{ port: number; username: string; password: string }>(child);
  const askpass = join(folder, 'askpass');
  writeFileSync(askpass, '#!/bin/sh\necho "$SFTP_PASSWORD"\n', { mode: 0o700 });
  const env = { SSH_ASKPASS: askpass, SSH_ASKPASS_REQUIRE: 'force', SFTP_PASSWORD: password };
  return { child, port, username, env, args: [] };
}

/**
 * Starts OpenSSH's server on a free port with keys of its own. Returns undefined if it is not installed or does not
 * start.
 */
async function startOpenssh(folder: string): Promise<Peer | undefined> {
  if (!existsSync(SSHD)) return undefined;
  const key = (name: string): string => {
    const file = join(folder, name);
    spawnSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', file]);
    return file;
  };
  const [host, user] = [key('host'), key('user')];
  const port = await freePort();
  const settings = {
    Port: port,
    ListenAddress: '127.0.0.1',
    HostKey: host,
    PidFile: 'none',
    AuthorizedKeysFile: `${user}.pub`,
    StrictModes: 'no',
    PasswordAuthentication: 'no',
    PermitRootLogin: 'prohibit-password',
    Subsystem: 'sftp internal-sftp',
  };
  const config = join(folder, 'sshd_config');
  writeFileSync(
    config,
    Object.entries(settings)
      .map(([name, value]) => `${name} ${value}\n`)
      .join(''),
  );
  // The server confines its helper in this folder. Distributions create it when the system's own server starts.
  if (process.getuid?.() === 0) mkdirSync('/run/sshd', { recursive: true, mode: 0o755 });
  const child = startChild(0, SSHD, ['-D', '-f', config], { stdio: 'ignore' });
  if (!(await opens(port))) {
    child.kill();
    return undefined;
  }
  return { child, port, username: userInfo().username, env: {}, args: ['-i', user] };
}

/**
 * Returns the CPU time of a process and of the children it has waited for, in seconds. Linux counts in hundredths of a
 * second.
 */
function cpuSeconds({ pid }: ChildProcess): number {
  const [, , ...fields] = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/\(.*\)/s, 'name')
    .split(' ');
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) / 100;
}

function peakMib({ pid }: ChildProcess): number {
  return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1_024;
}

async function beOwn(folder: string): Promise<void> {
  const store = await openStore('sqlite::memory:', TABLES);
  const login = await store.write(async (tx) => {
    await insertAccount(tx, { id: 'acc_bench', name: 'bench', createdAt: 1 });
    await insertServer(tx, serverRow('lobby', { accountId: 'acc_bench', sftpEnabled: true }));
    return issueSftpLogin(tx, 'lobby', 1);
  });
  const dataDir = join(folder, 'data');
  const base = { store, clock: systemClock, log: createLog({ level: 'silent' }), dataDir };
  const files = new Files({ dataDir, owner: undefined, disk: unlimitedDisk, lock: NO_JOBS }, createWorkerPool());
  const sftp = new Sftp(base, await openHostKey(dataDir), files, unlimitedDisk);
  await sftp.listen('127.0.0.1', 0);
  process.send?.({ port: sftp.port, ...login });
}

const [, file, role, folder] = process.argv;
if (file === import.meta.filename && role === 'own') await beOwn(folder ?? '');
