import { FrameReader, encodeFrame, encodeString, readFrame } from './codec.ts';
import { FRAME_BYTES, STATUS_JSON_UNITS, type StatusAnswer } from './ping.ts';

export interface LiveStatusOptions {
  /** How long an answer, or the lack of one, counts as current. */
  freshMs: number;
  /** Maximum age of an answer used in place of one that failed. */
  staleMs: number;
  /** Most entries stored. The least recently used is evicted first. A game over its own limit loses its own entries. */
  maxEntries: number;
  maxEntriesPerGame: number;
  maxBytes: number;
  /** Most concurrent requests to one game. */
  maxAsked: number;
  now: () => number;
}

/** A game's answer. To save memory, its JSON is stored only inside the frame sent to clients. */
export interface LiveAnswer extends Omit<StatusAnswer, 'raw' | 'tail'> {
  frame: Buffer;
}

interface Entry {
  askedAt: number;
  answer: LiveAnswer | undefined;
  answeredAt: number;
  pending: Promise<LiveAnswer | undefined> | undefined;
}

/** The answers of one game by protocol and host name, in order of last use. The games are in order of last use, too. */
type Game = Map<string, Entry>;

/** The last status answers of running games. Concurrent requests for the same answer query the game once. */
export class LiveStatus {
  readonly #options: LiveStatusOptions;
  readonly #games = new Map<string, Game>();
  #entries = 0;
  #bytes = 0;

  constructor(options: LiveStatusOptions) {
    this.#options = options;
  }

  /**
   * Resolves with a game's current answer under `key`, else with the result of `ask`, else with a stale answer. Skips
   * `ask` while too many requests to the game are pending. Resolves with undefined if there is no usable answer. Never
   * rejects.
   */
  async get(game: string, key: string, ask: () => Promise<StatusAnswer>): Promise<LiveAnswer | undefined> {
    const at = this.#options.now();
    this.#dropStale(at);
    const known = this.#used(game);
    const entry = this.#entry(known, key);
    if (entry.pending) return entry.pending;
    const isFresh = at - entry.askedAt < this.#options.freshMs;
    if (!isFresh && pendingOf(known) < this.#options.maxAsked) {
      entry.askedAt = at;
      entry.pending = this.#refresh(game, entry, ask);
    }
    this.#keepWithin(game);
    return entry.pending ?? this.#usable(entry);
  }

  /** Bytes stored. */
  get bytes(): number {
    return this.#bytes;
  }

  async #refresh(game: string, entry: Entry, ask: () => Promise<StatusAnswer>): Promise<LiveAnswer | undefined> {
    try {
      const { raw, tail, ...answer } = await ask();
      const before = entry.answer;
      entry.answer = { ...answer, frame: encodeFrame(0, encodeString(raw), tail) };
      entry.answeredAt = this.#options.now();
      if (this.#holds(game, entry)) this.#bytes += sizeOf(entry.answer) - sizeOf(before);
    } catch {
      // If a game is too busy to answer, its last answer is used until it is stale.
    } finally {
      entry.pending = undefined;
    }
    const answer = this.#usable(entry);
    this.#keepWithin(game);
    return answer;
  }

  #usable(entry: Entry): LiveAnswer | undefined {
    return this.#options.now() - entry.answeredAt < this.#options.staleMs ? entry.answer : undefined;
  }

  #used(game: string): Game {
    const known = this.#games.get(game) ?? new Map<string, Entry>();
    // The insertion order serves as the order of last use.
    this.#games.delete(game);
    this.#games.set(game, known);
    return known;
  }

  #entry(game: Game, key: string): Entry {
    const known = game.get(key);
    const entry = known ?? { askedAt: -Infinity, answer: undefined, answeredAt: -Infinity, pending: undefined };
    if (known === undefined) this.#entries += 1;
    game.delete(key);
    game.set(key, entry);
    return entry;
  }

  #holds(game: string, entry: Entry): boolean {
    return [...(this.#games.get(game)?.values() ?? [])].includes(entry);
  }

  /** Drops stale answers without recent requests. */
  #dropStale(at: number): void {
    for (const [name, game] of this.#games) {
      for (const [key, { askedAt, pending }] of game) {
        if (pending || at - askedAt < this.#options.staleMs) return;
        this.#drop(name, key);
      }
    }
  }

  #keepWithin(game: string): void {
    const { maxEntries, maxEntriesPerGame, maxBytes } = this.#options;
    const own = this.#games.get(game);
    if (own && own.size > maxEntriesPerGame) this.#dropFirst(game);
    while (this.#entries > maxEntries || this.#bytes > maxBytes) {
      const [oldest] = this.#games.keys();
      if (oldest === undefined) return;
      this.#dropFirst(oldest);
    }
  }

  #dropFirst(game: string): void {
    const [first] = this.#games.get(game)?.keys() ?? [];
    if (first === undefined) this.#games.delete(game);
    else this.#drop(game, first);
  }

  #drop(name: string, key: string): void {
    const game = this.#games.get(name);
    const entry = game?.get(key);
    if (!game || !entry) return;
    game.delete(key);
    this.#entries -= 1;
    this.#bytes -= sizeOf(entry.answer);
    if (game.size === 0) this.#games.delete(name);
  }
}

/** Returns the status JSON as the game sent it. */
export function jsonOf({ frame }: LiveAnswer): string {
  const whole = readFrame(frame, FRAME_BYTES);
  if (!whole) return '{}';
  const reader = new FrameReader(whole.value);
  reader.varInt();
  return reader.string(STATUS_JSON_UNITS);
}

function sizeOf(answer: LiveAnswer | undefined): number {
  return answer?.frame.length ?? 0;
}

function pendingOf(game: Game): number {
  let pending = 0;
  for (const entry of game.values()) if (entry.pending) pending += 1;
  return pending;
}
