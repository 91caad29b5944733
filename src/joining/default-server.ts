import { distance } from 'fastest-levenshtein';
import type { Log } from '../kernel/log.ts';
import type { Servers } from '../servers/servers.ts';

export interface DefaultServerOptions {
  /** The id set by DEFAULT_SERVER; '' if unset. */
  id: string;
  /** Returns the ids of all servers. */
  ids: () => readonly string[];
  servers: Servers;
  log: Log;
}

/** Watches whether the configured default server exists. */
export interface DefaultServer {
  /** Returns a problem for the operator as a sentence; undefined if the server exists or none is set. */
  trouble: () => string | undefined;
  close(): void;
}

/** Largest number of mistyped letters for which a similar id is suggested. */
const MOST_SLIPS = 3;

/** Logs a warning if the server is missing at the start, or when it is deleted. */
export function watchDefaultServer({ id, ids, servers, log }: DefaultServerOptions): DefaultServer {
  function trouble(): string | undefined {
    const known = ids();
    if (id === '' || known.includes(id)) return undefined;
    const [near] = known
      .map((each) => ({ each, slips: distance(each, id) }))
      .filter(({ slips }) => slips <= MOST_SLIPS)
      .toSorted((one, other) => one.slips - other.slips);
    const maybe = near === undefined ? '' : ` Did you mean ${near.each}?`;
    return `DEFAULT_SERVER is ${id}, but no server has that id. Players who enter no server name can't join.${maybe}`;
  }

  function warn(): void {
    const sentence = trouble();
    if (sentence !== undefined) log.warn({ server: id }, sentence);
  }

  warn();
  const unobserve = servers.observe((changed, now) => {
    if (changed === id && now === null) warn();
  });
  return { trouble, close: unobserve };
}
