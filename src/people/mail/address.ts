import { domainToASCII } from 'node:url';

const LONGEST = 254;
const LOCAL_PART = /^[a-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[a-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/;
const DOMAIN = /^(?=.{1,253}$)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*$/;

/**
 * Returns an e-mail address in its stored and compared form: trimmed, in lower case, its domain in ASCII (RFC 5890).
 * Undefined if it is invalid: only dot-atoms are allowed as the local part (RFC 5321 §4.1.2), so that no two addresses
 * look alike and none breaks an e-mail's header.
 */
export function normalizeEmail(text: string): string | undefined {
  const address = text.trim().toLowerCase();
  const at = address.lastIndexOf('@');
  const local = address.slice(0, Math.max(0, at));
  const domain = domainToASCII(address.slice(at + 1));
  const whole = `${local}@${domain}`;
  if (whole.length > LONGEST || local.length > 64 || !LOCAL_PART.test(local) || !DOMAIN.test(domain)) return undefined;
  return whole;
}
