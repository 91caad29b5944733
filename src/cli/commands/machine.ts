import { done } from '../api.ts';
import { type Command, command } from '../command.ts';
import { relative, stateWord, words } from '../format.ts';
import { wholeNumber } from '../parse.ts';
import { MACHINE, type Machine, read } from '../shapes.ts';
import { aligned, table } from '../table.ts';
import type { Output } from '../terminal.ts';
import { oneLine } from '../text.ts';

const SHOWN = 10;
const MOST = 50;

/** `dormouse machine`. */
export const machine: Command = command({
  name: 'machine',
  summary: "Show a server's state machine: current state, transitions, possible events.",
  args: ['id'],
  options: {
    last: {
      type: 'string',
      short: 'n',
      value: 'n',
      help: `Number of transitions (default ${SHOWN}, at most ${MOST}).`,
    },
  },
  async run({ api, json, document, terminal: { out } }, [id = ''], { last }) {
    const shown = wholeNumber('last', last, MOST) ?? SHOWN;
    const reply = await done(api.GET('/v1/servers/{id}/machine', { params: { path: { id } } }));
    if (json) return document(reply);
    for (const line of machineLines(read(MACHINE, reply), shown, out)) out.line(line);
  },
});

function machineLines(machine: Machine, shown: number, out: Output): string[] {
  const now = Date.now();
  const { state, since, allowedEvents, deadlines, transitions } = machine;
  const entered = relative(since, now);
  const facts = [
    ['state', stateWord(state, out) + (entered === '' ? '' : `, entered ${entered}`)],
    ['commands', allowedEvents.map(oneLine).join(', ') || 'none'],
    ...deadlines.map(({ name, at }, index) => [index === 0 ? 'deadlines' : '', `${words(name)} ${relative(at, now)}`]),
  ];
  const rows = transitions
    .slice(0, shown)
    .map(({ at, event, from, to, cause }) => [
      relative(at, now),
      oneLine(event),
      from === to ? stateWord(to, out) : `${words(from)} → ${stateWord(to, out)}`,
      causeText(cause),
    ]);
  const [headings = '', ...history] = rows.length === 0 ? [] : table(['WHEN', 'EVENT', 'TRANSITION', 'CAUSE'], rows);
  return [...aligned(facts), ...(history.length === 0 ? [] : ['', out.style('dim', headings), ...history])];
}

function causeText({ kind, id, note }: Machine['transitions'][number]['cause']): string {
  const who = id.startsWith(kind) ? id : `${kind} ${id}`;
  return oneLine(note === '' ? who : `${who} (${note})`);
}
