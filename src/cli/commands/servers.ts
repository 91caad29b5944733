import { type Api, done } from '../api.ts';
import { DORMOUSE } from '../called.ts';
import { type Command, call, command, ofAccount, on, option } from '../command.ts';
import { CommandError } from '../errors.ts';
import { aligned, listing, relative, software, stateWord, words } from '../format.ts';
import { wholeNumber } from '../parse.ts';
import { MACHINE, MY_SERVERS, type Machine, type Messages, SERVER, type Server, read } from '../shapes.ts';
import { oneLine } from '../text.ts';

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
    const items = [
      ...servers.map((server) => {
        const { playersOnline = -1 } = my.find(({ id }) => id === server.id) ?? {};
        return { ...server, role: '', playersOnline };
      }),
      ...shared.map(({ address, ...server }) => Object.assign({}, SERVER, server, { addr: address })),
    ];
    const none = `No servers yet. Create one with: ${DORMOUSE} create <name>`;
    const lines = listing(out, items, none, {
      ID: ({ id }) => id,
      NAME: ({ name }) => oneLine(name),
      STATE: (server) => stateWord(server.state, out) + percent(server),
      PLAYERS: ({ playersOnline }) => (playersOnline < 0 ? '' : String(playersOnline)),
      VERSION: software,
      ADDRESS: ({ addr }) => addr,
      ROLE: ({ role }) => role,
    });
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

const ENTRY = { userId: '', through: '', action: '', detail: '', serverId: '', createdAt: '' } satisfies Partial<
  Messages['AuditEntry']
>;
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
  show: ({ entries }, { out, args, now }) =>
    listing(out, entries, 'No entries yet.', {
      WHEN: ({ createdAt }) => relative(createdAt, now),
      ACTION: ({ action }) => action,
      THROUGH: ({ through }) => through,
      // A server's own log need not name it.
      DETAIL: ({ detail, serverId }) => (args.length > 0 ? detail : `${detail} ${serverId}`.trim()),
      USER: ({ userId }) => userId,
    }),
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
    return [
      ...facts,
      '',
      ...listing(out, shown, '', {
        WHEN: ({ at }) => relative(at, now),
        EVENT: ({ event }) => event,
        TRANSITION: ({ from, to }) => (from === to ? stateWord(to, out) : `${words(from)} → ${stateWord(to, out)}`),
        CAUSE: ({ cause }) => causeText(cause),
      }),
    ];
  },
});

function causeText({ kind, id, note }: Machine['transitions'][number]['cause']): string {
  const who = id.startsWith(kind) ? id : `${kind} ${id}`;
  return note === '' ? who : `${who} (${note})`;
}
