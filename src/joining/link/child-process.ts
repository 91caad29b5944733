import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, open, rename, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Address } from '../../../proxy/ports.ts';
import { MIB } from '../../kernel/units.ts';

/** The start settings of the proxy's process. */
export interface ChildSettings {
  proxyHost: string;
  proxyPort: number;
  proxyDrainHours: number;
  sessionServerUrl: string;
  /** Load balancers in front of the proxy, which name the player in a PROXY header. */
  proxyProtocolFrom: readonly string[];
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
}: ChildSettings): string {
  return JSON.stringify([proxyHost, proxyPort, sessionServerUrl, ...proxyProtocolFrom]);
}

/** A started process. */
export interface Started {
  pid: number;
  /** Resolves with the exit code; null after a signal. Rejects if the process could not be started. */
  ended: Promise<number | null>;
}

/**
 * Starts the proxy as a process that outlives this one and its terminal. While no service listens, its output goes to
 * `proxy.log` in its folder. `takesOver`: another proxy listens on the same port.
 */
export async function startChild(
  folder: string,
  settings: ChildSettings,
  { link, takesOver }: { link: string; takesOver: Address | true | undefined },
): Promise<Started> {
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
    },
  });
  child.unref();
  const ended = once(child, 'exit').then(([code]) => code as number | null);
  ended.catch(() => {});
  if (child.pid === undefined) await ended;
  return { pid: child.pid ?? 0, ended };
}
