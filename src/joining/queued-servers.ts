/**
 * Queues servers whose start found no room, in the same queue as players and ordered by the time of that failure.
 * Starts them at their turn. The queue survives restarts of the process. Each server's machine decides whether and how
 * long it waits.
 */
import type { Failure } from '../../machines/server-types.ts';
import type { Clock } from '../kernel/clock.ts';
import { every } from '../kernel/every.ts';
import type { Log } from '../kernel/log.ts';
import { StatusError } from '../kernel/status.ts';
import { type ServerNow, waitsForRoom } from '../servers/server-now.ts';
import type { Servers } from '../servers/servers.ts';
import type { Waiter } from './line.ts';

/** How often to look for servers that were queued when this process began, or whose next attempt is due. */
const LOOK_MS = 15_000;

/**
 * Returns a function that ends the queueing. All servers leave the queue and return to their places when the next
 * process begins. `entered` is called for each server that enters the queue: a restored server has not been observed
 * before.
 */
export function queueServers({
  servers,
  line,
  entered,
  clock,
  log,
}: {
  servers: Servers;
  line: { enter(waiter: Waiter): Promise<void> };
  entered: (now: ServerNow) => void;
  clock: Clock;
  log: Log;
}): () => void {
  const joined = new Map<string, AbortController>();

  function heed(id: string, now: ServerNow | null): void {
    if (now !== null && waitsForRoom(now)) begin(now);
    else joined.get(id)?.abort(new Error('the server no longer waits for capacity'));
  }

  function begin(now: ServerNow): void {
    const { id } = now.row;
    const { noRoom } = now.context;
    if (noRoom === null || joined.has(id) || noRoom.tryAt > clock.now()) return;
    const out = new AbortController();
    joined.set(id, out);
    entered(now);
    const { signal } = out;
    const notify = (place: number | null) => {
      if (place !== null) log.info({ server: id, place }, `${id} waits for capacity: number ${place} in the queue`);
    };
    const waiting = line.enter({ serverId: id, since: noRoom.foundAt, patienceMs: Infinity, signal, wake, notify });
    waiting
      .catch((error: unknown) => (signal.aborted ? undefined : refused(id, error)))
      .catch((err: unknown) => log.debug({ server: id, err }, 'could not start a queued server; trying again'))
      .finally(() => joined.delete(id));

    async function wake(): Promise<void> {
      const now = await servers.get(id);
      if (now === undefined || !waitsForRoom(now)) return;
      await servers.send(id, { type: 'START', at: clock.now(), cause: now.context.cause });
    }
  }

  /** Handles a refusal. A refusal that waiting cannot resolve ends the wait; any other is retried at the next check. */
  async function refused(id: string, error: unknown): Promise<void> {
    if (!(error instanceof StatusError) || !isLasting(error)) throw error;
    await servers.notify(id, { type: 'ALARM', at: clock.now(), failure: failureOf(error) });
  }

  const unobserve = servers.observe(heed);
  const cancel = every(clock, LOOK_MS, () => servers.live().forEach((now) => heed(now.row.id, now)));
  return () => {
    unobserve();
    cancel();
    for (const out of joined.values()) out.abort(new Error('closing'));
  };
}

function isLasting({ code, reason, options: { metadata } }: StatusError): boolean {
  if (metadata?.['fits'] === 'never') return true;
  return code === 'FAILED_PRECONDITION' && reason !== 'NODE_DRAINED';
}

function failureOf({ reason, message }: StatusError): Failure {
  return { code: reason.toLowerCase(), summary: `Not started: ${message}`, suggestion: '', raw: '' };
}
