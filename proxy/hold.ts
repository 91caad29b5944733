import { setTimeout as delay } from 'node:timers/promises';
import { Beats } from './beats.ts';
import type { Context } from './context.ts';
import { PeerGone } from './inbox.ts';
import { Kick } from './kick.ts';
import type { Release } from './limits.ts';
import { type Address, JoinRefused, type Player, type Route } from './ports.ts';
import type { ClientConnection } from './client-connection.ts';

export const LEGAL_NAME = /^[A-Za-z0-9_]{1,16}$/;

/**
 * One player's waiting: kept alive by beats, and over as soon as the player leaves, the proxy closes or time is up.
 * Whatever is awaited through it then rejects with the reason: Kick, PeerGone or ProtocolError.
 */
export class Hold {
  readonly #connection: ClientConnection;
  readonly #player: Player;
  readonly #context: Context;
  readonly #beats: Beats;
  readonly #over = new AbortController();
  readonly #playerGone = new AbortController();
  readonly #timers: NodeJS.Timeout[] = [];
  #release: Release | undefined;

  constructor(connection: ClientConnection, player: Player, context: Context) {
    this.#connection = connection;
    this.#player = player;
    this.#context = context;
    const { socket, inbox } = connection;
    const { timings } = context;
    this.#beats = new Beats({ socket, inbox, protocol: player.protocol, timings, onGone: this.#leave });
    context.closing.addEventListener('abort', this.#onClosing);
    if (context.closing.aborted) this.#onClosing();
  }

  /** Aborted when the waiting is over. */
  get signal(): AbortSignal {
    return this.#over.signal;
  }

  /** Asks the service, once the player has shown that it can wait, and waits for the game. */
  async wake(route: Route): Promise<Address> {
    const { limiter, timings, wake, counters } = this.#context;
    if (!LEGAL_NAME.test(this.#player.name)) throw new Kick('badName');
    this.#release = limiter.hold(this.#connection.ip, route.serverId);
    if (!this.#release) throw new Kick('busy');
    counters.held++;
    this.#timers.push(setTimeout(() => this.#leave(new Kick('tooLong')), timings.maxHoldMs));
    if (this.#beats.kind === 'none') {
      // The player is told to come back, so the service is not told that it has gone.
      this.#timers.push(setTimeout(() => this.#over.abort(new Kick('comeBack')), timings.silentHoldMs));
    }
    this.#beats.listen();
    await this.#plausible(route);
    this.#beats.start();
    try {
      return await this.#during(wake.wake(route.serverId, this.#player, this.#playerGone.signal));
    } catch (error) {
      this.signal.throwIfAborted();
      if (error instanceof JoinRefused) throw new Kick('refused', { text: error.text, cause: error });
      throw new Kick('failed', { cause: error });
    }
  }

  /** Resolves when no answer of the client is outstanding. */
  settle(): Promise<void> {
    return this.#during(this.#beats.settle());
  }

  /** Waits, with beats. */
  pause(ms: number): Promise<void> {
    this.#beats.start();
    return this.#during(delay(ms, undefined, { ref: false }));
  }

  /** Ends the waiting. Unless `served`, the service is told that the player has gone. */
  end(served: boolean): void {
    this.#beats.stop();
    this.#context.closing.removeEventListener('abort', this.#onClosing);
    if (this.#release) this.#context.counters.held--;
    this.#release?.();
    const { reason } = this.signal;
    const comesBack = reason instanceof Kick && reason.rule === 'comeBack';
    // A player who was asked to come back still waits for the server, until `maxHoldMs`.
    if (comesBack) this.#timers[0]?.unref();
    else for (const timer of this.#timers) clearTimeout(timer);
    if (!served && !comesBack) this.#playerGone.abort(reason ?? new PeerGone());
  }

  /**
   * Tells players from scanners, which send a Login Start and move on: a player's client answers, or at least stays.
   */
  async #plausible(route: Route): Promise<void> {
    if (this.#beats.kind === 'pluginRequest') await this.#during(this.#beats.challenge());
    else if (route.state !== 'starting')
      await this.#during(delay(this.#context.timings.dwellMs, undefined, { ref: false }));
  }

  #during<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const onOver = (): void => reject(this.signal.reason);
      this.signal.addEventListener('abort', onOver, { once: true });
      if (this.signal.aborted) onOver();
      void work.then(resolve, reject).finally(() => this.signal.removeEventListener('abort', onOver));
    });
  }

  readonly #leave = (reason: unknown): void => {
    this.#over.abort(reason);
    this.#playerGone.abort(reason);
  };

  readonly #onClosing = (): void => this.#leave(new Kick('closing'));
}
