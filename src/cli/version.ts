import { readFileSync } from 'node:fs';
import { hostname, platform } from 'node:os';
import { join } from 'node:path';

const manifest = readFileSync(join(import.meta.dirname, 'package.json'), 'utf8');

/** This program's version. */
export const VERSION = (JSON.parse(manifest) as { version: string }).version;

/**
 * The User-Agent of calls (RFC 9110 §10.1.5). The consent page shows it, and it becomes the key's name; therefore it
 * contains the machine's name.
 */
export const USER_AGENT = `dormouse-cli/${VERSION} (${hostname().replace(/[^\w.-]/g, '-')}; ${platform()})`;
