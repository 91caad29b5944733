import { type Address, type InLine, JoinRefused, type Player } from '../ports.ts';
import { TEXTS } from '../texts.ts';
import { type FromProxy, MOST_WAKES } from './messages.ts';

interface WaitingWake {
  server: string;
  player: Player;
  inLine: InLine | undefined;
  /** The place last reported. */
  place: number | null;
  /** Epoch ms. */
  askedAt: number;
  /** Cancels the time-out that runs while the service is away. */
  cancel: (() => void) | undefined;
  settle(outcome: Address | Error): void;
}

/** How long a player waits each time the service is away. */
const PATIENCE_MS = 10 * 60_000;

/** The wakes that players of this proxy wait for. They survive reconnections to the service. */
export class Wakes {
  readonly #send: (message: FromProxy) => void;
  readonly #now: () => number;
  readonly #after: typeof inRealTime;
  readonly #waiting = new Map<number, WaitingWake>();
  #last = 0;

  /** `send` sends a message if the service is connected. `now`: epoch ms. */
  constructor(send: (message: FromProxy) => void, now: () => number, after = inRealTime) {
    this.#send = send;
    this.#now = now;
    this.#after = after;
  }

  /** Same as `Wake.wake`. Sends the wake at once if the service is connected. */
  add(
    { server, player, inLine }: { server: string; player: Player; inLine: InLine | undefined },
    signal: AbortSignal,
    isConnected: boolean,
  ): Promise<Address> {
    return new Promise((resolve, reject) => {
      signal.throwIfAborted();
      if (this.#waiting.size >= MOST_WAKES) throw new JoinRefused(TEXTS.busy);
      const id = ++this.#last;
      const onAbort = (): void => {
        this.#send({ type: 'cancel', id });
        wake.settle(signal.reason as Error);
      };
      const wake: WaitingWake = {
        server,
        player,
        inLine,
        place: null,
        askedAt: this.#now() - (inLine?.waitedMs ?? 0),
        cancel: undefined,
        settle: (outcome) => {
          wake.cancel?.();
          signal.removeEventListener('abort', onAbort);
          this.#waiting.delete(id);
          if (outcome instanceof Error) reject(outcome);
          else resolve(outcome);
        },
      };
      signal.addEventListener('abort', onAbort, { once: true });
      this.#waiting.set(id, wake);
      if (isConnected) this.#ask(id, wake);
      else this.#beginPatience(wake);
    });
  }

  settle(id: number, outcome: Address | Error): void {
    this.#waiting.get(id)?.settle(outcome);
  }

  /** Reports the wake's place in the queue, as in `InLine`. */
  place(id: number, place: number | null): void {
    const wake = this.#waiting.get(id);
    if (wake) notify(wake, place);
  }

  /** Sends all wakes again after the service has returned. */
  askAll(): void {
    for (const [id, wake] of this.#waiting) this.#ask(id, wake);
  }

  /** Starts the time-out of all wakes after the service has gone. */
  missAll(): void {
    for (const wake of this.#waiting.values()) this.#beginPatience(wake);
  }

  #ask(id: number, wake: WaitingWake): void {
    wake.cancel?.();
    wake.cancel = undefined;
    const { server, player, inLine, askedAt } = wake;
    const waitedMs = inLine && Math.max(0, this.#now() - askedAt);
    this.#send({ type: 'wake', id, server, player, waitedMs });
  }

  #beginPatience(wake: WaitingWake): void {
    wake.cancel ??= this.#after(PATIENCE_MS, () => wake.settle(new JoinRefused(TEXTS.away)));
    if (wake.place !== null) notify(wake, 0);
  }
}

function notify(wake: WaitingWake, place: number | null): void {
  wake.place = place;
  wake.inLine?.notify(place);
}

/** Calls `fire` once after `ms`. Returns a function that cancels it. Does not keep the process alive. */
export function inRealTime(ms: number, fire: () => void): () => void {
  const timer = setTimeout(fire, ms).unref();
  return () => clearTimeout(timer);
}
