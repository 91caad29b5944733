import { createInterface } from 'node:readline';
import { type Api, done } from '../api.ts';
import { on } from '../call.ts';
import { DORMOUSE } from '../called.ts';
import { type Command, type Context, command } from '../command.ts';
import { openScreen } from '../console-screen.ts';
import { CommandError } from '../errors.ts';
import { stateWord } from '../format.ts';
import { ASLEEP, followLog } from '../log/follow.ts';
import { errorLines } from '../report.ts';
import { COMMAND, read } from '../shapes.ts';
import { consoleText, logLine } from '../text.ts';
import { readServer } from '../waiting.ts';

const BACKLOG = 50;
const LEAVE = new Set(['exit', 'quit']);

/** `dormouse console`. */
export const interactive: Command = command({
  name: 'console',
  summary: "Open a server's console: its live log and a command line.",
  args: ['id'],
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
  name: 'say',
  summary: 'Send a chat message to all players of a running server.',
  args: ['id', 'text…'],
  async run({ api, json, document, terminal: { out } }, [id = '', ...words]) {
    const text = words.join(' ');
    const reply = await done(api.POST('/v1/servers/{id}:command', { ...on(id), body: { command: `say ${text}` } }));
    if (json) return document(reply);
    out.line(answerOf(reply, out.colours) || `Sent to ${id}: ${text}`);
  },
});

function answerOf(reply: object, colours: boolean): string {
  return consoleText(read(COMMAND, reply, (text) => text).output, colours).trimEnd();
}

/** Runs every line as a command. Ends at the first one that the service refuses. */
async function fromInput({ api, json, input, signal, terminal: { out, err } }: Context, id: string): Promise<void> {
  const lines = createInterface({ input, signal });
  for await (const line of lines) {
    const typed = line.trim();
    if (typed === '') continue;
    const reply = await done(api.POST('/v1/servers/{id}:command', { ...on(id), body: { command: typed } }));
    const answer = answerOf(reply, out.colours);
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
  const screen = openScreen(context, out, id, await history.load(), (lines) => {
    const now = [...lines];
    saved = saved.then(() => history.save(now));
  });
  const dim = (sentence: string) => screen.above(out.style('dim', `— ${sentence}`));
  dim(`${id} is ${stateWord(server.state, out)}. Ctrl-C leaves the console.`);
  let failure: unknown;
  const asleep = `${id} is asleep. Type start to wake it and follow its log.`;
  const shown = showLog({ api, id, tail: BACKLOG, note: dim, signal: until, asleep }, (line) => {
    screen.above(logLine(line, out.colours));
  }).catch((error: unknown) => {
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

async function showLog(follow: Parameters<typeof followLog>[0], show: (line: string) => void): Promise<void> {
  for await (const line of followLog(follow)) show(line);
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
    const reply = await done(api.POST('/v1/servers/{id}:command', { ...on(id), body: { command: typed } }));
    above(answerOf(reply, out.colours) || out.style('dim', '— No reply.'));
  } catch (error) {
    if (until.aborted) return;
    if (!(error instanceof CommandError)) throw error;
    for (const line of errorLines(error, out)) above(line);
  }
}

/** `dormouse command`. */
export const consoleCommand: Command = command({
  name: 'command',
  summary: 'Run a console command on a running server.',
  args: ['id', 'console command…'],
  details: `Sends everything after the id to the console as written, except for the options below. After --, options are
sent too.

Examples: ${DORMOUSE} command lobby say Hello there
          ${DORMOUSE} command lobby tp Steve -10 64 -3`,
  async run({ api, json, document, terminal: { out } }, [id = '', ...words]) {
    const body = { command: words.join(' ') };
    const reply = await done(api.POST('/v1/servers/{id}:command', { params: { path: { id } }, body }));
    if (json) return document(reply);
    const text = consoleText(read(COMMAND, reply).output).trimEnd();
    if (text !== '') out.line(text);
  },
});
