import type { Detail } from '../kernel/status.ts';
import { type Method, type PathOf, type Reply, type Sent, type StreamPath, request } from './call.ts';
import { type CommandError, notSignedIn, refused } from './errors.ts';
import { type Answer, type Request, exchange, openStream } from './http.ts';

/** The control API of one service, with one key. Every call throws CommandError: refused, not signed in, or unreachable. */
export interface Api {
  /** Base address of the service. */
  readonly url: string;
  /** One operation by its method and path, as the API describes it. The reply is what it ought to be: `read` checks it. */
  call<M extends Method, P extends PathOf<M>>(method: M, path: P, sent: Sent<M, P>): Promise<Reply<M, P>>;
  /** Undefined where the service has no such stream. */
  stream<P extends StreamPath>(path: P, sent: Sent<'get', P>): Promise<ReadableStream<Uint8Array> | undefined>;
}

/** `key` undefined: nobody is signed in, and no call is made. `signal` ends whatever is under way. */
export function createApi(url: string, key: string | undefined, signal: AbortSignal): Api {
  function signed(request: Request): Request {
    if (key === undefined) throw notSignedIn(`You are not signed in at ${url}. Run: npx dormouse login`);
    return { ...request, key };
  }

  return {
    url,
    async call<M extends Method, P extends PathOf<M>>(method: M, path: P, sent: Sent<M, P>) {
      const answer = await exchange(url, signed(request(method, path, sent)), signal);
      if (answer.status >= 200 && answer.status < 300) return answer.body as Reply<M, P>;
      throw refusal(answer, url);
    },
    async stream(path, sent) {
      const opened = await openStream(url, signed(request('get', path, sent)), signal);
      if (opened instanceof ReadableStream) return opened;
      // An unknown server is a 404 as well; whoever reads its log by other means will hear of it.
      if (opened.status === 404) return undefined;
      throw refusal(opened, url);
    },
  };
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
