import type { Clock } from './client-connection.ts';
import type { Log } from './ports.ts';

/** Pause between two attempts to open a port that is taken. */
const RETRY_MS = 1_000;
/** The proxy that this one replaces frees a port within as many attempts. */
const QUIET_ATTEMPTS = 5;

/**
 * The ports at which fronts find their private backends. Each is open, or is tried again until it is: another program
 * may hold it, or the proxy that this one replaces. Proxies don't share these ports, unlike the public one, because
 * another installation on this machine may use the same ones.
 */
export class PrivatePorts {
  readonly #open: (port: number, closed: AbortSignal) => Promise<void>;
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #wanted = new Map<number, AbortController>();
  #isClosed = false;

  /** `open` resolves once the port is open, and closes it when `closed` fires, then or later. */
  constructor(open: (port: number, closed: AbortSignal) => Promise<void>, log: Log, clock: Clock) {
    this.#open = open;
    this.#log = log;
    this.#clock = clock;
  }

  /** Opens these ports and closes all others. */
  set(ports: ReadonlySet<number>): void {
    if (this.#isClosed) return;
    for (const port of ports) {
      if (this.#wanted.has(port)) continue;
      const closed = new AbortController();
      this.#wanted.set(port, closed);
      void this.#keep(port, closed.signal, 1);
    }
    for (const [port, closed] of this.#wanted) {
      if (ports.has(port)) continue;
      this.#wanted.delete(port);
      closed.abort();
    }
  }

  /** Closes all ports for good. */
  close(): void {
    this.set(new Set());
    this.#isClosed = true;
  }

  async #keep(port: number, closed: AbortSignal, attempt: number): Promise<void> {
    try {
      await this.#open(port, closed);
      if (attempt > QUIET_ATTEMPTS) this.#log.info({ port }, 'the private port of a server is open');
    } catch (err) {
      if (closed.aborted) return;
      if (attempt === QUIET_ATTEMPTS)
        this.#log.warn({ err, port }, 'the private port of a server is taken; trying again every second');
      const cancel = this.#clock.at(this.#clock.now() + RETRY_MS, () => {
        closed.removeEventListener('abort', cancel);
        void this.#keep(port, closed, attempt + 1);
      });
      closed.addEventListener('abort', cancel, { once: true });
    }
  }
}
