import type { ServerCommand } from '../../machines/server-types.ts';
import { type ServerSnapshot, serverState } from '../../machines/server.ts';
import { requireSame } from '../actors/actor-kind.ts';
import { StatusError } from '../kernel/status.ts';
import { serverNotFound } from '../access/owned-servers.ts';
import { type ServerActors, changeRow } from './actors.ts';
import { isStopped } from './dormant.ts';
import { inMachineTime } from './machine-time.ts';
import { type Intervention, eventNotLegal, operatorEvents } from './operator-events.ts';
import { notAllowed, notStopped } from './refusals.ts';
import { type ServerRow, patchServer } from './rows.ts';
import type { ServerNow } from './server-now.ts';
import type { Servers, ServersOptions } from './servers.ts';
import type { WakeChecks } from './wake-checks.ts';

export interface ServerCommandsOptions extends Required<
  Pick<ServersOptions, 'store' | 'clock' | 'steady' | 'onRefusal'>
> {
  actors: ServerActors;
  wakeChecks: WakeChecks;
}

type Allow = (now: ServerNow, snapshot: ServerSnapshot) => void;

/**
 * Creates the functions for changes that need a check first: commands, operators' events, and settings that must not
 * change during a run.
 */
export function createServerCommands(
  options: ServerCommandsOptions,
): Pick<Servers, 'send' | 'intervene' | 'patchAtRest'> {
  const { actors, wakeChecks, steady, onRefusal } = options;

  /** Sends a command to the actor, synchronously once the checks have passed. */
  async function give(
    id: string,
    event: ServerCommand | Intervention,
    allow: Allow,
    fields?: Partial<ServerRow>,
  ): Promise<ServerNow> {
    const given = await actors.use(id, async (live) => {
      const ask = (checks: Allow[]) => {
        try {
          for (const check of checks) check(actors.show(live), live.snapshot);
        } catch (error) {
          if (event.type === 'START' || event.type === 'JOIN')
            onRefusal(error instanceof StatusError ? error.reason : 'INTERNAL');
          throw error;
        }
      };
      ask([allow]);
      const { snapshot, stored } = live;
      const asked = wakeChecks.before(event.type, serverState(snapshot));
      if (asked.length > 0) {
        await stored.catch(() => {});
        const checks = await Promise.all(asked.map((check) => check(live.row)));
        requireSame(live, { snapshot, stored });
        ask(checks);
      }
      const change = fields && { ...fields, updatedAt: event.at };
      live.row = { ...live.row, ...change };
      const write = actors.give(live, inMachineTime(event, steady), change && ((tx) => patchServer(tx, id, change)));
      // Read at once, before another event can change it.
      return { now: actors.show(live), write };
    });
    if (given === undefined) throw serverNotFound(id);
    await given.write.catch(notStored);
    return given.now;
  }

  async function send(id: string, command: ServerCommand, fields?: Partial<ServerRow>): Promise<ServerNow> {
    const allow: Allow = (now, snapshot) => {
      if (now.state === 'deleting') throw serverNotFound(id);
      if (!snapshot.can(inMachineTime(command, steady))) throw notAllowed(now, command);
    };
    return give(id, command, allow, fields);
  }

  async function intervene(id: string, event: Intervention): Promise<void> {
    await give(id, event, ({ state }, snapshot) => {
      const legal = operatorEvents(snapshot, inMachineTime(event, steady).at);
      if (!legal.includes(event.type)) throw eventNotLegal(id, state, event.type, legal);
    });
  }

  async function patchAtRest(...[id, change, also]: Parameters<Servers['patchAtRest']>): Promise<ServerNow> {
    const patched = await actors.use(id, async (live) => {
      if (serverState(live.snapshot) === 'deleting') throw serverNotFound(id);
      // Wait for the stop to be stored: until then it may still fail.
      await actors.settled(live);
      const now = actors.show(live);
      if (!isStopped(now)) throw notStopped(now);
      const patched = changeRow(options, actors, { id, change, also });
      actors.hold(
        live,
        patched.catch(() => {}),
      );
      return patched;
    });
    if (patched === undefined) throw serverNotFound(id);
    return patched;
  }

  return { send, intervene, patchAtRest };
}

function notStored(error: unknown): never {
  if (error instanceof StatusError) throw error;
  const text = 'The change could not be stored. Nothing happened. Try again.';
  throw new StatusError('UNAVAILABLE', 'UNAVAILABLE', text, { retryAfterSeconds: 1, cause: error });
}
