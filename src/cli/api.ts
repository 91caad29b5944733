import { readFileSync } from 'node:fs';
import { hostname, platform } from 'node:os';
import { join } from 'node:path';
import createClient, { type Client, defaultPathSerializer } from 'openapi-fetch';
import type { paths } from '../http/api-types.ts';
import type { Detail } from '../kernel/status.ts';
import { DORMOUSE } from './called.ts';
import { type CommandError, notSignedIn, refused, wrongUsage } from './errors.ts';
import { ANSWER_MS, boundedFetch, retryAfter } from './http.ts';

/**
 * The operations of one service, typed by its API description. Calls reject with CommandError if the service does not
 * answer.
 */
type Operations = Client<paths>;

/** The operations with a key. Calls also reject without a key, or if the service does not accept it. */
export interface Api extends Operations {
  /** Base address of the service. */
  readonly url: string;
}

/**
 * `key` undefined: not signed in, no call is made. `signal` cancels running calls, and `answerMs` limits their time.
 */
export function createApi(url: string, key: string | undefined, signal: AbortSignal, answerMs = ANSWER_MS): Api {
  const operations = openOperations(url, signal, { 'x-api-key': key }, answerMs);
  operations.use({
    onRequest() {
      if (key === undefined) throw notSignedIn(`You are not signed in at ${url}. Run: ${DORMOUSE} login`);
    },
    onResponse({ response }) {
      if (response.status !== 401) return;
      // The variable overrides the stored key.
      const orCorrect = '(or correct DORMOUSE_KEY)';
      throw notSignedIn(`Your API key is not valid at ${url}. Run: ${DORMOUSE} login ${orCorrect}`);
    },
  });
  return { ...operations, url };
}

/** Operations that need no key. */
export function openOperations(
  url: string,
  signal: AbortSignal,
  headers: { 'x-api-key'?: string } = {},
  answerMs = ANSWER_MS,
): Operations {
  return createClient<paths>({
    baseUrl: url,
    fetch: boundedFetch(url, signal, answerMs),
    headers: { accept: 'application/json', 'user-agent': USER_AGENT, ...headers },
    // Following a redirect would send the key to another address.
    redirect: 'manual',
    pathSerializer(path, params) {
      const { id = 'none', ...others } = params;
      if (!/^[a-z0-9-]{1,64}$/.test(String(id))) {
        throw wrongUsage(`${JSON.stringify(id)} is not a server id. List your servers with: ${DORMOUSE} servers`);
      }
      // A segment of only dots would lead to another address.
      const strange = Object.values(others).find((value) => !/^\w[\w.-]{0,99}$/.test(String(value)));
      if (strange !== undefined)
        throw wrongUsage(`${JSON.stringify(strange)} is not a valid id. See: ${DORMOUSE} help`);
      return defaultPathSerializer(path, params);
    },
  });
}

/** The answer of a call: `data` on success, otherwise `error`. */
export interface Answer<Reply> {
  data?: Reply;
  error?: unknown;
  response: Response;
}

/** Returns the reply to a call, which `read` must validate. Throws CommandError if the service refuses the call. */
export async function done<Reply>(call: Promise<Answer<Reply>>): Promise<Reply> {
  const { data, error, response } = await call;
  if (data === undefined) throw refusal(error, response);
  return data;
}

/** Returns the CommandError for an unsuccessful answer. */
export function refusal(body: unknown, response: Response): CommandError {
  const { code, message, details } = body as { code?: unknown; message?: unknown; details?: unknown };
  return refused({
    code: typeof code === 'number' ? code : 2,
    message: typeof message === 'string' && message !== '' ? message : `The service answered HTTP ${response.status}.`,
    details: [...(Array.isArray(details) ? (details as Detail[]) : []), ...retryInfo(details, retryAfter(response))],
  });
}

const RETRY_INFO = 'type.googleapis.com/google.rpc.RetryInfo';

function retryInfo(details: unknown, seconds: number | undefined): Detail[] {
  if (seconds === undefined || JSON.stringify(details ?? []).includes(RETRY_INFO)) return [];
  return [{ '@type': RETRY_INFO, retryDelay: `${seconds}s` }];
}

const manifest = readFileSync(join(import.meta.dirname, 'package.json'), 'utf8');

/** This program's version. */
export const VERSION = (JSON.parse(manifest) as { version: string }).version;

/**
 * The User-Agent of calls (RFC 9110 §10.1.5). The consent page shows it, and it becomes the key's name; therefore it
 * contains the machine's name.
 */
const USER_AGENT = `dormouse-cli/${VERSION} (${hostname().replace(/[^\w.-]/g, '-')}; ${platform()})`;
