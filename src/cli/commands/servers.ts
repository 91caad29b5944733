import { done } from '../api.ts';
import { call, on } from '../call.ts';
import { DORMOUSE } from '../called.ts';
import { type Command, type Context, command } from '../command.ts';
import { CommandError } from '../errors.ts';
import { relative, software, stateWord, words } from '../format.ts';
import { wholeNumber } from '../parse.ts';
import { MY_SERVERS, type Messages, type MyServers, SERVER, type Server, read } from '../shapes.ts';
import { listing, table } from '../table.ts';
import { oneLine } from '../text.ts';
import { ofAccount } from './wallet.ts';

const HEADINGS = ['ID', 'NAME', 'STATE', 'PLAYERS', 'VERSION', 'ADDRESS', 'ROLE'];

/** `dormouse servers`. */
export const servers: Command = command({
  name: 'servers',
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
async function reachable(api: Context['api']): Promise<MyServers> {
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
  name: 'why',
  summary: "Explain a server's last crashes and failed starts, and how to fix them.",
  args: ['id'],
  call: ({ api }, [id]) => api.GET('/v1/servers/{id}/diagnostics', on(id)),
  shape: { entries: [DIAGNOSTIC] },
  show({ entries }, { args: [id], now }) {
    if (entries.length === 0) return [`No failures on ${id}.`];
    const lines = entries.slice(0, 10).map(({ at, kind, code, summary, suggestion }) => {
      const what = `${relative(at, now)}, ${words(kind)} (${words(code)}): ${summary}`;
      return suggestion === '' ? what : `${what}\n  ${suggestion}`;
    });
    return lines;
  },
});

const ENTRY = { userId: '', action: '', detail: '', createdAt: '' } satisfies Partial<Messages['AuditEntry']>;
const SHOWN = 20;
const MOST = 1000;

/** `dormouse audit`. */
export const audit: Command = command({
  name: 'audit',
  summary: 'Show the audit log of a server, or of your account, newest first.',
  args: ['[id]'],
  options: { last: { type: 'string', short: 'n', value: 'n', help: `Number of entries (default ${SHOWN}).` } },
  async run({ api, json, document, terminal: { out } }, [id], { last }) {
    const query = { limit: wholeNumber('last', last, MOST) ?? SHOWN };
    const reply =
      id === undefined
        ? await done(api.GET('/v1/accounts/{accountId}/audit', { params: { ...(await ofAccount(api)), query } }))
        : await done(api.GET('/v1/servers/{id}/audit', { params: { ...on(id).params, query } }));
    if (json) return document(reply);
    const now = Date.now();
    const rows = read({ entries: [ENTRY] }, reply, oneLine).entries.map(({ createdAt, action, detail, userId }) => [
      relative(createdAt, now),
      action,
      detail,
      userId,
    ]);
    for (const line of listing(out, ['WHEN', 'ACTION', 'DETAIL', 'USER'], rows, 'No entries yet.')) out.line(line);
  },
});
