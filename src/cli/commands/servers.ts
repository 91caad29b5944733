import { command } from '../command.ts';
import type { Command, Context } from '../command.ts';
import { CommandError } from '../errors.ts';
import { software, stateWord } from '../format.ts';
import { APP_SERVERS, SERVER, read } from '../shapes.ts';
import type { Server } from '../shapes.ts';
import { table } from '../table.ts';
import { oneLine } from '../text.ts';

/** `dormouse servers`. */
export const servers: Command = command({
  name: 'servers',
  summary: 'List your servers.',
  async run({ api, json, document, terminal: { out } }) {
    const reply = await api.get('/v1/servers');
    if (json) return document(reply);
    const { servers } = read({ servers: [SERVER] }, reply);
    if (servers.length === 0) return out.line('No servers yet. Create one with: dormouse create <name>');
    const players = await playersOnline(api);
    const rows = servers.map((server) => [
      oneLine(server.id),
      oneLine(server.name),
      stateWord(server.state, out) + percent(server),
      players.get(server.id) ?? '',
      oneLine(software(server)),
      oneLine(server.addr),
    ]);
    const [headings = '', ...lines] = table(['ID', 'NAME', 'STATE', 'PLAYERS', 'VERSION', 'ADDRESS'], rows);
    out.line(out.style('dim', headings));
    for (const line of lines) out.line(line);
    for (const line of servers.flatMap(failure)) out.line(line);
  },
});

/** Of the servers with a live reading. A key without the scope, or a service without the list, knows of none. */
async function playersOnline(api: Context['api']): Promise<Map<string, string>> {
  try {
    const { my } = read(APP_SERVERS, await api.get('/v1/me/servers'));
    const known = my.filter(({ playersOnline }) => playersOnline >= 0);
    return new Map(known.map(({ id, playersOnline }) => [id, String(playersOnline)]));
  } catch (error) {
    if (error instanceof CommandError) return new Map();
    throw error;
  }
}

function percent({ state, startupPercent }: Server): string {
  return state === 'starting' && startupPercent > 0 ? ` ${startupPercent} %` : '';
}

function failure({ id, state, startErrorSummary, installErrorSummary }: Server): string[] {
  const summary = state === 'start_failed' ? startErrorSummary : state === 'install_failed' ? installErrorSummary : '';
  return summary === '' ? [] : [`${id}: ${oneLine(summary)}`];
}
