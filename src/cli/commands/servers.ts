import { type Api, done } from '../api.ts';
import { DORMOUSE } from '../called.ts';
import { type Command, call, command, ofAccount, on, option } from '../command.ts';
import { CommandError } from '../errors.ts';
import { aligned, listing, relative, software, stateWord, table, words } from '../format.ts';
import { wholeNumber } from '../parse.ts';
import { MACHINE, MY_SERVERS, type Machine, type Messages, SERVER, type Server, read } from '../shapes.ts';
import { oneLine } from '../text.ts';

const HEADINGS = ['ID', 'NAME', 'STATE', 'PLAYERS', 'VERSION', 'ADDRESS', 'ROLE'];

/** `dormouse servers`. */
export const servers: Command = command({
  usage: 'servers',
  summary: 'List your servers, and servers shared with you.',
  details: 'With --json, lists only the servers of your account.',
  async run({ api, json, document, terminal: { out } }) {
    const reply = await done(api.GET('/v1/servers'));
    if (json) return document(reply);
    const { servers } = read({ servers: [SERVER] }, reply);
    const { my, shared } = await reachable(api);
    const rows = [
      ...servers.map((server) => [
        server.id,
        oneLine(server.name),
        stateWord(server.state, out) + percent(server),
        players(my.find(({ id }) => id === server.id)?.playersOnline),
        software(server),
        server.addr,
        '',
      ]),
      ...shared.map((server) => [
        server.id,
        '',
        stateWord(server.state, out),
        players(server.playersOnline),
        software(server),
        server.address,
        server.role,
      ]),
    ];
    if (rows.length === 0) return out.line(`No servers yet. Create one with: ${DORMOUSE} create <name>`);
    const [headings = '', ...lines] = table(HEADINGS, rows);
    out.line(out.style('dim', headings));
    for (const line of [...lines, ...servers.flatMap(failure)]) out.line(line);
  },
});

/** Returns player counts and shared servers. Older services, and keys with few scopes, have no such list. */
async function reachable(api: Api): Promise<typeof MY_SERVERS> {
  try {
    return read(MY_SERVERS, await done(api.GET('/v1/me/servers')));
  } catch (error) {
    if (error instanceof CommandError) return { my: [], shared: [] };
    throw error;
  }
}

function players(online = -1): string {
  return online < 0 ? '' : String(online);
}

function percent({ state, startupPercent }: Server): string {
  return state === 'starting' && startupPercent > 0 ? ` ${startupPercent} %` : '';
}

function failure({ id, state, startErrorSummary, installErrorSummary }: Server): string[] {
  // Also covers suspended servers and unresponsive machines.
  const summary = startErrorSummary || (state === 'install_failed' ? installErrorSummary : '');
  return summary === '' ? [] : [`${id}: ${oneLine(summary)}`];
}

const DIAGNOSTIC = { at: '', kind: '', code: '', summary: '', suggestion: '' } satisfies Partial<
  Messages['Diagnostic']
>;

/** `dormouse why`. */
export const why = call({
  usage: 'why <id>',
  summary: "Explain a server's last crashes and failed starts, and how to fix them.",
  call: ({ api }, [id]) => api.GET('/v1/servers/{id}/diagnostics', on(id)),
  shape: { entries: [DIAGNOSTIC] },
  show({ entries }, { args: [id], now }) {
    if (entries.length === 0) return [`No failures on ${id}.`];
    return entries.slice(0, 10).map(({ at, kind, code, summary, suggestion }) => {
      const what = `${relative(at, now)}, ${words(kind)} (${words(code)}): ${summary}`;
      return suggestion === '' ? what : `${what}\n  ${suggestion}`;
    });
  },
});

const ENTRY = { userId: '', action: '', detail: '', createdAt: '' } satisfies Partial<Messages['AuditEntry']>;
const ENTRIES = 20;
const MOST_ENTRIES = 1000;

/** `dormouse audit`. */
export const audit = call({
  usage: 'audit [id]',
  summary: 'Show the audit log of a server, or of your account, newest first.',
  options: { last: option('n', `Number of entries (default ${ENTRIES}).`, 'n') },
  async call({ api }, [id], { last }) {
    const query = { limit: wholeNumber('last', last, MOST_ENTRIES) ?? ENTRIES };
    if (id !== undefined) return api.GET('/v1/servers/{id}/audit', { params: { ...on(id).params, query } });
    const { params } = await ofAccount(api);
    return api.GET('/v1/accounts/{accountId}/audit', { params: { ...params, query } });
  },
  shape: { entries: [ENTRY] },
  show({ entries }, { out, now }) {
    const rows = entries.map(({ createdAt, action, detail, userId }) => [
      relative(createdAt, now),
      action,
      detail,
      userId,
    ]);
    return listing(out, ['WHEN', 'ACTION', 'DETAIL', 'USER'], rows, 'No entries yet.');
  },
});

const TRANSITIONS = 10;
const MOST_TRANSITIONS = 50;

/** `dormouse machine`. */
export const machine = call({
  usage: 'machine <id>',
  summary: "Show a server's state machine: current state, transitions, possible events.",
  options: { last: option('n', `Number of transitions (default ${TRANSITIONS}, at most ${MOST_TRANSITIONS}).`, 'n') },
  async call({ api }, [id], { last }) {
    // Rejects a wrong number before the call.
    wholeNumber('last', last, MOST_TRANSITIONS);
    return api.GET('/v1/servers/{id}/machine', on(id));
  },
  shape: MACHINE,
  show({ state, since, allowedEvents, deadlines, transitions }, { out, values: { last }, now }) {
    const entered = relative(since, now);
    const facts = aligned([
      ['state', stateWord(state, out) + (entered === '' ? '' : `, entered ${entered}`)],
      ['commands', allowedEvents.join(', ') || 'none'],
      ...deadlines.map(({ name, at }, nth) => [nth === 0 ? 'deadlines' : '', `${words(name)} ${relative(at, now)}`]),
    ]);
    const shown = transitions.slice(0, wholeNumber('last', last, MOST_TRANSITIONS) ?? TRANSITIONS);
    if (shown.length === 0) return facts;
    const rows = shown.map(({ at, event, from, to, cause }) => [
      relative(at, now),
      event,
      from === to ? stateWord(to, out) : `${words(from)} → ${stateWord(to, out)}`,
      causeText(cause),
    ]);
    return [...facts, '', ...listing(out, ['WHEN', 'EVENT', 'TRANSITION', 'CAUSE'], rows, '')];
  },
});

function causeText({ kind, id, note }: Machine['transitions'][number]['cause']): string {
  const who = id.startsWith(kind) ? id : `${kind} ${id}`;
  return note === '' ? who : `${who} (${note})`;
}
