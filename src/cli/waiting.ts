import { setTimeout as delay } from 'node:timers/promises';
import { type Api, done } from './api.ts';
import { isTransient } from './errors.ts';
import { SERVER, type Server, read } from './shapes.ts';

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
  const reply = await done(api.GET('/v1/servers/{id}', { params: { path: { id } } }));
  return { reply, server: read(SERVER, reply) };
}

/** Polls a server until `settled` is true; `progress` gets each reading. Tolerates a minute without the service. */
export async function untilSettled(
  api: Api,
  id: string,
  first: Seen,
  {
    settled,
    progress,
    signal,
  }: { settled: (server: Server) => boolean; progress: (server: Server) => void; signal: AbortSignal },
): Promise<Seen> {
  const begun = Date.now();
  let heardAt = begun;
  for (let seen = first; ;) {
    progress(seen.server);
    if (settled(seen.server)) return seen;
    await delay(Date.now() - begun < EAGER_FOR_MS ? EAGER_MS : PATIENT_MS, undefined, { signal });
    try {
      seen = await readServer(api, id);
      heardAt = Date.now();
    } catch (error) {
      if (!isTransient(error) || Date.now() - heardAt > OUTAGE_MS) throw error;
    }
  }
}
