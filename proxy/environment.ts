import { createHash } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { isFloodgateKey } from './forwarding.ts';
import type { Service } from './link/dial.ts';
import { LINK_PATH } from './link/messages.ts';

/** A setting is wrong. The message is one sentence for the person who starts the proxy and contains no secret. */
export class SettingError extends Error {
  override name = 'SettingError';
}

export const HELP = `Dormouse's proxy: relays players to games, in a separate process. By default, the service starts it.
Start it yourself if the service has PROXY=external.

  CONTROL_URL             address of the service: wss://dormouse.example.org, or ws:// and a loopback address. With a
                          standby (STANDBY=wait), both addresses, separated by a comma. The proxy finds the active one
  CONTROL_PLAIN=false     true: allow ws:// to other machines, on a private network
  PROXY_TOKEN             the service's token (its PROXY_TOKEN, or the file proxy.token in its DATA_DIR)
  PROXY_TOKEN_FILE        a file that contains the token
  PROXY_HOST=::           address players connect to
  PROXY_PORT=25565        port players connect to
  PROXY_PROTOCOL_FROM     addresses and networks of load balancers, which must send a PROXY header
  FORWARDING_FROM         addresses and networks of Minecraft proxies in front (Velocity, BungeeCord), whose forwarded
                          addresses, UUIDs and names count
  FLOODGATE_KEY           Floodgate's key.pem in base64, to read the data that Geyser forwards
  NETWORK_HOST=127.0.0.1  address of the ports of private backends
  PROXY_NAME              name shown to operators. Default: the machine's name
  PROXY_DRAIN_HOURS=12    how long players may stay after SIGTERM
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

export type Environment = ReturnType<typeof readEnvironment>;

/** Reads the settings that the process starts with. Throws SettingError. */
export function readEnvironment(env: NodeJS.Dict<string>) {
  const path = env['PROXY_LINK'];
  return {
    host: env['PROXY_HOST'] || '::',
    port: number('PROXY_PORT', env['PROXY_PORT'] || '25565', 65_535),
    /** The services to connect to. If there are several, only one accepts links at a time. */
    services: path ? [{ path }] : remote(env),
    /**
     * Whether the service started this process. A restarted service finds the process again, and the process ends when
     * it is no longer needed.
     */
    isChild: Boolean(path),
    /** Whether another proxy may listen on the same port. Proxies started by hand may: the operator decides. */
    takesOver: !path || env['PROXY_TAKES_OVER'] === 'true',
    name: nameOf(env['PROXY_NAME']),
    /** Fingerprint of the start settings. The service compares it to detect a change. */
    settings: env['PROXY_SETTINGS'] ?? '',
    sessionServerUrl: env['SESSION_SERVER_URL'] || undefined,
    proxyProtocolFrom: listIn(env['PROXY_PROTOCOL_FROM']),
    forwardingFrom: listIn(env['FORWARDING_FROM']),
    floodgateKey: floodgateKeyOf(env['FLOODGATE_KEY'] ?? ''),
    networkHost: env['NETWORK_HOST'] || '127.0.0.1',
    drainMs: number('PROXY_DRAIN_HOURS', env['PROXY_DRAIN_HOURS'] || '12', MOST_DRAIN_HOURS) * HOUR_MS,
    /** How long a child process lives without a service and players. */
    lonelyMs: number('PROXY_LONELY_MS', env['PROXY_LONELY_MS'] || String(LONELY_MS), Number.MAX_SAFE_INTEGER),
    logLevel: env['LOG_LEVEL'] || 'info',
  };
}

function listIn(text = ''): string[] {
  return text.split(/[\s,]+/).filter(Boolean);
}

function floodgateKeyOf(text: string): string {
  if (text === '' || isFloodgateKey(text)) return text;
  throw new SettingError('FLOODGATE_KEY must be the output of `base64 -w0 key.pem`.');
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
  if (!token) throw new SettingError("Set PROXY_TOKEN or PROXY_TOKEN_FILE to the service's token.");
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

/**
 * Returns the version of this program: the release and a hash of its current files. Any change of the code changes the
 * version.
 */
export function programVersion(): string {
  const folder = import.meta.dirname;
  const hash = createHash('sha256');
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
  for (const name of names.toSorted()) hash.update(`${name}\0`).update(readFileSync(join(folder, name)));
  const { version } = JSON.parse(readFileSync(join(folder, '../package.json'), 'utf8')) as { version: string };
  return `${version}+${hash.digest('hex').slice(0, 12)}`;
}
