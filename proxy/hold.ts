import { setTimeout as delay } from 'node:timers/promises';
import { Beats } from './beats.ts';
import type { Context } from './context.ts';
import { PeerGone } from './inbox.ts';
import { Kick } from './kick.ts';
import type { Release } from './limits.ts';
import { type Address, type InLine, JoinRefused, type Player, type Route } from './ports.ts';
import type { ClientConnection } from './client-connection.ts';

/**
 * Names that games accept: printable ASCII. Proxies for Bedrock players prefix names (`.`, `*`) and may keep spaces.
 * The game decides about such names.
 */
const NAME = /^(?! +$)[ -~]{1,16}$/;

/**
 * One player's wait for a server. Beats keep the client connected. The wait ends when the player leaves, the proxy
 * closes or time is up. Pending and later calls then reject with Kick, PeerGone or ProtocolError.
 */
export class Hold {
  readonly #connection: ClientConnection;
  readonly #player: Player;
  readonly #context: Context;
  #cancelLimit: () => void = () => {};
  #silence: NodeJS.Timeout | undefined;
  /** Created on first use, because most players do not wait. */
  #beats: Beats | undefined;
  #reason: unknown;
  #interrupt: ((reason: unknown) => void) | undefined;
  #playerGone: AbortController | undefined;
  #release: Release | undefined;

  constructor(connection: ClientConnection, player: Player, context: Context) {
    this.#connection = connection;
    this.#player = player;
    this.#context = context;
    connection.onClosing = () => this.leave(new Kick('closing'));
    if (context.closing.aborted) connection.onClosing();
  }

  get isOver(): boolean {
    return this.#reason !== undefined;
  }

  /** Throws the reason if the wait is over. */
  throwIfOver(): void {
    if (this.#reason !== undefined) throw this.#reason;
  }

  /**
   * Requests a wake from the service and waits for the game, once `begin` has shown that the player can wait. The
   * default `begin` sends beats, so that the client does not give up. With `notify`, which receives the place in the
   * queue, the player may wait in the queue too.
   */
  async wake(
    route: Route,
    begin = (): Promise<void> => this.#beginBeats(route),
    notify?: InLine['notify'],
  ): Promise<Address> {
    const { limiter, timings, wake, counters } = this.#context;
    if (!NAME.test(this.#player.name)) throw new Kick('badName');
    this.#release = limiter.hold(this.#connection.ip, route.serverId);
    if (!this.#release) throw new Kick('busy');
    counters.held++;
    this.#limitTime(timings.maxHoldMs);
    await begin();
    this.throwIfOver();
    this.#playerGone = new AbortController();
    try {
      const inLine = notify && this.#inLine(notify);
      return await this.during(wake.wake(route.serverId, this.#player, this.#playerGone.signal, inLine));
    } catch (error) {
      this.throwIfOver();
      if (error instanceof JoinRefused) throw new Kick('refused', { text: error.text, cause: error });
      throw new Kick('failed', { cause: error });
    }
  }

  /** Resolves when no answer of the client is outstanding. */
  async settle(): Promise<void> {
    if (this.#beats) await this.during(this.#beats.settle());
  }

  /** Waits, and keeps the client connected with beats. */
  pause(ms: number): Promise<void> {
    this.#kept().start();
    return this.during(delay(ms, undefined, { ref: false }));
  }

  /** Resolves with the result of `work`, unless the wait ends first. Only one call at a time. */
  during<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#interrupt = reject;
      if (this.#reason !== undefined) reject(this.#reason);
      work.then(resolve, reject);
    });
  }

  /** Ends the wait. Unless `served`, the service is notified that the player has left. */
  end(served: boolean): void {
    this.#beats?.stop();
    this.#connection.onClosing = () => undefined;
    if (this.#release) this.#context.counters.held--;
    this.#release?.();
    const reason = this.#reason;
    const comesBack = reason instanceof Kick && reason.rule === 'comeBack';
    clearTimeout(this.#silence);
    // A player who was asked to come back still counts as waiting, until `maxHoldMs`.
    if (!comesBack) this.#cancelLimit();
    if (!served && !comesBack) this.#playerGone?.abort(reason ?? new PeerGone());
  }

  /** Restarts the time limit when the place in the queue becomes null, so that the start itself gets the full time. */
  #inLine(notify: InLine['notify']): InLine {
    let last: number | null = null;
    return {
      waitedMs: 0,
      notify: (place) => {
        if (place === null && last !== null && !this.isOver) this.#limitTime(this.#context.timings.maxHoldMs);
        notify((last = place));
      },
    };
  }

  #limitTime(ms: number): void {
    this.#cancelLimit();
    const { clock } = this.#context;
    this.#cancelLimit = clock.at(clock.now() + ms, () => this.leave(new Kick('tooLong')));
  }

  async #beginBeats(route: Route): Promise<void> {
    const beats = this.#kept();
    if (beats.kind === 'none') {
      // The player is asked to come back, so the service is not notified that the player leaves.
      const { silentHoldMs } = this.#context.timings;
      this.#silence = setTimeout(() => this.#stop(new Kick('comeBack')), silentHoldMs);
    }
    beats.listen();
    await this.#plausible(route, beats);
    beats.start();
  }

  /**
   * Filters out scanners, which send a Login Start and leave. A player's client answers, or at least stays connected.
   */
  async #plausible(route: Route, beats: Beats): Promise<void> {
    if (beats.kind === 'pluginRequest') await this.during(beats.challenge());
    else if (route.state !== 'starting')
      await this.during(delay(this.#context.timings.dwellMs, undefined, { ref: false }));
  }

  #kept(): Beats {
    const { socket, inbox } = this.#connection;
    const { protocol } = this.#player;
    const { timings } = this.#context;
    return (this.#beats ??= new Beats({ socket, inbox, protocol, timings, onGone: (reason) => this.leave(reason) }));
  }

  /** Ends the wait because the player has left or must leave. */
  leave(reason: unknown): void {
    this.#stop(reason);
    this.#playerGone?.abort(reason);
  }

  #stop(reason: unknown): void {
    this.#reason ??= reason;
    this.#interrupt?.(this.#reason);
  }
}
