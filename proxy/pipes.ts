import { setTimeout as delay } from 'node:timers/promises';
import type { Pipe } from './pipe.ts';
import type { Joined, Log, Player, Presence } from './ports.ts';
import { spanText } from './text.ts';

const NOBODY: Joined = { inside: 0, knocking: 0 };

/** Bytes that show that a game has accepted a player: more than a refusal, and less than the first data of a join. */
const LET_IN_BYTES = 4 * 1024;
/** Games end a login that takes longer than 30 s. After this time, a connected player has been accepted. */
const LOGIN_MS = 35_000;

interface Kept {
  serverId: string;
  player: Player;
  /** Monotonic ms. */
  openedAt: number;
}

/** The players joined to a game, by server. */
export class Pipes {
  readonly #presence: Presence | undefined;
  readonly #log: Log;
  readonly #now: () => number;
  readonly #pipes = new Map<Pipe, Kept>();
  /** Pipes whose players the game may not have accepted yet. */
  readonly #knocking = new Map<Pipe, Kept>();
  readonly #joined = new Map<string, Joined>();
  readonly #drained: (() => void)[] = [];
  #bytesUp = 0;
  #bytesDown = 0;

  constructor({ presence, log, now }: { presence: Presence | undefined; log: Log; now: () => number }) {
    this.#presence = presence;
    this.#log = log;
    this.#now = now;
  }

  /** Stores `pipe` until it closes. */
  add(serverId: string, player: Player, pipe: Pipe): void {
    const kept = { serverId, player, openedAt: this.#now() };
    this.#pipes.set(pipe, kept);
    this.#knocking.set(pipe, kept);
    this.#change(serverId, { inside: 0, knocking: 1 });
    pipe.onceClosed(() => this.#remove(serverId, pipe));
  }

  count(serverId: string): number {
    const { inside, knocking } = this.#joined.get(serverId) ?? NOBODY;
    return inside + knocking;
  }

  /** Detects newly accepted players, and ends stalled pipes. Called about once a second. */
  sweep(): void {
    for (const [pipe, kept] of this.#knocking) this.#look(pipe, kept);
    const at = this.#now();
    for (const pipe of this.#pipes.keys()) pipe.check(at);
  }

  /** Returns the players connected to this server's game. */
  players(serverId: string): Player[] {
    return [...this.#pipes.values()].filter((pipe) => pipe.serverId === serverId).map(({ player }) => player);
  }

  /** Disconnects the players of this server at this address. */
  kick(serverId: string, ip: string): void {
    for (const [pipe, kept] of this.#pipes) if (kept.serverId === serverId && kept.player.ip === ip) pipe.destroy();
  }

  /** Returns the number of open pipes, and the total bytes of open and closed ones. */
  stats(): { piped: number; bytesUp: number; bytesDown: number } {
    let [bytesUp, bytesDown] = [this.#bytesUp, this.#bytesDown];
    for (const pipe of this.#pipes.keys()) {
      bytesUp += pipe.bytesUp;
      bytesDown += pipe.bytesDown;
    }
    return { piped: this.#pipes.size, bytesUp, bytesDown };
  }

  /** Resolves when all pipes have closed. Closes the remaining ones after `drainMs`. */
  async drain(drainMs: number): Promise<void> {
    if (this.#pipes.size === 0) return;
    const all = new Promise<void>((resolve) => this.#drained.push(resolve));
    if (drainMs > 0) await Promise.race([all, delay(drainMs, undefined, { ref: false })]);
    for (const pipe of this.#pipes.keys()) pipe.destroy();
    await all;
  }

  #remove(serverId: string, pipe: Pipe): void {
    const knocking = this.#knocking.get(pipe);
    if (knocking) this.#look(pipe, knocking);
    const left = this.#knocking.delete(pipe) ? { inside: 0, knocking: -1 } : { inside: -1, knocking: 0 };
    this.#tellLeft(this.#pipes.get(pipe), left.inside < 0);
    this.#pipes.delete(pipe);
    this.#bytesUp += pipe.bytesUp;
    this.#bytesDown += pipe.bytesDown;
    this.#change(serverId, left);
    if (this.#pipes.size === 0) for (const resolve of this.#drained.splice(0)) resolve();
  }

  #tellLeft(kept: Kept | undefined, wasIn: boolean): void {
    if (!kept) return;
    const { serverId, player, openedAt } = kept;
    const playedMs = Math.round(this.#now() - openedAt);
    const fields = { server: serverId, player: player.name, playedMs };
    if (wasIn) this.#log.info(fields, `${player.name} left ${serverId} after ${spanText(playedMs)}`);
    else this.#log.debug(fields, `${player.name} left before the game of ${serverId} accepted the login`);
  }

  #look(pipe: Pipe, { serverId, player, openedAt }: Kept): void {
    const bytes = pipe.bytesDown;
    const isIn = bytes >= LET_IN_BYTES || (bytes > 0 && this.#now() - openedAt >= LOGIN_MS);
    if (!isIn) return;
    this.#knocking.delete(pipe);
    this.#log.info({ server: serverId, player: player.name }, `${player.name} joined ${serverId}`);
    this.#change(serverId, { inside: 1, knocking: -1 });
  }

  #change(serverId: string, by: Joined): void {
    const { inside, knocking } = this.#joined.get(serverId) ?? NOBODY;
    const joined = { inside: inside + by.inside, knocking: knocking + by.knocking };
    if (joined.inside + joined.knocking > 0) this.#joined.set(serverId, joined);
    else this.#joined.delete(serverId);
    this.#presence?.changed(serverId, joined);
  }
}
