import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, open, rename, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Address } from '../../../proxy/ports.ts';
import { readIfThere, writeAtomic } from '../../kernel/atomic-file.ts';
import { type ProcessIdentity, isAlive, thisProcess } from '../../kernel/process-identity.ts';
import { MIB } from '../../kernel/units.ts';

/** Place, access and start settings of the proxy. */
export interface ProxySettings {
  proxy: 'child' | 'embedded' | 'external';
  /** '': no links over HTTP, except that `external` then generates a token. */
  proxyToken: string;
  dataDir: string;
  logLevel: string;
  proxyHost: string;
  proxyPort: number;
  proxyDrainHours: number;
  sessionServerUrl: string;
  /** Load balancers in front of the proxy, which name the player in a PROXY header. */
  proxyProtocolFrom: readonly string[];
  /** Minecraft proxies in front of the proxy, which forward the player's address, UUID and name. */
  forwardingFrom: readonly string[];
  /** Address of the ports of private backends. */
  networkHost: string;
  /** In base64; '' if not set. */
  floodgateKey: string;
}

/** Variables passed on to the proxy. It faces strangers, so it gets only settings that it needs. */
const INHERITED = ['PATH', 'HOME', 'LANG', 'TZ', 'NODE_EXTRA_CA_CERTS'];
const ENTRY = join(import.meta.dirname, '../../../proxy/main.ts');
/** A log longer than this is replaced by the next. */
const LONG_LOG_BYTES = MIB;

/** Returns the settings whose change requires another process, as text for comparison. */
export function settingsFingerprintOf({
  proxyHost,
  proxyPort,
  sessionServerUrl,
  proxyProtocolFrom,
  forwardingFrom,
  floodgateKey,
  networkHost,
}: ProxySettings): string {
  // The fingerprint is not secret, so it contains only a hash of the key.
  const key = createHash('sha256').update(floodgateKey).digest('hex');
  return JSON.stringify([proxyHost, proxyPort, sessionServerUrl, proxyProtocolFrom, forwardingFrom, key, networkHost]);
}

/**
 * Starts the proxy as a process that outlives this one and its terminal. While no service listens, its output goes to
 * `proxy.log` in its folder. `takesOver`: another proxy listens on the same port. `ended` resolves with the exit code
 * (null after a signal), and rejects if the process could not be started.
 */
export async function startChild(
  settings: ProxySettings,
  { link, takesOver }: { link: string; takesOver: Address | true | undefined },
): Promise<{ pid: number; ended: Promise<number | null> }> {
  const folder = childFolder(settings.dataDir);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const file = join(folder, 'proxy.log');
  const { size } = await stat(file).catch(() => ({ size: 0 }));
  if (size > LONG_LOG_BYTES) await rename(file, `${file}.old`);
  await using log = await open(file, 'a', 0o600);
  const port = settings.proxyPort || (typeof takesOver === 'object' ? takesOver.port : 0);
  const inherited = INHERITED.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]]));
  const cache = process.env['NODE_COMPILE_CACHE'];
  const child = spawn(process.execPath, [ENTRY], {
    cwd: folder,
    detached: true,
    stdio: ['ignore', log.fd, log.fd],
    env: {
      ...(Object.fromEntries(inherited) as Record<string, string>),
      // Resolved because a relative path would refer to this process's working directory.
      ...(cache === undefined ? {} : { NODE_COMPILE_CACHE: resolve(cache) }),
      PROXY_LINK: link,
      PROXY_SETTINGS: settingsFingerprintOf(settings),
      PROXY_HOST: settings.proxyHost,
      PROXY_PORT: String(port),
      PROXY_TAKES_OVER: String(takesOver !== undefined),
      PROXY_DRAIN_HOURS: String(settings.proxyDrainHours),
      SESSION_SERVER_URL: settings.sessionServerUrl,
      PROXY_PROTOCOL_FROM: settings.proxyProtocolFrom.join(','),
      FORWARDING_FROM: settings.forwardingFrom.join(','),
      FLOODGATE_KEY: settings.floodgateKey,
      NETWORK_HOST: settings.networkHost,
    },
  });
  child.unref();
  const ended = once(child, 'exit').then(([code]) => code as number | null);
  ended.catch(() => {});
  if (child.pid === undefined) await ended;
  return { pid: child.pid ?? 0, ended };
}

/** Returns the folder in which the next service finds the proxy this one started. */
export function childFolder(dataDir: string): string {
  return join(dataDir, 'proxy');
}

/** Returns the recorded proxy process if it still runs and belongs to this user. */
export async function livingChild(dataDir: string): Promise<ProcessIdentity | undefined> {
  const bytes = await readIfThere(fileIn(dataDir));
  if (bytes === undefined) return undefined;
  const noted = parse(bytes.toString());
  if (!noted || !isOurs(noted.pid)) return undefined;
  // A process that is not visible from here, as in another container, belongs to another machine.
  return (await isAlive(noted, await thisProcess())) === true ? noted : undefined;
}

/** Records the proxy for the next service. The folder must exist. */
export async function noteChild(dataDir: string, child: ProcessIdentity): Promise<void> {
  await writeAtomic(fileIn(dataDir), `${JSON.stringify(child)}\n`);
}

/** Makes the recorded proxy accept no new players and end with its last one. Returns false if none runs. */
export async function drainChild(dataDir: string): Promise<boolean> {
  const child = await livingChild(dataDir);
  if (child) process.kill(child.pid, 'SIGTERM');
  return child !== undefined;
}

function fileIn(dataDir: string): string {
  return join(childFolder(dataDir), 'proxy.json');
}

/** Whether the process belongs to this user. Others cannot be signalled, and share no port with ours. */
function isOurs(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

function parse(json: string): ProcessIdentity | undefined {
  try {
    const { hostname, scope, pid, startedAt } = JSON.parse(json) as Partial<ProcessIdentity>;
    if (typeof pid !== 'number' || pid < 2 || !Number.isSafeInteger(pid)) return undefined;
    return { hostname: String(hostname), scope: String(scope), pid, startedAt: String(startedAt) };
  } catch {
    return undefined;
  }
}
