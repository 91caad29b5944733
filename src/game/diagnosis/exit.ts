/** Findings from a game's exit in addition to its log. */
import type { Exit } from '../../engines/engine.ts';
import type { GameLine } from './line.ts';
import { outOfMemory } from './machine.ts';
import type { DiagnosisContext, Finding } from './rule.ts';

/** 128 + the signal's number, as shells and container engines report it. */
const KILLED = 137;
const TERMINATED = 143;
/** Exit codes of an abort (SIGABRT) and of an invalid memory access (SIGSEGV). Java may end with either. */
const CRASHED = new Set([134, 139]);
/** The image's runner reports a game killed by a signal as −1, which arrives as 255. */
const ENDED_BY_SIGNAL = 255;

const RUNNER_KILLS = /^.{0,120}Took too long, so killing server process/;
const RUNNER_EXIT = /"exitCode": ?(-?\d{1,3})/;

function killedByStop(code: number): Finding {
  return {
    code: 'killed_by_stop',
    subject: '',
    title: 'Killed',
    detail: `The game was killed before it had finished (exit code ${code}).`,
    suggestion:
      code === KILLED
        ? 'Start it again and check the world. Unless someone ended it, it probably ran out of memory: give the server more, or ask the operator whether the machine has enough.'
        : 'Start it again. If the last stop was cut short, check the world.',
  };
}

function crashed(code: number): Finding {
  return {
    code: 'java_crashed',
    subject: '',
    title: 'Java crashed',
    detail: `The program that runs the game crashed (exit code ${code}).`,
    suggestion: 'Start it again. If that does not help, remove the last addition, or use another version of Java.',
  };
}

/**
 * Returns the findings of an exit: `certain` ones rank before everything in the log, `likely` ones after the causes
 * named in the log.
 */
export function exitFindings(
  log: readonly GameLine[],
  exit: Exit | null,
  context: DiagnosisContext,
): { certain: Finding[]; likely: Finding[] } {
  if (!exit) return { certain: [], likely: [] };
  if (exit.oomKilled)
    return {
      certain: [outOfMemory(`The game needed more than the server's ${context.ramMb} MB and was killed.`, context)],
      likely: [],
    };
  if (exit.code === KILLED || exit.code === TERMINATED) return { certain: [], likely: [killedByStop(exit.code)] };
  if (CRASHED.has(exit.code ?? 0)) return { certain: [], likely: [crashed(exit.code ?? 0)] };
  if (exit.code !== ENDED_BY_SIGNAL || context.phase === 'install') return { certain: [], likely: [] };
  if (log.some((line) => RUNNER_KILLS.test(line.text))) return { certain: [], likely: [killedByStop(exit.code)] };
  // The runner logs 255 for a Java that itself exited with -1, and -1 for one ended by a signal.
  const byItself = log.some((line) => RUNNER_EXIT.exec(line.text)?.[1] === '255');
  if (byItself) return { certain: [], likely: [] };
  return {
    certain: [],
    likely: [
      outOfMemory(
        `The system killed the game, most likely because it used all of the server's ${context.ramMb} MB.`,
        context,
      ),
    ],
  };
}

/** An exception's first line; its class name ends in Exception or Error. */
const EXCEPTION =
  /^(?:Caused by: |Exception in thread "[^"]{1,80}" )?((?:[\w$]{1,80}\.){1,12}[\w$]{0,80}(?:Exception|Error)(?:: .{1,200})?)/;

/** A line of a stack trace with the jar of its class, as log4j writes it. */
const FRAME = /^\s{1,8}at .{1,300}? ~?\[([\p{L}\p{N}_ .()+'&,[\]-]{1,120}\.jar)[^\]]{0,120}\]/u;
/** Jars of the game, its loaders and their libraries. */
const OF_THE_GAME =
  /^(?:paper|purpur|pufferfish|leaf|folia|spigot|craftbukkit|server|minecraft|forge|neoforge|fmlloader|fmlcore|javafmllanguage|fabric-(?:loader|server)|quilt-loader|sponge-mixin|mixin|modlauncher|bootstraplauncher|securejarhandler|eventbus|mohist|arclight|magma|ketting|authlib|brigadier|datafixerupper|netty|guava|gson|log4j|asm|client|srg)\b/i;
/** Limit of lines below an exception that belong to its trace. */
export const TRACE_LINES = 120;

/** Returns the last exception in a log, and the jar of a mod or plugin that the last traces lead to; '' without one. */
export function lastException(log: readonly GameLine[]): { named: string; jar: string } {
  const traces = log.flatMap((line, at) => (line.source === 'plain' && EXCEPTION.test(line.text) ? [at] : []));
  const named = EXCEPTION.exec(log[traces.at(-1) ?? -1]?.text ?? '')?.[1] ?? '';
  // Traces overlap. Each line is matched once.
  const known = new Map<number, string | undefined>();
  const jarAt = (at: number): string | undefined => {
    if (!known.has(at)) known.set(at, FRAME.exec(log[at]?.text ?? '')?.[1]);
    return known.get(at);
  };
  const jar = traces
    .toReversed()
    .slice(0, 10)
    .map((at) => jarInTrace(log, at, jarAt))
    .find((each) => each !== undefined);
  return { named, jar: jar ?? '' };
}

/** Returns the jar of a mod or plugin in the trace of an exception, nearest to the innermost cause. */
function jarInTrace(
  log: readonly GameLine[],
  exceptionAt: number,
  jarAt: (at: number) => string | undefined,
): string | undefined {
  for (let at = exceptionAt + 1; at < exceptionAt + TRACE_LINES; at += 1) {
    if (log[at]?.source !== 'plain') return undefined;
    const jar = jarAt(at);
    if (jar !== undefined && !OF_THE_GAME.test(jar)) return jar;
  }
  return undefined;
}

/** Returns the fallback finding: how the game ended and the last exception in its log, if any. */
export function unknownFinding(log: readonly GameLine[], exit: Exit | null, context: DiagnosisContext): Finding {
  const { named, jar } = lastException(log);
  if (jar !== '' && context.phase !== 'install') {
    return {
      code: 'mod_crashed',
      subject: jar,
      title: 'Crashed in a mod or plugin',
      detail: `${how(exit, context)}; the error comes from ${jar}${named ? `: ${named}` : ''}.`,
      suggestion: `Update ${jar} to a build for Minecraft ${context.version}, or remove it, then start again.`,
    };
  }
  return {
    code: 'unknown',
    subject: '',
    title: context.phase === 'install' ? 'Installation failed' : title(exit),
    detail: `${how(exit, context)}${named ? `; last seen: ${named}` : ' and its log names no cause'}.`,
    suggestion: 'Check the last lines of the log. Undo the last change, if any, and try again.',
  };
}

function title(exit: Exit | null): string {
  if (exit === null) return 'Not ready';
  return exit.code === 0 ? 'Stopped on its own' : 'Crashed';
}

function how(exit: Exit | null, context: DiagnosisContext): string {
  const what = context.phase === 'install' ? 'The installation' : 'The game';
  if (exit === null) return `${what} did not finish`;
  return exit.code === null ? `${what} ended` : `${what} ended with exit code ${exit.code}`;
}
