import { setTimeout as delay } from 'node:timers/promises';
import { type Answer, type Api, done } from './api.ts';
import { DORMOUSE } from './called.ts';
import { type Context, on } from './command.ts';
import { CommandError, failed, interrupted, isTransient } from './errors.ts';
import { duration } from './format.ts';
import { MACHINE, SERVER, type Server, read } from './shapes.ts';

const EAGER_MS = 250;
const PATIENT_MS = 1000;
const EAGER_FOR_MS = 5000;
/** Tolerated outage of the service, as during a restart, which games survive. */
const OUTAGE_MS = 60_000;

/** A server as sent by the API, and the fields used here. */
export interface Seen {
  reply: object;
  server: Server;
}

/** Reads a server. */
export async function readServer(api: Api, id: string): Promise<Seen> {
  const reply = await done(api.GET('/v1/servers/{id}', on(id)));
  return { reply, server: read(SERVER, reply) };
}

/** Polls a server until `settled` is true; `progress` gets each reading. Tolerates a minute without the service. */
export async function untilSettled(
  { api, signal }: Context,
  first: Seen,
  settled: (server: Server) => boolean,
  progress: (server: Server) => void,
): Promise<Seen> {
  const begun = Date.now();
  let heardAt = begun;
  for (let seen = first; ;) {
    progress(seen.server);
    if (settled(seen.server)) return seen;
    await delay(Date.now() - begun < EAGER_FOR_MS ? EAGER_MS : PATIENT_MS, undefined, { signal });
    try {
      seen = await readServer(api, first.server.id);
      heardAt = Date.now();
    } catch (error) {
      if (!isTransient(error) || Date.now() - heardAt > OUTAGE_MS) throw error;
    }
  }
}

const POLL_MS = 2000;
/** Tolerated outage of the service during work on files. */
const JOB_OUTAGE_MS = 120_000;

/**
 * Makes a call that is answered after work on a server's files, and shows progress. If the connection is lost, polls
 * the server for the end of the work and returns an empty reply. Throws the service's refusals, and CommandError if the
 * work failed.
 */
export async function maintained(
  context: Context,
  id: string,
  action: string,
  start: (api: Api) => Promise<Answer<object>>,
): Promise<object> {
  const { json, terminal, signal, slow } = context;
  const begun = Date.now();
  const show = () => {
    const seconds = Math.floor((Date.now() - begun) / 1000);
    if (!json) terminal.progress(`${id} ${action}… ${duration(seconds)}`, `${id} ${action}…`);
  };
  show();
  const redrawing = setInterval(show, 1000);
  try {
    return await done(start(slow));
  } catch (error) {
    if (signal.aborted)
      throw interrupted(`${id} ${action} in the background. Watch it with: ${DORMOUSE} machine ${id}`);
    if (!isLost(error)) throw error;
    await untilFree(context, id);
    return {};
  } finally {
    clearInterval(redrawing);
    terminal.clear();
  }
}

/** Reports whether the connection was lost, as opposed to a refusal. */
function isLost(error: unknown): boolean {
  return error instanceof CommandError && error.status.details.some((each) => each['reason'] === 'SERVICE_UNREACHABLE');
}

async function untilFree({ api, signal }: Context, id: string): Promise<void> {
  for (let heardAt = Date.now(); ; await delay(POLL_MS, undefined, { signal })) {
    try {
      const { job, jobError } = read(MACHINE, await done(api.GET('/v1/servers/{id}/machine', on(id))));
      heardAt = Date.now();
      if (job.kind !== '') continue;
      if (jobError === '') return;
      throw failed('JOB_FAILED', jobError, { server: id });
    } catch (error) {
      if (!isTransient(error) || Date.now() - heardAt > JOB_OUTAGE_MS) throw error;
    }
  }
}
