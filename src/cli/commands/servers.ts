import { done } from '../api.ts';
import { DORMOUSE } from '../called.ts';
import { type Command, type Context, command } from '../command.ts';
import { CommandError } from '../errors.ts';
import { software, stateWord } from '../format.ts';
import { MY_SERVERS, type MyServers, SERVER, type Server, read } from '../shapes.ts';
import { table } from '../table.ts';
import { oneLine } from '../text.ts';

const HEADINGS = ['ID', 'NAME', 'STATE', 'PLAYERS', 'VERSION', 'ADDRESS', 'ROLE'];

/** `dormouse servers`. */
export const servers: Command = command({
  name: 'servers',
  summary: 'List your servers, and those that others share with you.',
  details: 'With --json: the servers of your account.',
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
