import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import type { Service } from './link/dial.ts';
import { LINK_PATH } from './link/messages.ts';

/** The settings that the process starts with. */
export interface Environment {
  host: string;
  port: number;
  /** The services to connect to. If there are several, only one accepts links at a time. */
  services: readonly Service[];
  /**
   * Whether the service started this process. A restarted service finds the process again, and the process ends when it
   * is no longer needed.
   */
  isChild: boolean;
  /** Whether another proxy may listen on the same port. */
  takesOver: boolean;
  name: string;
  /** Fingerprint of the start settings. The service compares it to detect a change. */
  settings: string;
  sessionServerUrl: string | undefined;
  proxyProtocolFrom: string[];
  drainMs: number;
  /** How long a child process lives without a service and players, in ms. */
  lonelyMs: number;
  logLevel: string;
}

/** A setting is wrong. The message is one sentence for the person who starts the proxy and contains no secret. */
export class SettingError extends Error {
  override name = 'SettingError';
}

export const HELP = `Dormouse's proxy: relays players to games, as a process of its own. The service starts one by itself; start one
by hand where the service is told PROXY=external.

  CONTROL_URL             the service: wss://dormouse.example.org, or ws:// and a loopback address. Where a standby may take it
                          over (STANDBY=wait there), both, with a comma between: the one that serves is found
  CONTROL_PLAIN=false     true: ws:// to other machines too, on a network where nobody else listens
  PROXY_TOKEN             as the service has it (PROXY_TOKEN there, or the file proxy.token in its DATA_DIR)
  PROXY_TOKEN_FILE        a file that holds it
  PROXY_HOST=::           address players connect to
  PROXY_PORT=25565        port players connect to
  PROXY_PROTOCOL_FROM     load balancers: addresses and networks that begin with a PROXY header
  PROXY_NAME              what operators know it by; the machine's name unless set
  PROXY_DRAIN_HOURS=12    how long players may stay once it is told to end (SIGTERM)
  LOG_LEVEL=info
`;

/** Exit code if another process listens on the port. */
export const PORT_TAKEN = 98;

const MOST_SERVICES = 8;
const WHERE = 'CONTROL_URL must be the address of the service, such as wss://dormouse.example.org.';
const HOUR_MS = 3_600_000;
/** Same limit as in the service. Node fires longer timers at once. */
const MOST_DRAIN_HOURS = 596;
/** Same limit as in the service. */
const NAME_UNITS = 128;
const LONELY_MS = 60_000;
const LOOPBACK = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/;

/** Throws SettingError. */
export function readEnvironment(env: NodeJS.Dict<string>): Environment {
  const path = env['PROXY_LINK'];
  const port = number('PROXY_PORT', env['PROXY_PORT'] || '25565', 65_535);
  return {
    host: env['PROXY_HOST'] || '::',
    port,
    services: path ? [{ path }] : remote(env),
    isChild: Boolean(path),
    // Proxies started by hand may share a port: the operator decides.
    takesOver: !path || env['PROXY_TAKES_OVER'] === 'true',
    name: nameOf(env['PROXY_NAME']),
    settings: env['PROXY_SETTINGS'] ?? '',
    sessionServerUrl: env['SESSION_SERVER_URL'] || undefined,
    proxyProtocolFrom: (env['PROXY_PROTOCOL_FROM'] ?? '').split(/[\s,]+/).filter(Boolean),
    drainMs: number('PROXY_DRAIN_HOURS', env['PROXY_DRAIN_HOURS'] || '12', MOST_DRAIN_HOURS) * HOUR_MS,
    lonelyMs: number('PROXY_LONELY_MS', env['PROXY_LONELY_MS'] || String(LONELY_MS), Number.MAX_SAFE_INTEGER),
    logLevel: env['LOG_LEVEL'] || 'info',
  };
}

function nameOf(given: string | undefined): string {
  // Shortens only the default: the machine's host name was not chosen as a proxy name.
  if (!given) return hostname().slice(0, NAME_UNITS);
  if (given.length <= NAME_UNITS) return given;
  throw new SettingError(`PROXY_NAME has ${given.length} characters, but may have ${NAME_UNITS} at most.`);
}

function number(name: string, text: string, most: number): number {
  const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (value <= most) return value;
  throw new SettingError(`${name} is ${JSON.stringify(text)}, but must be a whole number from 0 to ${most}.`);
}

function remote(env: NodeJS.Dict<string>): Service[] {
  const urls = (env['CONTROL_URL'] ?? '').split(/[\s,]+/).filter(Boolean);
  if (urls.length === 0 || urls.length > MOST_SERVICES) throw new SettingError(WHERE);
  const mayBePlain = env['CONTROL_PLAIN'] === 'true';
  const hrefs = urls.map((url) => linkAt(url, mayBePlain));
  const token = env['PROXY_TOKEN'] || tokenIn(env['PROXY_TOKEN_FILE']);
  if (!token) throw new SettingError('PROXY_TOKEN, or PROXY_TOKEN_FILE, must be set as the service has it.');
  return hrefs.map((url) => ({ url, token }));
}

function linkAt(text: string, mayBePlain: boolean): string {
  const control = URL.parse(text);
  if (!control || !['ws:', 'wss:'].includes(control.protocol)) throw new SettingError(WHERE);
  if (control.protocol === 'ws:' && !mayBePlain && !LOOPBACK.test(control.hostname))
    throw new SettingError('CONTROL_URL must begin with wss:// unless the service is on this machine.');
  if (control.pathname === '/') control.pathname = LINK_PATH;
  return control.href;
}

function tokenIn(file: string | undefined): string {
  if (!file) return '';
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (error) {
    throw new SettingError(`PROXY_TOKEN_FILE cannot be read (${(error as NodeJS.ErrnoException).code}).`);
  }
}
