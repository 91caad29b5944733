import { isIP } from 'node:net';
import { isPublicAddress } from '../kernel/ip.ts';

/** Longer than the webhooks of all chat platforms. */
const MAX_CHARS = 2_048;

/**
 * Returns the problem of a webhook's URL as a sentence for its owner; undefined if it is valid. Checks the text alone:
 * the host name is resolved at each delivery, because it may change.
 */
export function checkWebhookUrl(text: string): string | undefined {
  if (text.length > MAX_CHARS) return `A webhook URL can have at most ${MAX_CHARS} characters.`;
  // The parser also normalizes IP addresses written in octal, as one number, or in full width.
  const url = URL.parse(text);
  if (url === null) return 'This is not a URL. A webhook looks like https://example.com/hook.';
  if (url.protocol !== 'https:') return 'A webhook URL must begin with https://.';
  if (url.username !== '' || url.password !== '') return 'A webhook URL must not contain a user name or password.';
  if (url.port !== '') return 'Webhooks always use port 443. Leave the port out.';
  const host = hostOf(url);
  if (isIP(host) !== 0) return isPublicAddress(host) ? undefined : 'A webhook must be at a public address.';
  if (!host.includes('.') || LOCAL_NAME.test(host)) return 'A webhook must have a public host name.';
  return undefined;
}

/**
 * Names that do not resolve on the public internet (RFC 6761, RFC 6762 §3, RFC 8375, and ICANN's reserved `internal`).
 */
const LOCAL_NAME = /\.(?:localhost|local|internal|home\.arpa|test|invalid)$/;

/** Returns the host of a URL: an IPv6 address without brackets, a name without its trailing dot. */
export function hostOf({ hostname }: URL): string {
  return hostname.startsWith('[') ? hostname.slice(1, -1) : hostname.replace(/\.$/, '');
}
