import { notSignedIn, refused, wrongUsage } from './errors.ts';
import type { CommandError } from './errors.ts';
import { exchange, openStream } from './http.ts';
import type { Answer, Request } from './http.ts';
import type { Detail } from '../status.ts';

/** The control API of one service, with one key. Every call throws CommandError: refused, not signed in, or unreachable. */
export interface Api {
  /** Base address of the service. */
  readonly url: string;
  get(path: string, query?: Record<string, string>): Promise<object>;
  post(path: string, body?: object): Promise<object>;
  delete(path: string): Promise<object>;
  /** Undefined where the service has no such stream. */
  stream(path: string, query: Record<string, string>): Promise<ReadableStream<Uint8Array> | undefined>;
}

/** `key` undefined: nobody is signed in, and no call is made. `signal` ends whatever is under way. */
export function createApi(url: string, key: string | undefined, signal: AbortSignal): Api {
  function signed(request: Request): Request {
    if (key === undefined) throw notSignedIn(`You are not signed in at ${url}. Run: npx dormouse login`);
    return { ...request, key };
  }

  async function call(request: Request): Promise<object> {
    const answer = await exchange(url, signed(request), signal);
    if (answer.status >= 200 && answer.status < 300) return answer.body;
    throw refusal(answer, url);
  }

  return {
    url,
    get: (path, query = {}) => call({ method: 'GET', path: withQuery(path, query) }),
    post: (path, body = {}) => call({ method: 'POST', path, body }),
    delete: (path) => call({ method: 'DELETE', path }),
    async stream(path, query) {
      const opened = await openStream(url, signed({ method: 'GET', path: withQuery(path, query) }), signal);
      if (opened instanceof ReadableStream) return opened;
      // An unknown server is a 404 as well; whoever reads its log by other means will hear of it.
      if (opened.status === 404) return undefined;
      throw refusal(opened, url);
    },
  };
}

/** The path of a server, or of something below it. Throws wrong usage for what cannot be an id. */
export function serverPath(id: string, rest = ''): string {
  if (!/^[a-z0-9-]{1,64}$/.test(id)) {
    throw wrongUsage(`${JSON.stringify(id)} cannot be a server's id. See them with: npx dormouse servers`);
  }
  return `/v1/servers/${id}${rest}`;
}

/** An answer that is no success, as the error it is. */
export function refusal({ status, body, retryAfterSeconds }: Answer, url: string): CommandError {
  const { code, message, details } = body as { code?: unknown; message?: unknown; details?: unknown };
  if (status === 401)
    return notSignedIn(`Your key is not valid at ${url}, or no longer. Run: npx dormouse login${OR_CORRECT}`);
  return refused({
    code: typeof code === 'number' ? code : 2,
    message: typeof message === 'string' && message !== '' ? message : `The service answered HTTP ${status}.`,
    details: [...(Array.isArray(details) ? (details as Detail[]) : []), ...retryInfo(details, retryAfterSeconds)],
  });
}

/** It wins over whatever was signed in with. */
const OR_CORRECT = ' (or correct DORMOUSE_KEY, where it is set)';
const RETRY_INFO = 'type.googleapis.com/google.rpc.RetryInfo';

function retryInfo(details: unknown, seconds: number | undefined): Detail[] {
  if (seconds === undefined || JSON.stringify(details ?? []).includes(RETRY_INFO)) return [];
  return [{ '@type': RETRY_INFO, retryDelay: `${seconds}s` }];
}

function withQuery(path: string, query: Record<string, string>): string {
  const text = new URLSearchParams(query).toString();
  return text === '' ? path : `${path}?${text}`;
}
