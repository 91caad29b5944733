import type { Clock } from '../clock.ts';
import { retryAfterMs } from '../retry-after.ts';
import { createSemaphore } from '../limits/semaphore.ts';
import { sleep } from '../sleep.ts';
import { StatusError } from '../status.ts';

export interface RegistryHttpOptions {
  /** As people call it: `Modrinth`. */
  name: string;
  /** Where its API answers. Its host may serve files too, so that a mirror needs no other. */
  baseUrl: string;
  /** Further hosts that files may come from, by https. */
  fileHosts: readonly string[];
  headers: Readonly<Record<string, string>>;
  /** The reason that callers are told for a file which is there no longer. */
  goneReason: string;
  clock: Clock;
  fetch?: typeof globalThis.fetch;
}

/** Questions to a registry that may be asked again. */
export interface RegistryAsk {
  /**
   * The answer, with status 2xx or 404. One that was asked too often is left alone by everybody until it has had its rest,
   * and no more than some questions wait for an answer at once.
   */
  ask(url: URL, signal: AbortSignal | undefined, accept: string): Promise<Response>;
  /** How long it takes until the registry takes questions again that nothing depends on: it counts them. In ms. */
  sparesMs(): number;
  /** UNAVAILABLE REGISTRY_UNAVAILABLE. */
  unavailable(why: string, pauseMs: number, cause?: unknown): StatusError;
}

const ANSWER_MS = 15_000;
/** All tries of one question together. */
const PATIENCE_MS = 30_000;
const TRIES = 5;
const FIRST_PAUSE_MS = 500;
const MAX_REDIRECTS = 3;
/** Questions of everybody that wait for the beginning of an answer, and those behind them. */
const AT_ONCE = 16;
const MOST_WAITING = 512;
/** Of the questions a registry takes in a while, the share that is kept for what installs and starts need. */
const KEPT = 1 / 3;
const BUSY = 'is asked too often';

export function createRegistryAsk(options: RegistryHttpOptions): RegistryAsk {
  const { name, clock, headers, fetch = globalThis.fetch } = options;
  const base = new URL(options.baseUrl);
  /** By origin: its files may come from elsewhere than its answers. */
  const busyUntil = new Map<string, number>();
  const questions = createSemaphore({
    atOnce: AT_ONCE,
    mostWaiting: MOST_WAITING,
    full: () => unavailable('has too many questions waiting', FIRST_PAUSE_MS),
  });
  let sparesFrom = -Infinity;

  /** Keys and the like go to the registry alone. */
  function headersFor(url: URL): Record<string, string> {
    return url.origin === base.origin ? { ...headers } : { 'user-agent': headers['user-agent'] ?? 'dormouse' };
  }

  function isAllowed(url: URL): boolean {
    if (url.username !== '' || url.password !== '') return false;
    if (url.origin === base.origin) return true;
    return url.protocol === 'https:' && url.port === '' && options.fileHosts.includes(url.hostname);
  }

  async function ask(url: URL, signal: AbortSignal | undefined, accept: string): Promise<Response> {
    const end = clock.now() + PATIENCE_MS;
    for (let tries = 1; ; tries++) {
      await rest(url, end, signal);
      const answer = await attempt(url, signal, accept);
      if (answer instanceof Response) return answer;
      const pauseMs = Math.max(answer.pauseMs, FIRST_PAUSE_MS * 2 ** (tries - 1) * (0.75 + Math.random() / 2));
      if (answer.busy) busyUntil.set(url.origin, Math.max(clock.now() + pauseMs, busyUntil.get(url.origin) ?? 0));
      if (tries === TRIES || clock.now() + pauseMs > end) throw unavailable(answer.why, pauseMs, answer.cause);
      await sleep(clock, pauseMs, signal);
    }
  }

  function busyMs({ origin }: URL): number {
    return (busyUntil.get(origin) ?? 0) - clock.now();
  }

  /** Waits while the registry, by an earlier answer, wants no calls. */
  async function rest(url: URL, end: number, signal: AbortSignal | undefined): Promise<void> {
    for (;;) {
      signal?.throwIfAborted();
      const ms = busyMs(url);
      if (ms <= 0) return;
      if (clock.now() + ms > end) throw unavailable(BUSY, ms);
      await sleep(clock, ms, signal);
    }
  }

  async function attempt(
    url: URL,
    signal: AbortSignal | undefined,
    accept: string,
  ): Promise<Response | { why: string; pauseMs: number; busy?: boolean; cause?: unknown }> {
    let response: Response;
    const leave = await questions.enter({ key: '' }, signal);
    try {
      // Somebody further ahead in the line has been told to wait.
      if (busyMs(url) > 0) return { why: BUSY, pauseMs: busyMs(url) };
      response = await follow(url, signal, accept);
    } catch (cause) {
      signal?.throwIfAborted();
      if (cause instanceof StatusError) throw cause;
      return { why: 'does not answer', pauseMs: 0, cause };
    } finally {
      leave();
    }
    const { status } = response;
    if (url.origin === base.origin) count(response);
    if (response.ok || status === 404) return response;
    await response.body?.cancel();
    if (status === 429) return { why: BUSY, pauseMs: retryAfterMs(response), busy: true };
    if (status >= 500) return { why: `answers with status ${status}`, pauseMs: retryAfterMs(response) };
    throw refused(`${name} refuses the question with status ${status}.`, url);
  }

  /** Modrinth's own headers (https://docs.modrinth.com/api/#ratelimits). */
  function count({ headers }: Response): void {
    const [limit, left, resetSeconds] = ['limit', 'remaining', 'reset'].map((each) => {
      return Number(headers.get(`x-ratelimit-${each}`) ?? Number.NaN);
    }) as [number, number, number];
    if (left < limit * KEPT) sparesFrom = clock.now() + Math.min(resetSeconds || 0, 600) * 1_000;
  }

  /** Redirects only to where a file may come from. */
  async function follow(from: URL, signal: AbortSignal | undefined, accept: string): Promise<Response> {
    let url = from;
    for (let hops = 0; hops <= MAX_REDIRECTS; hops++) {
      if (!isAllowed(url)) throw refused(`${name} names a host that is none of its own: ${url.host}.`, url);
      const waiting = withLimit(signal);
      let response: Response;
      try {
        response = await fetch(url, {
          signal: waiting.signal,
          redirect: 'manual',
          headers: { ...headersFor(url), accept },
        });
      } finally {
        waiting.end();
      }
      const location = response.headers.get('location');
      if (response.status < 300 || response.status > 399 || location === null) return response;
      await response.body?.cancel();
      if (!URL.canParse(location, url.href)) throw refused(`${name} redirects to no address.`, url);
      url = new URL(location, url);
    }
    throw refused(`${name} redirects too often.`, from);
  }

  /** Bounds the time until an answer begins; its body has a bound of its own. */
  function withLimit(signal: AbortSignal | undefined): { signal: AbortSignal; end: () => void } {
    const limit = new AbortController();
    const timer = setTimeout(() => limit.abort(new Error('no answer in time')), ANSWER_MS);
    return { signal: signal ? AbortSignal.any([signal, limit.signal]) : limit.signal, end: () => clearTimeout(timer) };
  }

  function unavailable(why: string, pauseMs: number, cause?: unknown): StatusError {
    const sentence = `${name} ${why}. Try again later.`;
    const retryAfterSeconds = Math.max(1, Math.ceil(pauseMs / 1_000));
    return new StatusError('UNAVAILABLE', 'REGISTRY_UNAVAILABLE', sentence, { retryAfterSeconds, cause });
  }

  return { ask, sparesMs: () => Math.max(0, sparesFrom - clock.now()), unavailable };
}

export function refused(sentence: string, url?: URL): StatusError {
  const metadata = url && { host: url.host };
  return new StatusError('FAILED_PRECONDITION', 'DOWNLOAD_REFUSED', sentence, { ...(metadata && { metadata }) });
}
