import { wrongUsage } from './errors.ts';

/** The address of a service that was started without settings. */
export const DEFAULT_URL = 'http://localhost:8080';

/** The base address of a service in the form under which its key is kept: no slash at the end. Throws on wrong usage. */
export function serviceUrl(text: string): string {
  const url = URL.parse(text);
  if (!url || !['http:', 'https:'].includes(url.protocol) || url.username || url.password || url.search || url.hash) {
    throw wrongUsage(
      'The address of a service is like https://play.example.org: http or https, no password, no query.',
    );
  }
  return `${url.origin}${url.pathname}`.replace(/(?<!\/)\/+$/, '');
}

/** Whether what is sent there can be read on the network. */
export function isReadableOnTheWay(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  return protocol === 'http:' && !/^(?:localhost|.*\.localhost|127(?:\.\d+){3}|\[::1\])$/.test(hostname);
}
