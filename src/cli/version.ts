import { readFileSync } from 'node:fs';
import { hostname, platform } from 'node:os';
import { join } from 'node:path';

const manifest = readFileSync(join(import.meta.dirname, 'package.json'), 'utf8');

/** This program's version. */
export const VERSION = (JSON.parse(manifest) as { version: string }).version;

/**
 * What calls say of their caller (RFC 9110 §10.1.5). The page that asks whether to let this program in shows it, and the key
 * it gets is called so: hence the machine's name.
 */
export const USER_AGENT = `dormouse-cli/${VERSION} (${hostname().replace(/[^\w.-]/g, '-')}; ${platform()})`;
