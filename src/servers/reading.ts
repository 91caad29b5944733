import { statechartOf } from '../../machines/event-names.ts';
import type { ServerCommand } from '../../machines/server-types.ts';
import { serverMachine } from '../../machines/server.ts';
import { pathOf } from '../actors/machine-step.ts';
import type { ServerActors } from './actors.ts';
import { UNKNOWN_CAUSE, dormant, readOnly } from './dormant.ts';
import { type ServerPlace, listServersByAccount } from './rows.ts';
import type { ServerNow } from './server-now.ts';
import type { ServerPage, Servers, ServersOptions } from './servers.ts';
import { listTransitions, stateSince } from './transition-rows.ts';

export interface ServerReadingOptions extends Pick<ServersOptions, 'store' | 'clock' | 'steady'> {
  actors: ServerActors;
  get: Servers['get'];
}

const STATECHART = statechartOf(serverMachine);
/** Number of rows converted to servers within a few ms. */
const PAGE = 250;
const COMMANDS = [
  'START',
  'STOP',
  'RESTART',
  'KILL',
  'JOIN',
  'RETRY_INSTALL',
  'REINSTALL',
  'KEEP_AWAKE',
  'DELETE',
] as const;

/** Reads servers beyond their present state and waits for changes. */
export function createServerReading(
  options: ServerReadingOptions,
): Pick<Servers, 'pagesByAccount' | 'listByAccount' | 'inspect' | 'until'> {
  const { store, clock, steady, actors, get } = options;

  async function* pagesByAccount(accountId: string, size: number, after?: ServerPlace): AsyncGenerator<ServerPage> {
    for (let place = after; ;) {
      const rows = await listServersByAccount(store, accountId, size, place);
      const now = await Promise.all(rows.map(async (row) => (actors.find(row.id) ? get(row.id) : dormant(row))));
      const servers = now.flatMap((each) => (each === undefined || each.state === 'deleting' ? [] : [each]));
      place = rows.length < size ? undefined : rows.at(-1);
      yield { servers, next: place && { createdAt: place.createdAt, id: place.id } };
      if (place === undefined) return;
    }
  }

  return {
    pagesByAccount,
    async listByAccount(accountId) {
      const all: ServerNow[] = [];
      for await (const { servers } of pagesByAccount(accountId, PAGE)) all.push(...servers);
      return all;
    },
    async inspect(id) {
      const now = await get(id);
      if (now === undefined) return undefined;
      await actors.find(id)?.stored;
      const transitions = await listTransitions(store, id, 50);
      const live = actors.find(id)?.snapshot;
      const snapshot = live ?? readOnly(now.row);
      const at = live === undefined ? clock.now() : steady.now();
      const { deadlineAt, keepAwakeUntil, job, maintained } = now.context;
      return {
        state: snapshot.matches('maintaining') ? 'maintaining' : now.state,
        path: pathOf(snapshot.value),
        job: job && { kind: job.kind, target: job.target },
        jobError: maintained?.failure?.summary ?? '',
        since: await stateSince(store, id),
        allowedEvents: COMMANDS.filter((type) => snapshot.can(probe(type, at))),
        deadlines: [
          ...(deadlineAt === null ? [] : [{ name: now.state, at: deadlineAt }]),
          ...(keepAwakeUntil > clock.now() ? [{ name: 'keepAwake', at: keepAwakeUntil }] : []),
        ],
        transitions,
        definition: STATECHART,
      };
    },
    async until(id, satisfies, signal) {
      const present = (await get(id)) ?? null;
      if (satisfies(present)) return present;
      return new Promise((resolve, reject) => {
        const leave = () => {
          cancel();
          signal.removeEventListener('abort', aborted);
        };
        const aborted = () => {
          leave();
          reject(signal.reason as Error);
        };
        const listener = (changed: string, now: ServerNow | null) => {
          if (changed !== id || !satisfies(now)) return;
          leave();
          resolve(now);
        };
        const cancel = actors.observe(listener);
        signal.addEventListener('abort', aborted, { once: true });
        if (signal.aborted) aborted();
        // Catches changes during the read of the present state.
        const live = actors.find(id);
        if (live !== undefined) listener(id, actors.show(live));
      });
    },
  };
}

function probe(type: (typeof COMMANDS)[number], at: number): ServerCommand {
  return type === 'KEEP_AWAKE' ? { type, at, cause: UNKNOWN_CAUSE, until: at } : { type, at, cause: UNKNOWN_CAUSE };
}
