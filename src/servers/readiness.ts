import type { StartupPhase } from '../../machines/server-types.ts';
import { EngineError, type Exit, type Game, type Listeners, type PublishedPort } from '../engines/engine.ts';
import { createBootLog } from '../game/boot-log.ts';
import { hasManagement, managementSecret } from '../game/management-settings.ts';
import type { Address } from '../kernel/address.ts';
import { every } from '../kernel/every.ts';
import { sleep } from '../kernel/sleep.ts';
import { StatusError } from '../kernel/status.ts';
import type { GameAccess } from './effect-host.ts';
import type { ServerRow } from './rows.ts';
import { usualStartMs } from './server-now.ts';
import { keptText } from './run-log.ts';

/** Interval of status requests to a starting game. */
const PING_EVERY_MS = 500;
const PING_TIMEOUT_MS = 2_000;
/** RCON opens after the world is loaded; earlier attempts only fill the game's log. */
const CONSOLE_EVERY_MS = 3_000;
/** The management port opens before the world is loaded, and requests leave no trace. */
const MANAGEMENT_EVERY_MS = 1_000;
/** Delay before an interrupted log is read again. */
const LOG_RETRY_MS = 1_000;
/** Number of lines stored for a diagnosis, which reads no more. */
const KEPT_LINES = 2_000;

/** Created once: without a reason, each abort creates an error with a stack. */
const READY = new Error('the game is ready, or will not be');

/** The game ended before it was ready. */
export class GameEnded extends Error {
  readonly exit: Exit | null;
  readonly lines: string[];
  constructor(exit: Exit | null, lines: string[]) {
    super('the game ended before it was ready');
    this.name = 'GameEnded';
    this.exit = exit;
    this.lines = lines;
  }
}

/** Whether the error's failure already explains everything. */
export function isExplained(error: unknown): boolean {
  return error instanceof GameEnded || error instanceof EngineError || error instanceof StatusError;
}

/** A start in progress. */
interface Start {
  row: ServerRow;
  rconPassword: string;
  /** The last log line before this boot. Earlier runs' output must not count. */
  after: string | undefined;
  game: Game;
  /** The server's published ports. */
  published: readonly PublishedPort[];
  /** When the start was requested, or when its downloads ended; the base of the percentage. */
  since: number;
  progress: (phase: StartupPhase, percent: number) => void;
  /** Called for each line of the log. */
  logged: () => void;
}

/**
 * Resolves once the game accepts players: on the first of a status answer, a console answer, its own `Done` line, or a
 * report of its management port. An open port alone proves nothing, because games listen before their world is loaded.
 * Answers of other programs do not count. Rejects with GameEnded, with EngineError if players can never join, or with
 * the reason of `signal`.
 */
export async function untilReady(games: GameAccess, start: Start, signal: AbortSignal): Promise<void> {
  const over = new AbortController();
  const within = AbortSignal.any([signal, over.signal]);
  const ports = new OwnPorts(games, start);
  try {
    await Promise.race([
      readLog(games, start, within).then(() => ports.untilItListens(within)),
      pingUntilAnswered(games, start, ports, within),
      askConsole(games, start, ports, within),
      askManagement(games, start, ports, within),
      ports.untilWrong(within),
    ]);
  } finally {
    over.abort(READY);
  }
}

async function readLog({ engine, clock }: GameAccess, start: Start, signal: AbortSignal): Promise<void> {
  const { row, after, since, progress, logged } = start;
  const bootLog = createBootLog({ core: row.type, expectedMs: usualStartMs(row) ?? null, startedAt: since });
  const lines: string[] = [];
  let shown = '';
  const show = (at: number) => {
    const { phase, percent } = bootLog.progress(at);
    if (shown === `${phase} ${percent}`) return;
    shown = `${phase} ${percent}`;
    progress(phase, percent);
  };
  const stopTicking = every(clock, 1_000, () => !signal.aborted && show(clock.now()));
  try {
    for (let position = after; ; await sleep(clock, LOG_RETRY_MS, signal)) {
      for await (const line of engine.logs(row.id, { after: position, follow: true, signal })) {
        position = line.position;
        logged();
        lines.push(keptText(line.text));
        if (lines.length > KEPT_LINES * 2) lines.splice(0, KEPT_LINES);
        bootLog.read(line.text, clock.now());
        show(clock.now());
        if (bootLog.ready) return;
      }
      signal.throwIfAborted();
      const game = await engine.inspect(row.id);
      if (!game?.up) throw new GameEnded(game?.exit ?? null, lines.slice(-KEPT_LINES));
      // The log ended before the game, for example because the engine went away and came back. Continue at the last
      // position.
    }
  } finally {
    stopTicking();
  }
}

async function pingUntilAnswered(
  { pinger, clock }: GameAccess,
  { game }: Start,
  ports: OwnPorts,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    if (game.game !== null) {
      const status = await pinger.status(game.game, PING_TIMEOUT_MS).catch(() => undefined);
      if (status !== undefined && (await ports.owns(game.game))) return;
    }
    await sleep(clock, PING_EVERY_MS, signal);
  }
}

async function askConsole(
  { console, clock }: GameAccess,
  { game, rconPassword }: Start,
  ports: OwnPorts,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    await sleep(clock, CONSOLE_EVERY_MS, signal);
    // Send the password only to this game. A program that accepts commands elsewhere accepts no players here either.
    if (game.rcon === null || !(await areOwn(ports, game.rcon, game.game))) continue;
    const reply = await console.run(game.rcon, rconPassword, 'list').catch(() => undefined);
    if (reply !== undefined) return;
  }
}

async function askManagement(
  { management, clock }: GameAccess,
  { row, game, rconPassword }: Start,
  ports: OwnPorts,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    await sleep(clock, MANAGEMENT_EVERY_MS, signal);
    if (game.management === null || !hasManagement(row)) continue;
    if (!(await areOwn(ports, game.management, game.game))) continue;
    if (await management.started(game.management, managementSecret(rconPassword)).catch(() => false)) return;
  }
}

async function areOwn(ports: OwnPorts, ...addresses: readonly (Address | null)[]): Promise<boolean> {
  for (const address of addresses) if (address !== null && !(await ports.owns(address))) return false;
  return true;
}

const LOOK_EVERY_MS = 3_000;
/** Longest time between the game's ready message and its first open port. */
const LISTEN_WITHIN_MS = 30_000;
const LISTEN_EVERY_MS = 500;
const LISTENER_PING_MS = 1_000;
/** Limit on a game's open ports that are pinged in search of the players' port. */
const MOST_PINGED = 8;

/**
 * Distinguishes a game from other programs that answer at its address, on engines whose games share this machine's
 * addresses.
 */
class OwnPorts {
  readonly #games: GameAccess;
  readonly #game: Game;
  /** Ports that the game uses, or that its owner has opened, for other purposes than players. */
  readonly #others: ReadonlySet<number | undefined>;

  constructor(games: GameAccess, { game, published }: Start) {
    this.#games = games;
    this.#game = game;
    const opened = published.map(({ containerPort }) => containerPort);
    this.#others = new Set([game.rcon?.port, game.management?.port, ...opened]);
  }

  /** Whether the program listening at the address is the game. */
  async owns({ port }: Address): Promise<boolean> {
    const listeners = await this.#listeners();
    return listeners === undefined || listeners.own.includes(port);
  }

  /**
   * Resolves once the game, which has reported that it is ready, listens on the players' port. Rejects with EngineError
   * `wrong_port`.
   */
  async untilItListens(signal: AbortSignal): Promise<void> {
    const { clock } = this.#games;
    const { game: address } = this.#game;
    if (address === null) return;
    for (const end = clock.now() + LISTEN_WITHIN_MS; !(await this.owns(address));) {
      if (clock.now() >= end)
        throw wrongPort(`The game reports that it is ready, but it does not listen on port ${address.port}.`);
      await sleep(clock, LISTEN_EVERY_MS, signal);
    }
  }

  /**
   * Rejects with EngineError once players can never join: `wrong_port` if the game accepts them on another port,
   * `port_in_use` if another program listens on its own. Never resolves.
   */
  async untilWrong(signal: AbortSignal): Promise<never> {
    for (;;) {
      await sleep(this.#games.clock, LOOK_EVERY_MS, signal);
      const listeners = await this.#listeners();
      if (listeners === undefined || this.#game.game === null) continue;
      const { port } = this.#game.game;
      if (listeners.taken.includes(port)) throw taken(port);
      if (listeners.own.includes(port)) continue;
      const other = await this.#elsewhere(listeners, this.#game.game);
      if (other !== undefined) throw wrongPort(`The game listens on port ${other} instead of ${port}.`);
    }
  }

  async #listeners(): Promise<Listeners | undefined> {
    return await this.#games.engine.listeners?.(this.#game.serverId).catch(() => undefined);
  }

  /** Returns another port on which the game accepts players. */
  async #elsewhere({ own }: Listeners, { host, port }: Address): Promise<number | undefined> {
    const unknown = own.filter((each) => each !== port && !this.#others.has(each)).slice(0, MOST_PINGED);
    for (const other of unknown) {
      const address = { host, port: other };
      const answer = await this.#games.pinger.status(address, LISTENER_PING_MS).catch(() => undefined);
      if (answer) return other;
    }
    return undefined;
  }
}

function wrongPort(message: string): EngineError {
  return new EngineError('wrong_port', message, {
    suggestion:
      'The game must use the port in server-port of server.properties, or in the environment variable SERVER_PORT.',
  });
}

function taken(port: number): EngineError {
  const message = `Another program on this machine already listens on port ${port}, which the game needs.`;
  return new EngineError('port_in_use', message, { suggestion: 'Start the server again. It gets another port.' });
}
