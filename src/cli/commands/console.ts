import { type Interface, clearScreenDown, createInterface, cursorTo, moveCursor } from 'node:readline';
import { type Api, done } from '../api.ts';
import { DORMOUSE } from '../called.ts';
import { type Command, type Context, command, on } from '../command.ts';
import { CommandError } from '../errors.ts';
import { errorLines, stateWord } from '../format.ts';
import { ASLEEP, followLog } from '../log.ts';
import { COMMAND, read } from '../shapes.ts';
import { consoleText, logLine } from '../text.ts';
import { readServer } from '../waiting.ts';

const BACKLOG = 50;
const LEAVE = new Set(['exit', 'quit']);

/** `dormouse console`. */
export const interactive: Command = command({
  usage: 'console <id>',
  summary: "Open a server's console: its live log and a command line.",
  details: `Ctrl-C, Ctrl-D or exit leaves the console; the server keeps running. While it sleeps, type start to wake it. The arrow
keys recall earlier commands, which are stored next to your keys, readable by you only. A line that begins with a space is not
stored.

Without a terminal, reads commands from standard input and prints the game's replies:
  echo list | ${DORMOUSE} console castle`,
  run: (context, [id = '']) =>
    context.input.isTTY && context.terminal.out.isTerminal ? atTerminal(context, id) : fromInput(context, id),
});

/** `dormouse say`. */
export const say: Command = command({
  usage: 'say <id> <text…>',
  summary: 'Send a chat message to all players of a running server.',
  async run({ api, json, document, terminal: { out } }, [id = '', ...words]) {
    const text = words.join(' ');
    const { reply, answer } = await ran(api, id, `say ${text}`, out.colours);
    if (json) return document(reply);
    out.line(answer || `Sent to ${id}: ${text}`);
  },
});

/** Runs a console command. Returns the reply with the game's answer, '' if it has none. */
async function ran(api: Api, id: string, command: string, colours = false) {
  const reply = await done(api.POST('/v1/servers/{id}:command', { ...on(id), body: { command } }));
  return { reply, answer: consoleText(read(COMMAND, reply, (text) => text).output, colours).trimEnd() };
}

/** Runs every line as a command. Ends at the first one that the service refuses. */
async function fromInput({ api, json, input, signal, terminal: { out, err } }: Context, id: string): Promise<void> {
  const lines = createInterface({ input, signal });
  for await (const line of lines) {
    const typed = line.trim();
    if (typed === '') continue;
    const { reply, answer } = await ran(api, id, typed, out.colours);
    if (json) out.line(JSON.stringify({ command: typed, ...reply }));
    else if (answer !== '') out.line(answer);
    else if (err.isTerminal) err.line(`No reply from ${id} to ${typed}`);
  }
  signal.throwIfAborted();
}

async function atTerminal(context: Context, id: string): Promise<void> {
  const { terminal, signal, history, apiUntil } = context;
  const { out } = terminal;
  const { server } = await readServer(context.api, id);
  const leave = new AbortController();
  const until = AbortSignal.any([signal, leave.signal]);
  const api = apiUntil(leave.signal);
  let saved = Promise.resolve();
  const screen = openScreen(context, id, await history.load(), (lines) => {
    const now = [...lines];
    saved = saved.then(() => history.save(now));
  });
  const dim = (sentence: string) => screen.above(out.style('dim', `— ${sentence}`));
  dim(`${id} is ${stateWord(server.state, out)}. Ctrl-C leaves the console.`);
  let failure: unknown;
  const asleep = `${id} is asleep. Type start to wake it and follow its log.`;
  const showLog = async () => {
    const follow = { api, id, tail: BACKLOG, note: dim, signal: until, asleep };
    for await (const line of followLog(follow)) screen.above(logLine(line, out.colours));
  };
  const shown = showLog().catch((error: unknown) => {
    if (!until.aborted) failure = error;
    screen.close();
  });
  try {
    for await (const line of screen.lines) {
      if (LEAVE.has(line.trim())) break;
      await answered(context, api, id, line.trim(), screen.above, until);
      screen.prompt();
    }
  } finally {
    leave.abort();
    screen.close();
    await Promise.all([shown, saved]);
  }
  if (failure !== undefined) throw failure as Error;
}

/** Runs a command and shows its result or the service's refusal. Shows nothing once `until` has fired. */
async function answered(
  { terminal: { out } }: Context,
  api: Api,
  id: string,
  typed: string,
  above: (text: string) => void,
  until: AbortSignal,
): Promise<void> {
  if (typed === '') return;
  try {
    if (typed === 'start' && ASLEEP.has((await readServer(api, id)).server.state)) {
      await done(api.POST('/v1/servers/{id}:start', { ...on(id), body: {} }));
      return above(out.style('dim', `— ${id} is waking. Its log follows.`));
    }
    const { answer } = await ran(api, id, typed, out.colours);
    above(answer || out.style('dim', '— No reply.'));
  } catch (error) {
    if (until.aborted) return;
    if (!(error instanceof CommandError)) throw error;
    for (const line of errorLines(error, out)) above(line);
  }
}

/** `dormouse command`. */
export const consoleCommand: Command = command({
  usage: 'command <id> <console command…>',
  summary: 'Run a console command on a running server.',
  details: `Sends everything after the id to the console as written, except for the options below. After --, options are
sent too.

Examples: ${DORMOUSE} command lobby say Hello there
          ${DORMOUSE} command lobby tp Steve -10 64 -3`,
  async run({ api, json, document, terminal: { out } }, [id = '', ...words]) {
    const { reply, answer } = await ran(api, id, words.join(' '));
    if (json) return document(reply);
    if (answer !== '') out.line(answer);
  },
});

/** An input line below the output. */
interface ConsoleScreen {
  /** The entered lines, until Ctrl-C, Ctrl-D or `close`. */
  lines: AsyncIterable<string>;
  /** Prints a line above the current input, which stays unchanged. */
  above: (text: string) => void;
  /** Shows an empty input line. */
  prompt(): void;
  close(): void;
}

const HISTORY_LINES = 500;

/** The number of rows of the redrawn line: internal to readline and missing from its types. */
type Drawn = Interface & { prevRows?: number };

/** `history` is newest first. `remember` gets it after each change, without lines that start with a space. */
function openScreen(
  { input, signal, terminal: { out } }: Context,
  name: string,
  history: readonly string[],
  remember: (history: readonly string[]) => void,
): ConsoleScreen {
  const { stream } = out;
  const prompt = `${out.style('dim', `${name}>`)} `;
  const options = { historySize: HISTORY_LINES, removeHistoryDuplicates: true, history: [...history], terminal: true };
  const typed: Drawn = createInterface({ input, output: stream, prompt, ...options });
  let isOpen = true;
  const close = () => typed.close();
  typed.on('close', () => {
    isOpen = false;
    signal.removeEventListener('abort', close);
    // Keeps the current input and starts a new line.
    stream.write('\n');
  });
  typed.on('SIGINT', close);
  typed.on('history', (lines: string[]) => {
    if (lines[0]?.startsWith(' ')) lines.shift();
    remember(lines);
  });
  signal.addEventListener('abort', close);
  if (signal.aborted) close();
  return {
    lines: typed,
    close,
    prompt: () => {
      if (isOpen) typed.prompt();
    },
    above(text) {
      if (!isOpen) {
        stream.write(`${text}\n`);
        return;
      }
      const { rows } = typed.getCursorPos();
      if (rows > 0) moveCursor(stream, 0, -rows);
      cursorTo(stream, 0);
      clearScreenDown(stream);
      stream.write(`${text}\n`);
      typed.prevRows = 0;
      typed.prompt(true);
    },
  };
}
