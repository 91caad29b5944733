import type { ServerCommand } from '../../machines/server-types.ts';
import { type ServerSnapshot, serverState } from '../../machines/server.ts';
import { StatusError } from '../kernel/status.ts';
import type { Tx } from '../store/store.ts';
import type { ServerActors, ServerEntry } from './actors.ts';
import { type Intervention, eventNotLegal, operatorEvents } from './operator-events.ts';
import { notAllowed, notFound, notStopped } from './refusals.ts';
import { isStopped } from './resting.ts';
import type { ServerRow } from './rows.ts';
import type { RowChange, ServerNow } from './server-now.ts';
import type { Servers, ServersOptions } from './servers.ts';
import type { WakeChecks } from './wake-checks.ts';

export interface ServerCommandsOptions extends Required<Pick<ServersOptions, 'onRefusal'>> {
  actors: ServerActors;
  wakeChecks: WakeChecks;
}

/** What has to be allowed before it is done: commands, operators' events, and changes that a run must not see. */
export function createServerCommands(
  options: ServerCommandsOptions,
): Pick<Servers, 'send' | 'intervene' | 'patchAtRest'> {
  const { actors, wakeChecks, onRefusal } = options;
  const { loaded, evict, patch, nowOf, inMachineTime } = actors;

  /** Hands a command to the actor in the very turn in which it was found to be allowed. */
  async function give(
    id: string,
    event: ServerCommand | Intervention,
    allow: (now: ServerNow, snapshot: ServerSnapshot) => void,
    fields: Partial<ServerRow> = {},
  ): Promise<{ now: ServerNow; stored: Promise<void> }> {
    for (;;) {
      const entry = await loaded(id);
      if (entry === undefined) throw notFound(id);
      ask([(now) => allow(now, entry.actor.getSnapshot())], entry, event);
      const { seen, commit } = entry;
      const asked = wakeChecks.before(event.type, serverState(seen));
      if (asked.length > 0) {
        await commit.catch(() => {});
        const checks = await Promise.all(asked.map((check) => check(entry.row)));
        if (entry.dropped || entry.seen !== seen || entry.commit !== commit) continue;
        ask(checks, entry, event);
      }
      if (Object.keys(fields).length > 0) {
        entry.row = { ...entry.row, ...fields, updatedAt: event.at };
        entry.altered = fields;
      }
      entry.actor.send(inMachineTime(event));
      // Read before anything else can happen to it.
      return { now: nowOf(entry), stored: entry.commit };
    }
  }

  function ask(checks: ((now: ServerNow) => void)[], entry: ServerEntry, { type }: ServerCommand | Intervention): void {
    try {
      for (const check of checks) check(nowOf(entry));
    } catch (error) {
      // A refused sleeper needs no actor.
      entry.commit.then(
        () => evict(entry),
        () => {},
      );
      if (type === 'START' || type === 'JOIN') onRefusal(error instanceof StatusError ? error.reason : 'INTERNAL');
      throw error;
    }
  }

  async function send(id: string, command: ServerCommand, fields?: Partial<ServerRow>): Promise<ServerNow> {
    const allow = (now: ServerNow, snapshot: ServerSnapshot) => {
      if (now.state === 'deleting') throw notFound(id);
      if (!snapshot.can(inMachineTime(command))) throw notAllowed(now, command);
    };
    const given = await give(id, command, allow, fields);
    return done(given);
  }

  async function intervene(id: string, event: Intervention): Promise<void> {
    const given = await give(id, event, ({ state }, snapshot) => {
      const legal = operatorEvents(snapshot, inMachineTime(event).at);
      if (!legal.includes(event.type)) throw eventNotLegal(id, state, event.type, legal);
    });
    await done(given);
  }

  async function patchAtRest(
    id: string,
    change: RowChange,
    also: (tx: Tx) => Promise<void> = async () => {},
  ): Promise<ServerNow> {
    for (;;) {
      const entry = await loaded(id);
      if (entry === undefined || serverState(entry.seen) === 'deleting') throw notFound(id);
      const { commit } = entry;
      // A stop that is not stored has not happened.
      await commit.catch(() => {});
      if (entry.dropped || entry.commit !== commit) continue;
      if (!isStopped(nowOf(entry))) throw notStopped(nowOf(entry));
      entry.changing = true;
      const patched = patch(id, change, also).finally(() => (entry.changing = false));
      entry.commit = patched.then(
        () => {},
        () => {},
      );
      void entry.commit.then(() => evict(entry));
      return patched;
    }
  }

  return { send, intervene, patchAtRest };
}

async function done({ now, stored }: { now: ServerNow; stored: Promise<void> }): Promise<ServerNow> {
  try {
    await stored;
  } catch (error) {
    if (error instanceof StatusError) throw error;
    throw new StatusError(
      'UNAVAILABLE',
      'UNAVAILABLE',
      'The change could not be stored; nothing happened. Try again.',
      {
        retryAfterSeconds: 1,
        cause: error,
      },
    );
  }
  return now;
}
