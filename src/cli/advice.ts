import { type Api, done } from './api.ts';
import { DORMOUSE } from './called.ts';
import type { Command, Context, OptionValues } from './command.ts';
import { CommandError } from './errors.ts';
import { reasonOf, violationsIn } from './report.ts';
import { MY_SERVERS, SERVER, VERSIONS, read } from './shapes.ts';
import { didYouMean, nearest } from './suggest.ts';
import { oneLine } from './text.ts';

/**
 * Returns suggestions for a refused call, as sentences: another server, another core. Queries the service. Returns none
 * if the service fails.
 */
export async function adviceFor(
  error: CommandError,
  { api }: Context,
  { args: names = [] }: Command,
  args: readonly string[],
  values: OptionValues,
): Promise<string[]> {
  try {
    if (reasonOf(error) === 'SERVER_NOT_FOUND' && names[0] === 'id') return await otherServers(api, args[0] ?? '');
    if (reasonOf(error) === 'EULA_NOT_ACCEPTED') return [`The owner can accept it: ${DORMOUSE} eula --accept`];
    const isWrong = violationsIn(error.status.details).some(({ field }) => field === 'type');
    if (isWrong && typeof values['type'] === 'string') return await otherCores(api, values['type']);
    return [];
  } catch (failure) {
    if (failure instanceof CommandError) return [];
    throw failure;
  }
}

async function otherServers(api: Api, id: string): Promise<string[]> {
  const { servers } = read({ servers: [SERVER] }, await done(api.GET('/v1/servers')), oneLine);
  const { shared } = read(MY_SERVERS, await done(api.GET('/v1/me/servers')), oneLine);
  const ids = [...servers, ...shared].map((server) => server.id);
  const named = servers.filter(({ name }) => nearest(id, [name]).length > 0 || name === id).map((server) => server.id);
  const suggestions = [...new Set([...nearest(id, ids), ...named])].slice(0, 3);
  return [suggestions.length > 0 ? didYouMean(suggestions) : `List your servers with: ${DORMOUSE} servers`];
}

async function otherCores(api: Api, type: string): Promise<string[]> {
  const { cores } = read(VERSIONS, await done(api.GET('/v1/minecraft/versions')), oneLine);
  return [
    didYouMean(
      nearest(
        type,
        cores.map((core) => core.type),
      ),
    ),
  ].filter((sentence) => sentence !== '');
}
