import { done } from '../api.ts';
import { DORMOUSE } from '../called.ts';
import { type Command, type Context, command, flag, on, option } from '../command.ts';
import { failed, interrupted } from '../errors.ts';
import { duration, relative, stateWord, words } from '../format.ts';
import { spanSeconds } from '../parse.ts';
import { SERVER, type Server, read } from '../shapes.ts';
import type { Terminal } from '../terminal.ts';
import { type Seen, untilSettled } from '../waiting.ts';

const WAIT_UNTIL_AWAKE = flag('Wait until players can join, and show the progress.', 'w');

const WARN = option('duration', 'If players are online, warn them and wait this long, at most 10min.');

/** The states in which `start --wait` and `restart --wait` end. */
const STARTED = new Set(['running', 'start_failed', 'install_failed', 'hibernated']);

/** `dormouse start`. */
export const start: Command = command({
  usage: 'start <id>',
  summary: 'Wake a server.',
  options: { wait: WAIT_UNTIL_AWAKE },
  details: 'A server also wakes when someone joins it. Ctrl-C ends the wait, and the start continues.',
  run: (context, [id = ''], { wait }) => wake(context, id, 'start', wait),
});

/** `dormouse restart`. */
export const restart: Command = command({
  usage: 'restart <id>',
  summary: 'Restart a running server.',
  options: { wait: WAIT_UNTIL_AWAKE, warn: WARN },
  run: (context, [id = ''], { wait, warn }) => wake(context, id, 'restart', wait, warn),
});

/** `dormouse stop`. */
export const stop: Command = command({
  usage: 'stop <id>',
  summary: 'Save a server and put it to sleep.',
  options: { wait: flag('Wait until it sleeps.', 'w'), warn: WARN },
  async run(context, [id = ''], { wait, warn }) {
    const first = await send(context, id, 'stop', warn);
    if (!wait) return print(context, first);
    const last = await awaited(
      context,
      first,
      'stopping',
      (server) => server.state !== 'stopping' && !isAnnounced(server),
    );
    if (['starting', 'running'].includes(last.server.state)) {
      throw failed('WOKEN_AGAIN', `${id} stopped, but was woken again.`, { server: id });
    }
    return print(context, last);
  },
});

/** `dormouse kill`. */
export const kill: Command = command({
  usage: 'kill <id>',
  summary: 'End a server without saving, for example if its start or stop hangs.',
  async run(context, [id = '']) {
    print(context, await send(context, id, 'kill'));
  },
});

/** `dormouse install-retry`. */
export const installRetry: Command = command({
  usage: 'install-retry <id>',
  summary: 'Retry a failed installation.',
  options: { wait: flag('Wait until it is installed.', 'w') },
  async run(context, [id = ''], { wait }) {
    const first = await send(context, id, 'retryInstall');
    if (!wait) return print(context, first);
    const last = await awaited(context, first, 'installing', ({ state }) => state !== 'installing');
    if (last.server.state === 'install_failed') throw notStarted(last.server);
    return print(context, last);
  },
});

async function wake(
  context: Context,
  id: string,
  verb: 'start' | 'restart',
  wait = false,
  warn?: string,
): Promise<void> {
  const first = await send(context, id, verb, warn);
  if (!wait) return print(context, first);
  const isSettled = (server: Server) => STARTED.has(server.state) && !isAnnounced(server);
  const last = await awaited(context, first, 'starting', isSettled, startProgress(context.terminal));
  if (last.server.state !== 'running') throw notStarted(last.server);
  print(context, last);
}

type Verb = 'start' | 'restart' | 'stop' | 'kill' | 'retryInstall';

/** Whether players are warned, and the server has not begun to stop. */
const isAnnounced = ({ stopsAt }: Server) => stopsAt !== '';

async function send({ api }: Context, id: string, verb: Verb, warn?: string): Promise<Seen> {
  const body = warn === undefined ? {} : { warnSeconds: spanSeconds('warn', warn) };
  const reply = await done(api.POST(`/v1/servers/{id}:${verb}`, { ...on(id), body }));
  return { reply, server: read(SERVER, reply) };
}

/** Waits until a server is settled, and shows its states meanwhile. `action` describes what Ctrl-C leaves running. */
async function awaited(
  context: Context,
  first: Seen,
  action: string,
  settled: (server: Server) => boolean,
  progress = ({ id, state }: Server) => context.terminal.progress(`${id}: ${words(state)}`),
): Promise<Seen> {
  try {
    return await untilSettled(context, first, settled, context.json ? () => {} : progress);
  } catch (error) {
    if (!context.signal.aborted) throw error;
    throw interrupted(`${first.server.id} continues ${action}. Watch it with: ${DORMOUSE} machine ${first.server.id}`);
  } finally {
    context.terminal.clear();
  }
}

/** Prints the state of a server, with the next step. */
function print({ json, document, terminal: { out } }: Context, { reply, server }: Seen): void {
  if (json) return document(reply);
  const { id, state, addr, startErrorSummary, stopsAt, stopIsRestart } = server;
  const word = stateWord(state, out);
  // With such an error, for example a suspension, the other hints do not apply.
  if (startErrorSummary !== '') return out.line(`${id} is ${word}. ${startErrorSummary}`);
  if (isAnnounced(server)) {
    const when = relative(stopsAt, Date.now());
    return out.line(`${id} ${stopIsRestart ? 'restarts' : 'stops'} ${when}. Cancel with: ${DORMOUSE} start ${id}`);
  }
  if (state === 'running') return out.line(`${id} is ${word}. Join it at ${out.style('bold', addr)}`);
  if (state === 'starting') return out.line(`${id} is ${word}. Players can join at ${out.style('bold', addr)}.`);
  if (state === 'hibernated') return out.line(`${id} is asleep. Joining ${out.style('bold', addr)} wakes it.`);
  return out.line(`${id} is ${word}.`);
}

function notStarted(server: Server): Error {
  const { id, state, startErrorCode, startErrorSummary, startErrorSuggestion } = server;
  const metadata = { server: id, state, startErrorCode, startErrorSummary, startErrorSuggestion };
  if (state === 'hibernated') return failed('STOPPED', `${id} was stopped while it was starting.`, metadata);
  if (state === 'install_failed') {
    const again = `Retry with: ${DORMOUSE} install-retry ${id}`;
    return failed('INSTALL_FAILED', `${sentences(`${id} is not installed`, server, 'install')}\n  ${again}`, metadata);
  }
  return failed('START_FAILED', sentences(`${id} did not start`, server, 'start'), metadata);
}

function sentences(what: string, server: Server, kind: 'install' | 'start'): string {
  const lines = [server[`${kind}ErrorSummary`], server[`${kind}ErrorSuggestion`]].filter((line) => line !== '');
  return [`${what}: ${lines[0] ?? 'unknown cause. Check the log.'}`, ...lines.slice(1)].join('\n  ');
}

const BAR_COLUMNS = 24;
/** Percent between lines without a terminal, to keep a build's log short. */
const PLAIN_STEP = 10;

/** Shows the progress of a start: one redrawn line on a terminal, otherwise a line per phase and per ten percent. */
function startProgress(terminal: Terminal): (server: Server) => void {
  const begun = Date.now();
  return ({ id, state, startupPhase, startupItem, startupPercent, startErrorCode }) => {
    const isLost = startErrorCode === 'node_lost';
    const step = words((state === 'starting' && startupPhase) || state);
    const phase = isLost ? 'its machine does not respond' : `${step} ${startupItem}`.trim();
    const seconds = Math.floor((Date.now() - begun) / 1000);
    const percent = startupPercent > 0 ? `${String(startupPercent).padStart(3)} %` : '';
    const tens = startupPercent - (startupPercent % PLAIN_STEP);
    terminal.progress(
      [id, bar(startupPercent, terminal), percent, phase, duration(seconds)].filter((part) => part !== '').join('  '),
      `${id}: ${phase}${tens > 0 ? ` ${tens} %` : ''}`,
    );
  };
}

function bar(percent: number, { err }: Terminal): string {
  const filled = Math.round((Math.min(100, Math.max(0, percent)) / 100) * BAR_COLUMNS);
  return err.style('green', '█'.repeat(filled)) + err.style('dim', '░'.repeat(BAR_COLUMNS - filled));
}
