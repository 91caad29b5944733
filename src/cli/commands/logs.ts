import { done } from '../api.ts';
import { DORMOUSE } from '../called.ts';
import { type Command, command } from '../command.ts';
import { listRuns, printRun } from '../log/earlier-runs.ts';
import { followLog, logLines } from '../log/follow.ts';
import { wholeNumber } from '../parse.ts';
import { MAX_TAIL } from '../log/replay.ts';
import { LOGS, read } from '../shapes.ts';
import { logLine } from '../text.ts';

const DEFAULT_TAIL = 100;

/** `dormouse logs`. */
export const logs: Command = command({
  name: 'logs',
  summary: 'Show the log of a server.',
  args: ['id'],
  options: {
    follow: { type: 'boolean', short: 'f', help: 'Follow the log, also while the server sleeps, until Ctrl-C.' },
    tail: {
      type: 'string',
      short: 'n',
      value: 'n',
      help: `Number of lines (default ${DEFAULT_TAIL}, at most ${MAX_TAIL}).`,
    },
    runs: { type: 'boolean', help: 'List earlier runs with a stored log.' },
    run: { type: 'string', value: 'name', help: 'Print the whole log of an earlier run.' },
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
