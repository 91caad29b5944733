import type { StartupPhase } from '../../machines/server-types.ts';
import type { Console } from '../engines/console/console.ts';
import type { Management } from '../engines/console/management-port.ts';
import type { Engine, Exit, Game, PublishedPort } from '../engines/engine.ts';
import type { Pinger } from '../engines/pinger.ts';
import { createBootLog } from '../game/boot-log.ts';
import { hasManagement, managementSecret } from '../game/management-settings.ts';
import type { Address } from '../kernel/address.ts';
import type { Clock } from '../kernel/clock.ts';
import { sleep } from '../kernel/sleep.ts';
import { type OwnPorts, createOwnPorts } from './own-ports.ts';
import type { ServerRow } from './rows.ts';
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

export interface Waiting {
  engine: Engine;
  pinger: Pinger;
  console: Console;
  management: Management;
  clock: Clock;
  row: ServerRow;
  rconPassword: string;
  /** The last log line before this boot. Earlier runs' output must not count. */
  after: string | undefined;
  game: Game;
  /** The server's published ports. */
  published: readonly PublishedPort[];
  /** When the start was requested; the base of the percentage. */
  since: number;
  progress: (phase: StartupPhase, percent: number) => void;
  /** Called for each line of the log. */
  logged: () => void;
  signal: AbortSignal;
}

/**
 * Resolves once the game accepts players: on the first of a status answer, a console answer, its own `Done` line, or a
 * report of its management port. An open port alone proves nothing, because games listen before their world is loaded.
 * Answers of other programs do not count. Rejects with GameEnded, with EngineError if players can never join, or with
 * the reason of `signal`.
 */
export async function untilReady(waiting: Waiting): Promise<void> {
  const over = new AbortController();
  const signal = AbortSignal.any([waiting.signal, over.signal]);
  const { published } = waiting;
  const ports = createOwnPorts({ ...waiting, published: published.map(({ containerPort }) => containerPort) });
  try {
    await Promise.race([
      readLog(waiting, signal).then(() => ports.untilItListens(signal)),
      pingUntilAnswered(waiting, ports, signal),
      askConsole(waiting, ports, signal),
      askManagement(waiting, ports, signal),
      ports.untilWrong(signal),
    ]);
  } finally {
    over.abort(READY);
  }
}

async function readLog(waiting: Waiting, signal: AbortSignal): Promise<void> {
  const { engine, clock, row, after, since, progress, logged } = waiting;
  const bootLog = createBootLog({ core: row.type, expectedMs: median(row.coldStartsMs), startedAt: since });
  const lines: string[] = [];
  let shown = '';
  const show = (at: number) => {
    const { phase, percent } = bootLog.progress(at);
    if (shown === `${phase} ${percent}`) return;
    shown = `${phase} ${percent}`;
    progress(phase, percent);
  };
  const ticking = tick(clock, signal, () => show(clock.now()));
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
    ticking();
  }
}

async function pingUntilAnswered(
  { pinger, clock, game }: Waiting,
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
  { console, clock, game, rconPassword }: Waiting,
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

async function askManagement(waiting: Waiting, ports: OwnPorts, signal: AbortSignal): Promise<void> {
  const { management, clock, row, game, rconPassword } = waiting;
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

/** Calls `each` once a second until cancelled or aborted. Returns the cancellation. */
function tick(clock: Clock, signal: AbortSignal, each: () => void): () => void {
  let cancel = () => {};
  const next = () => {
    if (signal.aborted) return;
    each();
    cancel = clock.at(clock.now() + 1_000, next);
  };
  cancel = clock.at(clock.now() + 1_000, next);
  return () => cancel();
}

function median(values: number[]): number | null {
  if (values.length === 0) return null;
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? null;
}
