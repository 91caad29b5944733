import { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { done } from '../api.ts';
import { DORMOUSE } from '../called.ts';
import { type Command, type Context, command, flag, option } from '../command.ts';
import { failed } from '../errors.ts';
import { listing, relative, size } from '../format.ts';
import { MAX_TAIL, followLog, logLines } from '../log.ts';
import { wholeNumber } from '../parse.ts';
import { LOGS, read } from '../shapes.ts';
import { suggest } from '../suggest.ts';
import { logLine, oneLine } from '../text.ts';
import { type Entry, bytesOf, listed } from '../transfer.ts';

const DEFAULT_TAIL = 100;

/** `dormouse logs`. */
export const logs: Command = command({
  usage: 'logs <id>',
  summary: 'Show the log of a server.',
  options: {
    follow: flag('Follow the log, also while the server sleeps, until Ctrl-C.', 'f'),
    tail: option('n', `Number of lines (default ${DEFAULT_TAIL}, at most ${MAX_TAIL}).`, 'n'),
    runs: flag('List earlier runs with a stored log.'),
    run: option('name', 'Print the whole log of an earlier run.'),
  },
  details: `With --json and --follow or --run, each line is one JSON object: {"line": "…"}.

Example: ${DORMOUSE} logs castle --run 2026-11-22-1 | less`,
  async run(context, [id = ''], values) {
    const { api, json, document, terminal, signal } = context;
    if (values.runs) return listRuns(context, id);
    if (values.run !== undefined) return printRun(context, id, values.run);
    const { out } = terminal;
    const tail = wholeNumber('tail', values.tail, MAX_TAIL) ?? DEFAULT_TAIL;
    if (values.follow) {
      const note = (sentence: string) => json || terminal.note(terminal.err.style('dim', `— ${sentence}`));
      for await (const line of followLog({ api, id, tail, note, signal })) {
        out.line(json ? JSON.stringify({ line }) : logLine(line, out.colours));
      }
      return;
    }
    const reply = await done(api.GET('/v1/servers/{id}/logs', { params: { path: { id }, query: { tail } } }));
    if (json) return document(reply);
    const lines = logLines(reply);
    for (const line of lines) out.line(logLine(line, out.colours));
    if (lines.length === 0) terminal.note(read(LOGS, reply).containerMissing ? `${id} has not run yet.` : 'No output.');
  },
});

/** The folder of a game's logs: the current one, and compressed ones of earlier runs. */
const FOLDER = 'logs';
const LOG = /\.log(?:\.gz)?$/;
const MOST_LINE = 1 << 20;

/** Lists the runs whose logs are kept, newest first. */
async function listRuns(context: Context, id: string): Promise<void> {
  const { json, document, terminal } = context;
  const entries = await runsOf(context, id);
  if (json) return document({ runs: entries.map((entry) => ({ ...entry, name: runOf(entry) })) });
  const now = Date.now();
  const { out } = terminal;
  for (const line of listing(out, entries, `${id} has no logs of earlier runs.`, {
    RUN: (entry) => oneLine(runOf(entry)),
    SIZE: (entry) => size(entry.size),
    'LAST LINE': (entry) => relative(entry.modifiedAt, now),
  }))
    out.line(line);
}

/** Prints the whole log of a run. */
async function printRun(context: Context, id: string, run: string): Promise<void> {
  const { json, terminal } = context;
  const entries = await runsOf(context, id);
  const entry = entries.find((each) => runOf(each) === run || each.name === run);
  if (!entry) {
    const maybe = suggest(run, entries.map(runOf));
    const said = [`${id} has no log of the run ${run}.`, maybe, `See: ${DORMOUSE} logs ${id} --runs`];
    throw failed('NO_SUCH_RUN', said.filter((each) => each !== '').join(' '));
  }
  for await (const line of linesOf(entry.name, bytesOf(context, id, `${FOLDER}/${entry.name}`)))
    terminal.out.line(json ? JSON.stringify({ line }) : logLine(line, terminal.out.colours));
}

async function* linesOf(name: string, chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const packed = Readable.from(chunks);
  const unpacked: Readable = name.endsWith('.gz') ? packed.pipe(createGunzip()) : packed;
  packed.once('error', (cause) => unpacked.destroy(cause));
  const decoder = new TextDecoder();
  let rest = '';
  try {
    for await (const chunk of unpacked) {
      const lines = (rest + decoder.decode(chunk as Uint8Array, { stream: true })).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) yield line.replace(/\r$/, '');
      // Limits the memory for a line, however long it is.
      if (rest.length > MOST_LINE) {
        yield rest;
        rest = '';
      }
    }
  } catch (error) {
    if (!(error as NodeJS.ErrnoException).code?.startsWith('Z_')) throw error;
    throw failed('DAMAGED_LOG', `${FOLDER}/${name} is incomplete or not compressed.`);
  } finally {
    packed.destroy();
  }
  if (rest !== '') yield rest;
}

async function runsOf(context: Context, id: string): Promise<Entry[]> {
  const isThere = (await listed(context, id, '')).some(({ name, isDir }) => name === FOLDER && isDir);
  const entries = isThere ? await listed(context, id, FOLDER) : [];
  const logs = entries.filter(({ name, isDir }) => !isDir && LOG.test(name));
  return logs.toSorted((one, other) => other.modifiedAt.localeCompare(one.modifiedAt));
}

function runOf({ name }: Entry): string {
  return name.replace(LOG, '');
}
