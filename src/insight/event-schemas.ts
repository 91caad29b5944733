import * as z from 'zod';
import type { ServerEventType } from './events.ts';

const at = z.string().meta({ format: 'date-time' });
const number = z.number().meta({ format: 'double' });
const Cause = z
  .object({ kind: z.string(), id: z.string(), note: z.string() })
  .describe('The cause, as in InspectMachine.');
const Quota = { diskUsageMb: z.number(), diskQuotaEffectiveMb: z.number(), quotaExceeded: z.boolean() };
const failure = z.object({ code: z.string(), summary: z.string(), suggestion: z.string() });

/** The data of each kind of server event. More kinds and fields may be added. */
export const SERVER_EVENTS = {
  gap: z.object({ at }).meta({ id: 'GapEvent', description: 'Has no id. Events before it are missing.' }),
  state: z
    .object({
      at,
      state: z.string().describe('As in Server.'),
      cause: Cause,
      phase: z.string().describe('While it starts; otherwise empty.'),
      percent: z.number().describe('100 while it runs.'),
      players: z.number().nullable().describe('Null if unknown.'),
      stopsAt: at.nullable().describe('Set while players are warned of a stop or restart. Otherwise null.'),
      error: failure.nullable().describe('Set if it failed.'),
      waits: z
        .object({ node: z.string(), since: at })
        .nullable()
        .describe('Set while its machine does not respond: which machine, and since when. Otherwise null.'),
      suspended: z
        .object({ reason: z.string(), since: at })
        .nullable()
        .describe('Set while an operator has suspended the server, whatever its state. Otherwise null.'),
      quota: z.object(Quota).optional().describe('Only in the first `state` of a stream.'),
      alert: z
        .object({ alert: z.string(), at })
        .nullish()
        .describe('Only in the first `state` of a stream: the open alert, or null.'),
    })
    .meta({ id: 'StateEvent' }),
  progress: z
    .object({ at, phase: z.string().describe('`ready` in the last event.'), percent: z.number() })
    .meta({ id: 'ProgressEvent' }),
  players: z.object({ at, online: z.number() }).meta({ id: 'PlayersEvent' }),
  tick: z
    .object({
      at,
      tps: number,
      mspt: number,
      cpuPercent: number,
      memUsedMb: number,
      memLimitMb: number,
      players: z.number(),
      live: z.boolean(),
    })
    .meta({ id: 'TickEvent' }),
  quota: z.object({ at, ...Quota }).meta({ id: 'QuotaEvent' }),
  backup: z
    .object({
      at,
      id: z.string(),
      state: z.string().describe('`queued`, `running`, `ready`, `failed`, `restoring`, `restored` or `deleted`.'),
      percent: z.number(),
      error: z.string().optional(),
    })
    .meta({ id: 'BackupEvent' }),
  alert: z
    .object({
      at,
      alert: z.string().describe('`tps.low`, `tps.recovered`, `tps.ended`, `game.hung` or `stop.forced`.'),
      tps: number.optional(),
      mspt: number.optional(),
      players: z.number().optional(),
      slowSeconds: z.number().optional(),
    })
    .meta({ id: 'AlertEvent' }),
} satisfies Record<ServerEventType, z.ZodType>;

/** The data of events about all state machines, for operators. */
export const MACHINE_EVENTS = {
  transition: z
    .object({
      at,
      id: z.string(),
      kind: z.enum(['server', 'grant']),
      event: z.string(),
      from: z.string(),
      to: z.string(),
      fromPath: z.string(),
      toPath: z.string(),
      cause: Cause,
    })
    .meta({ id: 'TransitionEvent' }),
};
