import type { Route } from '../../proxy/ports.ts';
import { field, parseStatus } from '../../proxy/ping.ts';
import { asleepStatus } from '../../proxy/status.ts';
import type { Pinger } from '../engines/pinger.ts';
import { componentSpans } from '../game/motd/component.ts';
import type { ListEntry } from '../servers/pages/list-entry.ts';

/** How long a page waits for a game. The proxy's own answer needs no game. */
const PATIENCE_MS = 1_000;
/** A protocol whose clients draw all styles. Only the description depends on it. */
const MODERN = 770;

/** Returns the entry that clients see: the game's answer while it runs, and the proxy's otherwise. */
export async function listEntry(route: Route, pinger: Pinger): Promise<ListEntry> {
  const { address, state } = route;
  const isAsked = state === 'running' && address !== null;
  // A game that does not answer, or not in the protocol's form, is drawn as the proxy draws it.
  const answer =
    isAsked &&
    (await pinger
      .status(address, PATIENCE_MS)
      .then(({ raw }) => entryOf(raw))
      .catch(() => undefined));
  return answer || entryOf(asleepStatus(route, MODERN));
}

function entryOf(raw: string): ListEntry {
  const { playersOnline, playersMax } = parseStatus(raw);
  return { description: componentSpans(field(JSON.parse(raw), 'description')), playersOnline, playersMax };
}
