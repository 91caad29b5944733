import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { wrongUsage } from './errors.ts';

/** Returns the address of the service started in this folder, from the same `.env`, which the environment overrides. */
export function localUrl(folder: string, env: Readonly<NodeJS.Dict<string>>): string {
  const text = (name: string) => (env[name] ?? file[name] ?? '').trim();
  const file = envFile(join(folder, '.env'));
  if (text('BASE_URL') !== '') return text('BASE_URL');
  const host = text('HTTP_HOST');
  const named = ['', '127.0.0.1', '0.0.0.0', '::', '::1'].includes(host) ? 'localhost' : host;
  const port = ['', '0'].includes(text('HTTP_PORT')) ? '8080' : text('HTTP_PORT');
  return `http://${isIP(named) === 6 ? `[${named}]` : named}:${port}`;
}

/** Empty if there is no such file, or if only the service's user may read it. */
function envFile(path: string): NodeJS.Dict<string> {
  try {
    return parseEnv(readFileSync(path, 'utf8').replace(/^\uFEFF/, ''));
  } catch {
    return {};
  }
}

/** Normalizes a service's base address, which identifies its key: no slash at the end. Throws on wrong usage. */
export function serviceUrl(text: string): string {
  const url = URL.parse(text);
  if (!url || !['http:', 'https:'].includes(url.protocol) || url.username || url.password || url.search || url.hash) {
    throw wrongUsage('The address must look like https://play.example.org: http or https, without password or query.');
  }
  return `${url.origin}${url.pathname}`.replace(/(?<!\/)\/+$/, '');
}

/** Reports whether requests to the address are unencrypted on the network. */
export function isReadableOnTheWay(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  return protocol === 'http:' && !/^(?:localhost|.*\.localhost|127(?:\.\d+){3}|\[::1\])$/.test(hostname);
}
