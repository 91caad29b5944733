import * as z from 'zod';
import { isTagged } from '../../../machines/server.ts';
import { causeOf } from '../../access/caller.ts';
import type { Principal } from '../../http/principal.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { ServerNow } from '../server-now.ts';
import type { Servers } from '../servers.ts';

/** The field of operations that change a server at rest. */
export const StopFirst = z
  .boolean('must be true or false')
  .default(false)
  .describe(
    'Stop an awake server for the change and start it again afterwards, also if the change fails. If a player wakes ' +
      'it in between, the change is refused as without this.',
  );

/**
 * Makes a change of a server, which itself refuses one that is not at rest. With `stopFirst`, an awake server is stopped
 * before and started again afterwards, also if the change fails or the caller leaves. A service that is killed in
 * between leaves it asleep and unchanged. Returns the server afterwards.
 */
export async function stoppedFor(
  { servers, clock }: { servers: Servers; clock: Clock },
  call: { server: ServerNow; body: { stopFirst: boolean }; principal: Principal; signal: AbortSignal },
  change: () => Promise<ServerNow>,
): Promise<ServerNow> {
  const { server, body, principal, signal } = call;
  const { id } = server.row;
  if (!body.stopFirst || !isTagged(server.state, 'awake')) return await change();
  const send = (type: 'STOP' | 'START') => servers.send(id, { type, at: clock.now(), cause: causeOf(principal) });
  await send('STOP');
  let changed: ServerNow;
  let started: ServerNow | undefined;
  try {
    await servers.until(id, (now) => now === null || isTagged(now.state, 'at-rest'), signal);
    changed = await change();
  } finally {
    // A refused start has its own message on the server, and the change has its own outcome.
    started = await send('START').catch(() => undefined);
  }
  return started ?? changed;
}
