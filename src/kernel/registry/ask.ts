import type { Clock } from '../clock.ts';
import { createSemaphore } from '../limits/semaphore.ts';
import { sleep } from '../sleep.ts';
import { StatusError } from '../status.ts';

export interface RegistryHttpOptions {
  /** The registry's display name: `Modrinth`. */
  name: string;
  /** Address of its API. The host may serve files too, so that one mirror is enough. */
  baseUrl: string;
  /** Further hosts that may serve files, over https. */
  fileHosts: readonly string[];
  headers: Readonly<Record<string, string>>;
  /** The reason returned for a file that no longer exists. */
  goneReason: string;
  clock: Clock;
  fetch?: typeof globalThis.fetch;
}

/** Headers of one request, besides those of the registry. */
type Headers = Readonly<Record<string, string>>;

const ANSWER_MS = 15_000;
/** Time limit of all tries of one request. */
const PATIENCE_MS = 30_000;
const TRIES = 5;
const FIRST_PAUSE_MS = 500;
const MAX_REDIRECTS = 3;
/** Most requests of all callers that wait for the start of an answer, and most requests queued behind them. */
const AT_ONCE = 16;
const MOST_WAITING = 512;
/** Share of a registry's rate limit reserved for installs and starts. */
const KEPT = 1 / 3;
const BUSY = 'has received too many requests';

/** Sends requests to a registry and retries them. */
export class RegistryAsk {
  readonly #options: RegistryHttpOptions;
  readonly #clock: Clock;
  readonly #base: URL;
  /** By origin: files may come from another origin than answers. */
  readonly #busyUntil = new Map<string, number>();
  readonly #questions = createSemaphore({
    atOnce: AT_ONCE,
    mostWaiting: MOST_WAITING,
    full: () => this.unavailable('has too many requests waiting', FIRST_PAUSE_MS),
  });
  #sparesFrom = -Infinity;

  constructor(options: RegistryHttpOptions) {
    this.#options = options;
    this.#clock = options.clock;
    this.#base = new URL(options.baseUrl);
  }

  /**
   * Returns an answer with status 2xx or 404, after several tries if necessary. Limits concurrent requests. After a
   * 429, all requests wait until the pause is over. Rejects with UNAVAILABLE REGISTRY_UNAVAILABLE if the tries fail,
   * and with FAILED_PRECONDITION DOWNLOAD_REFUSED for other statuses.
   */
  async ask(url: URL, signal: AbortSignal | undefined, headers: Headers): Promise<Response> {
    const end = this.#clock.now() + PATIENCE_MS;
    for (let tries = 1; ; tries++) {
      await this.#rest(url, end, signal);
      const answer = await this.#attempt(url, signal, headers);
      if (answer instanceof Response) return answer;
      const pauseMs = Math.max(answer.pauseMs, FIRST_PAUSE_MS * 2 ** (tries - 1) * (0.75 + Math.random() / 2));
      const again = this.#clock.now() + pauseMs;
      if (answer.busy) this.#busyUntil.set(url.origin, Math.max(again, this.#busyUntil.get(url.origin) ?? 0));
      if (tries === TRIES || again > end) throw this.unavailable(answer.why, pauseMs, answer.cause);
      await sleep(this.#clock, pauseMs, signal);
    }
  }

  /**
   * Returns the ms until optional requests, such as searches, are allowed again. They are refused while little of the
   * registry's rate limit is left.
   */
  sparesMs(): number {
    return Math.max(0, this.#sparesFrom - this.#clock.now());
  }

  /** Returns UNAVAILABLE REGISTRY_UNAVAILABLE. `why` completes a sentence about the registry. */
  unavailable(why: string, pauseMs: number, cause?: unknown): StatusError {
    const sentence = `${this.#options.name} ${why}. Try again later.`;
    const retryAfterSeconds = Math.max(1, Math.ceil(pauseMs / 1_000));
    return new StatusError('UNAVAILABLE', 'REGISTRY_UNAVAILABLE', sentence, { retryAfterSeconds, cause });
  }

  #busyMs({ origin }: URL): number {
    return (this.#busyUntil.get(origin) ?? 0) - this.#clock.now();
  }

  /** Waits while the registry refuses requests, according to an earlier answer. */
  async #rest(url: URL, end: number, signal: AbortSignal | undefined): Promise<void> {
    for (;;) {
      signal?.throwIfAborted();
      const ms = this.#busyMs(url);
      if (ms <= 0) return;
      if (this.#clock.now() + ms > end) throw this.unavailable(BUSY, ms);
      await sleep(this.#clock, ms, signal);
    }
  }

  async #attempt(
    url: URL,
    signal: AbortSignal | undefined,
    headers: Headers,
  ): Promise<Response | { why: string; pauseMs: number; busy?: boolean; cause?: unknown }> {
    let response: Response;
    const leave = await this.#questions.enter({ key: '' }, signal);
    try {
      // A request ahead in the queue was answered with 429.
      if (this.#busyMs(url) > 0) return { why: BUSY, pauseMs: this.#busyMs(url) };
      response = await this.#follow(url, signal, headers);
    } catch (cause) {
      signal?.throwIfAborted();
      if (cause instanceof StatusError) throw cause;
      return { why: 'does not respond', pauseMs: 0, cause };
    } finally {
      leave();
    }
    const { status } = response;
    if (url.origin === this.#base.origin) this.#count(response);
    if (response.ok || status === 404) return response;
    await response.body?.cancel();
    if (status === 429) return { why: BUSY, pauseMs: retryAfterMs(response.headers), busy: true };
    if (status >= 500) return { why: `answers with status ${status}`, pauseMs: retryAfterMs(response.headers) };
    throw refused(`${this.#options.name} refused the request with status ${status}.`, url);
  }

  /** Reads Modrinth's rate-limit headers (https://docs.modrinth.com/api/#ratelimits). */
  #count({ headers }: Response): void {
    const [limit, left, resetSeconds] = ['limit', 'remaining', 'reset'].map((each) => {
      return Number(headers.get(`x-ratelimit-${each}`) ?? Number.NaN);
    }) as [number, number, number];
    if (left < limit * KEPT) this.#sparesFrom = this.#clock.now() + Math.min(resetSeconds || 0, 600) * 1_000;
  }

  /** Follows redirects, but only to allowed hosts. */
  async #follow(from: URL, signal: AbortSignal | undefined, headers: Headers): Promise<Response> {
    const { name, fetch = globalThis.fetch } = this.#options;
    let url = from;
    for (let hops = 0; hops <= MAX_REDIRECTS; hops++) {
      if (!this.#isAllowed(url)) throw refused(`${name} links to a host that does not belong to it: ${url.host}.`, url);
      const waiting = withLimit(signal);
      let response: Response;
      try {
        response = await fetch(url, {
          signal: waiting.signal,
          redirect: 'manual',
          headers: { ...this.#headersFor(url), ...headers },
        });
      } finally {
        waiting.end();
      }
      const location = response.headers.get('location');
      if (response.status < 300 || response.status > 399 || location === null) return response;
      await response.body?.cancel();
      if (!URL.canParse(location, url.href)) throw refused(`${name} redirects to an invalid address.`, url);
      url = new URL(location, url);
    }
    throw refused(`${name} redirects too often.`, from);
  }

  /** Returns all headers, including keys, for the registry itself, and only the user agent for other hosts. */
  #headersFor(url: URL): Record<string, string> {
    const { headers } = this.#options;
    return url.origin === this.#base.origin ? { ...headers } : { 'user-agent': headers['user-agent'] ?? 'dormouse' };
  }

  #isAllowed(url: URL): boolean {
    if (url.username !== '' || url.password !== '') return false;
    if (url.origin === this.#base.origin) return true;
    return url.protocol === 'https:' && url.port === '' && this.#options.fileHosts.includes(url.hostname);
  }
}

/** Limits the time until an answer begins. Its body has its own limit. */
function withLimit(signal: AbortSignal | undefined): { signal: AbortSignal; end: () => void } {
  const limit = new AbortController();
  const timer = setTimeout(() => limit.abort(new Error('no answer in time')), ANSWER_MS);
  return { signal: signal ? AbortSignal.any([signal, limit.signal]) : limit.signal, end: () => clearTimeout(timer) };
}

export function refused(sentence: string, url?: URL): StatusError {
  const metadata = url && { host: url.host };
  return new StatusError('FAILED_PRECONDITION', 'DOWNLOAD_REFUSED', sentence, { ...(metadata && { metadata }) });
}

/** Longest pause, so that one header cannot block a registry for a day. */
const MOST_MS = 600_000;

/**
 * Reads Retry-After (RFC 9110 §10.2.3), as seconds or a date, and Modrinth's own header. Returns 0 without one, at most
 * ten minutes.
 */
export function retryAfterMs(headers: globalThis.Headers): number {
  const text = headers.get('retry-after') ?? headers.get('x-ratelimit-reset') ?? '';
  if (/^\d{1,6}$/.test(text)) return Math.min(Number(text) * 1_000, MOST_MS);
  const until = Date.parse(text) - Date.parse(headers.get('date') ?? '');
  return Number.isNaN(until) ? 0 : Math.min(Math.max(0, until), MOST_MS);
}
