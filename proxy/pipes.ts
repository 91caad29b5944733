import { setTimeout as delay } from 'node:timers/promises';
import type { Pipe } from './pipe.ts';
import type { Player } from './ports.ts';

/** The players who are joined to a game, by server. */
export class Pipes {
  readonly #pipes = new Map<Pipe, { serverId: string; player: Player }>();
  readonly #counts = new Map<string, number>();
  #bytesUp = 0;
  #bytesDown = 0;

  /** Keeps `pipe` until it is closed. */
  add(serverId: string, player: Player, pipe: Pipe): void {
    this.#pipes.set(pipe, { serverId, player });
    this.#counts.set(serverId, this.count(serverId) + 1);
    void pipe.closed.then(() => this.#remove(serverId, pipe));
  }

  count(serverId: string): number {
    return this.#counts.get(serverId) ?? 0;
  }

  /** Who is joined to this server's game. */
  players(serverId: string): Player[] {
    return [...this.#pipes.values()].filter((pipe) => pipe.serverId === serverId).map(({ player }) => player);
  }

  /** Bytes in all, those of closed pipes included. */
  stats(): { piped: number; bytesUp: number; bytesDown: number } {
    let [bytesUp, bytesDown] = [this.#bytesUp, this.#bytesDown];
    for (const pipe of this.#pipes.keys()) {
      bytesUp += pipe.bytesUp();
      bytesDown += pipe.bytesDown();
    }
    return { piped: this.#pipes.size, bytesUp, bytesDown };
  }

  /** Resolves when all are closed, by themselves or after `drainMs`. */
  async drain(drainMs: number): Promise<void> {
    const all = Promise.all([...this.#pipes.keys()].map((pipe) => pipe.closed));
    if (drainMs > 0 && this.#pipes.size > 0) await Promise.race([all, delay(drainMs, undefined, { ref: false })]);
    for (const pipe of this.#pipes.keys()) pipe.destroy();
    await all;
  }

  #remove(serverId: string, pipe: Pipe): void {
    this.#pipes.delete(pipe);
    this.#bytesUp += pipe.bytesUp();
    this.#bytesDown += pipe.bytesDown();
    const left = this.count(serverId) - 1;
    if (left > 0) this.#counts.set(serverId, left);
    else this.#counts.delete(serverId);
  }
}
