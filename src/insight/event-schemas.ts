import { z } from 'zod';
import type { ServerEventType } from './events.ts';

const at = z.string().meta({ format: 'date-time' });
const number = z.number().meta({ format: 'double' });
const Cause = z
  .object({ kind: z.string(), id: z.string(), note: z.string() })
  .describe('Who or what led there, as of InspectMachine.');
const Quota = { diskUsageMb: z.number(), diskQuotaEffectiveMb: z.number(), quotaExceeded: z.boolean() };
const failure = z.object({ code: z.string(), summary: z.string(), suggestion: z.string() });

/** What is in the data of each kind of event of a server. More kinds and fields may come. */
export const SERVER_EVENTS = {
  gap: z.object({ at }).meta({ id: 'GapEvent', description: 'Without an id: what came before it is not told.' }),
  state: z
    .object({
      at,
      state: z.string().describe('As of a Server.'),
      cause: Cause,
      phase: z.string().describe('While it starts; else empty.'),
      percent: z.number(),
      players: z.number().nullable().describe('Null: not known.'),
      error: failure.nullable().describe('Where it failed.'),
      quota: z.object(Quota).optional().describe('With the first event of a stream.'),
      alert: z.object({ alert: z.string(), at }).nullish().describe('With the first: the one that is open.'),
    })
    .meta({ id: 'StateEvent' }),
  progress: z.object({ at, phase: z.string(), percent: z.number() }).meta({ id: 'ProgressEvent' }),
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

/** The same of every machine, for operators. */
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
