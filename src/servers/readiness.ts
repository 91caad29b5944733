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

/** Between two status requests to a game that is starting. */
const PING_EVERY_MS = 500;
const PING_TIMEOUT_MS = 2_000;
/** RCON opens after the world is there; asking earlier only fills the game's log. */
const CONSOLE_EVERY_MS = 3_000;
/** The management port opens before the world is there, and a question leaves no trace. */
const MANAGEMENT_EVERY_MS = 1_000;
/** Before a log that broke off is read on. */
const LOG_RETRY_MS = 1_000;
/** As many of the newest lines as a diagnosis reads. */
const KEPT_LINES = 2_000;

/** Made once: an abort makes an error with a stack of its own where it is given none. */
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
  /** The last log line before this boot; what an earlier run printed says nothing of this one. */
  after: string | undefined;
  game: Game;
  /** Given to the outside. */
  published: readonly PublishedPort[];
  /** When the start was asked for, to reckon the percentage by. */
  since: number;
  progress: (phase: StartupPhase, percent: number) => void;
  /** Called for each line of the log. */
  logged: () => void;
  signal: AbortSignal;
}

/**
 * Resolves when the game can take players: the first of a status answer, a console answer, its own `Done` line and what its
 * management port says. An open port alone proves nothing, because games listen before their world is loaded; and an answer
 * counts only where it is the game that gives it. Rejects with GameEnded, with EngineError where players can never come in,
 * or as `signal` says.
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
      // The log ended before the game did, as when the engine went away and came back: it is taken up where it broke off.
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
    // The password goes only to our own game. A program that accepts commands elsewhere accepts no players here either.
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

/** Calls once a second until cancelled or aborted. */
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
