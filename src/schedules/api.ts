import * as z from 'zod';
import { requireScope } from '../http/auth.ts';
import { invalidFields } from '../http/errors.ts';
import { int32, line, message, reply, rfc3339 } from '../http/fields.ts';
import { Nothing } from '../http/nothing.ts';
import { operation } from '../http/operation.ts';
import type { Served } from '../http/serve.ts';
import type { Principal } from '../http/principal.ts';
import { type Scope, alsoScopesOf } from '../http/scopes.ts';
import type { Clock } from '../kernel/clock.ts';
import { newId } from '../kernel/ids.ts';
import { quotaExceeded } from '../kernel/status.ts';
import { isTimeZone } from '../kernel/time-zone.ts';
import { ServerParams } from '../servers/api/messages.ts';
import type { ServeServer } from '../servers/api/operation.ts';
import { recordOnServer } from '../servers/api/reach.ts';
import { withoutSlash } from '../servers/game-console.ts';
import { listText } from '../web/text.ts';
import type { Store } from '../store/store.ts';
import { type Schedules, authorOf, scheduleNotFound } from './schedules.ts';
import { AT_SLEEP, isOccasion, nextRun, playHours, storedCron } from './next-run.ts';
import {
  MOST_WARN_SECONDS,
  type ScheduleKind,
  type ScheduleRow,
  changeSchedule,
  countSchedules,
  deleteSchedule as deleteRow,
  enableSchedule,
  getSchedule,
  insertSchedule,
  listSchedules as listRows,
} from './rows.ts';

/** Dependencies of these operations. */
interface Needs {
  clock: Clock;
  schedules: Schedules;
  serveServer: ServeServer;
  store: Store;
}

const KINDS = ['command', 'start', 'stop', 'restart', 'backup', 'update'] as const satisfies ScheduleKind[];
/** The kinds that players can be warned of. */
export const WARNED: readonly ScheduleKind[] = ['stop', 'restart', 'backup'];
/** The kinds that make sense for a sleeping server, and for one that is being played. */
const SLEEP_KINDS = ['backup', 'update'] as const satisfies ScheduleKind[];
const PLAY_KINDS = ['command', 'stop', 'restart', 'backup'] as const satisfies ScheduleKind[];
const MAX_SCHEDULES = 64;

const Schedule = z
  .object({
    id: reply.text,
    serverId: reply.text,
    kind: reply.text.describe('`command`, `start`, `stop`, `restart`, `backup` or `update`. More kinds may be added.'),
    command: reply.text,
    cronExpr: reply.text.describe('A cron expression with five fields, in `timeZone`; or `@sleep` or `@play 6h`.'),
    timeZone: reply.text.describe('An IANA time zone name, such as `Europe/Berlin` or `UTC`.'),
    lastStatus: reply.text.describe('`ok`, `error` or `skipped`. Empty before the first run and during a run.'),
    lastError: reply.text,
    createdAt: reply.text,
    lastRunAt: reply.text.describe('RFC 3339. Empty if it has never run.'),
    nextRunAt: reply.text.describe('RFC 3339. Empty while disabled, and until `@sleep` or `@play` is due.'),
    enabled: reply.flag,
    playedMinutes: reply.int32.describe('Minutes of play since `@play` was last due; 0 for other schedules.'),
    onlyWhenEmpty: reply.flag.describe('Whether runs are skipped while players are online.'),
    warnSeconds: reply.int32.describe('How long before its runs players are warned. 0: never.'),
  })
  .meta({ id: 'Schedule' });

const ScheduleId = message({ scheduleId: line(64).min(1, 'is required') });
const COMMON = { auth: 'key', section: 'Schedules', role: 'member', params: ServerParams } as const;

/** The scope that the action of a schedule requires in addition, by kind. */
const SCOPES: Partial<Record<ScheduleKind, Scope>> = { command: 'console', backup: 'backups' };
const ALSO = alsoScopesOf(SCOPES);

export const ListSchedules = operation({
  ...COMMON,
  scope: 'servers:read',
  id: 'ListSchedules',
  method: 'get',
  path: '/v1/servers/{id}/schedules',
  summary: 'List schedules',
  description:
    'Returns the schedules of a server, oldest first, with the result of each last run. Users with the role ' +
    '`limited` cannot list them, because commands may contain secrets.',
  reply: z.object({ schedules: z.array(Schedule).default([]) }).meta({ id: 'ScheduleList' }),
});

export const CreateSchedule = operation({
  ...COMMON,
  scope: 'servers:write',
  alsoScopes: ALSO,
  id: 'CreateSchedule',
  method: 'post',
  path: '/v1/servers/{id}/schedules',
  summary: 'Create or change a schedule',
  description:
    'Runs an action at the times that match a cron expression, in a time zone (UTC unless you name one). A time that ' +
    'the clock skips in spring is due when it is put forward; a time that it shows twice in autumn is due the first ' +
    'time. If the hour is `*`, the schedule runs in every hour that passes. Only kind `start` wakes a server: ' +
    '`command` and `restart` are skipped while it sleeps. `update` sets the newest build of its version for the next ' +
    'start, after a backup; it is skipped while the server is awake, and without a newer build. A run that was due more than a minute ago is skipped ' +
    'too, for example after an outage. `@sleep` is due each time the server has gone to sleep, and `@play 6h` (1 to 720) after each 6 hours of play: ' +
    'minutes at whose end the game runs and has players, or does not know its players. These two run once after an outage. ' +
    'The schedule acts on your behalf. It is disabled when you are no longer a ' +
    'member of the server, or when your key is revoked. Pass `scheduleId` to change a schedule, which stays ' +
    'enabled or disabled. Omit it to create one.',
  body: message({
    kind: z.enum(KINDS, `must be one of ${KINDS.join(', ')}`),
    command: line(4096).default(''),
    cronExpr: line(120)
      .min(1, 'is required')
      .describe(
        'Five fields, or `@hourly`, `@daily`, `@weekly`, `@monthly` or `@yearly`, stored as their five fields. Or `@sleep` ' +
          '(for `backup` and `update`) or `@play 6h` (for `command`, `stop`, `restart` and `backup`), without a time zone.',
      ),
    timeZone: line(64)
      .optional()
      .describe('An IANA time zone name. Empty is UTC. Absent: UTC for a new schedule, unchanged for an existing one.'),
    onlyWhenEmpty: z
      .boolean('must be true or false')
      .optional()
      .describe(
        'Skips runs while players are online, apart from ignored ones. Not with `@play`. Absent: false for a new ' +
          'schedule, unchanged for an existing one.',
      ),
    warnSeconds: int32({ min: 0, max: MOST_WARN_SECONDS })
      .optional()
      .describe(
        'For `stop`, `restart` and `backup`: warns players in the chat and by a title so long before. The run of a stop ' +
          'or restart is then `ok` once it is announced; it comes earlier if the last player leaves, and StartServer ' +
          'cancels it. Not with `onlyWhenEmpty` or `@sleep`. Absent: 0 for a new schedule, unchanged for an existing one.',
      ),
    scheduleId: line(64).default('').describe('The schedule to change. Empty creates a new one.'),
  }).meta({ id: 'CreateScheduleRequest' }),
  example: { kind: 'command', command: 'say Good night', cronExpr: '0 22 * * *' },
  reply: Schedule,
});

export const DeleteSchedule = operation({
  ...COMMON,
  scope: 'servers:write',
  id: 'DeleteSchedule',
  method: 'post',
  path: '/v1/servers/{id}/schedules:delete',
  summary: 'Delete a schedule',
  description: 'A run in progress continues.',
  body: ScheduleId,
  reply: Nothing,
});

export const RunScheduleNow = operation({
  ...COMMON,
  scope: 'servers:write',
  alsoScopes: ALSO,
  id: 'RunScheduleNow',
  method: 'post',
  path: '/v1/servers/{id}/schedules:run',
  summary: 'Run a schedule now',
  description:
    'Runs a schedule, even a disabled one. The time of its next run does not change. Returns when the run has ' +
    'ended, or after ten seconds if it is still in progress. Fails with ABORTED if the schedule is already running.',
  body: ScheduleId,
  reply: Schedule,
});

export const SetScheduleEnabled = operation({
  ...COMMON,
  scope: 'servers:write',
  alsoScopes: ALSO,
  id: 'SetScheduleEnabled',
  method: 'post',
  path: '/v1/servers/{id}/schedules:setEnabled',
  summary: 'Enable or disable a schedule',
  description:
    'Runs missed while a schedule was disabled are not repeated. A schedule acts on behalf of the caller who ' +
    'enabled it, so enabling it also requires the scope for its action.',
  body: message({
    scheduleId: line(64).min(1, 'is required'),
    enabled: z.boolean('must be true or false').default(false),
  }),
  reply: Schedule,
});

/** Returns the fields of a schedule that has never run. */
function newSchedule(serverId: string, createdAt: number) {
  const never = { lastStatus: '', lastError: '', lastRunAt: null, runningSince: null } as const;
  return { id: newId('sch'), serverId, enabled: true, playedMinutes: 0, createdAt, ...never };
}

function requireKind(principal: Principal, kind: ScheduleKind): void {
  const scope = SCOPES[kind];
  if (scope !== undefined) requireScope(principal, scope);
}

/** Returns when a schedule is next due; null if it waits for an occasion. Throws INVALID_ARGUMENT. */
function dueAfter(cronExpr: string, timeZone: string, at: number): number | null {
  if (!isTimeZone(timeZone)) {
    throw invalidFields([{ field: 'timeZone', description: 'must be an IANA time zone name, such as Europe/Berlin' }]);
  }
  const due = nextRun(cronExpr, at, timeZone);
  if (due !== null || cronExpr === AT_SLEEP || playHours(cronExpr) !== undefined) return due;
  const description =
    'must have five fields (minute, hour, day of month, month, day of week) and match a time, such as 0 4 * * *, ' +
    'or be @sleep or @play 6h, with 1 to 720 hours';
  throw invalidFields([{ field: 'cronExpr', description }]);
}

type ForPlayers = { onlyWhenEmpty: boolean; warnSeconds: number };

/** Returns what a schedule does about players after a request. Throws INVALID_ARGUMENT for what its kind cannot do. */
function playersIn(
  { kind, ...body }: { kind: ScheduleKind; onlyWhenEmpty?: boolean | undefined; warnSeconds?: number | undefined },
  cronExpr: string,
  before: ForPlayers,
): ForPlayers {
  const [isSleep, isPlay] = [cronExpr === AT_SLEEP, playHours(cronExpr) !== undefined];
  const kinds = isSleep ? SLEEP_KINDS : isPlay ? PLAY_KINDS : KINDS;
  if (!(kinds as readonly ScheduleKind[]).includes(kind)) {
    const description = `must be one of ${kinds.join(', ')} with ${cronExpr}: the server is ${isSleep ? 'asleep' : 'awake'} then`;
    throw invalidFields([{ field: 'kind', description }]);
  }
  const canWarn = WARNED.includes(kind) && !isSleep;
  const onlyWhenEmpty = body.onlyWhenEmpty ?? (before.onlyWhenEmpty && !isPlay);
  if (onlyWhenEmpty && isPlay) {
    throw invalidFields([
      { field: 'onlyWhenEmpty', description: 'is not allowed with @play: players are online then' },
    ]);
  }
  const warnSeconds = body.warnSeconds ?? (canWarn && !onlyWhenEmpty ? before.warnSeconds : 0);
  const wrong = (description: string) => invalidFields([{ field: 'warnSeconds', description }]);
  if (warnSeconds > 0 && isSleep) throw wrong('is not allowed with @sleep: the server has no players then');
  if (warnSeconds > 0 && !canWarn) throw wrong(`is allowed only for ${listText(WARNED)}`);
  if (warnSeconds > 0 && onlyWhenEmpty) throw wrong('needs players, so it is not allowed with `onlyWhenEmpty`');
  return { onlyWhenEmpty, warnSeconds };
}

function view(row: ScheduleRow): z.input<typeof Schedule> {
  const { createdAt, lastRunAt, nextRunAt } = row;
  const when = (at: number | null) => rfc3339(at) ?? '';
  return { ...row, createdAt: when(createdAt), lastRunAt: when(lastRunAt), nextRunAt: when(nextRunAt) };
}

export const scheduleOperations = (needs: Needs): readonly Served[] => [
  needs.serveServer(ListSchedules, async ({ params }) => ({
    schedules: (await listRows(needs.store, params.id)).map(view),
  })),
  needs.serveServer(CreateSchedule, async ({ server: { row: server }, body, principal }) => {
    const { store, clock, schedules } = needs;
    requireKind(principal, body.kind);
    const at = clock.now();
    const cronExpr = storedCron(body.cronExpr);
    if (body.kind !== 'command' && body.command !== '') {
      throw invalidFields([{ field: 'command', description: 'is allowed only for kind `command`' }]);
    }
    const given = {
      kind: body.kind,
      command: body.kind === 'command' ? withoutSlash(body.command) : '',
      cronExpr,
      ...authorOf(principal),
    };
    const action = body.scheduleId === '' ? 'schedule.create' : 'schedule.change';
    const detail = `${given.kind} at ${given.cronExpr}`;
    const record = recordOnServer(principal, server, { action, detail, at });
    const row = await store.write(async (tx) => {
      if (body.scheduleId !== '') {
        const before = (await getSchedule(tx, server.id, body.scheduleId)) ?? scheduleNotFound(body.scheduleId);
        const timeZone = (body.timeZone ?? before.timeZone) || 'UTC';
        const isSame = isOccasion(cronExpr) && cronExpr === before.cronExpr;
        const nextRunAt = dueAfter(cronExpr, timeZone, at) ?? (isSame ? before.nextRunAt : null);
        const changed = {
          ...before,
          ...given,
          ...playersIn(body, cronExpr, before),
          timeZone,
          nextRunAt: before.enabled ? nextRunAt : null,
          playedMinutes: isSame ? before.playedMinutes : 0,
        };
        await record(tx);
        await changeSchedule(tx, changed);
        return changed;
      }
      if ((await countSchedules(tx, server.id)) >= MAX_SCHEDULES) {
        const sentence = `A server can have at most ${MAX_SCHEDULES} schedules. Delete one first.`;
        throw quotaExceeded('MAX_SCHEDULES', `server:${server.id}`, sentence, { limit: String(MAX_SCHEDULES) });
      }
      const timeZone = body.timeZone || 'UTC';
      const nextRunAt = dueAfter(cronExpr, timeZone, at);
      const players = playersIn(body, cronExpr, { onlyWhenEmpty: false, warnSeconds: 0 });
      const made = { ...newSchedule(server.id, at), ...given, ...players, timeZone, nextRunAt };
      await record(tx);
      await insertSchedule(tx, made);
      return made;
    });
    schedules.changed();
    return view(row);
  }),
  needs.serveServer(DeleteSchedule, async ({ server: { row: server }, body: { scheduleId }, principal }) => {
    const entry = { action: 'schedule.delete', detail: scheduleId, at: needs.clock.now() };
    await needs.store.write(async (tx) => {
      if (!(await deleteRow(tx, server.id, scheduleId))) scheduleNotFound(scheduleId);
      await recordOnServer(principal, server, entry)(tx);
    });
  }),
  needs.serveServer(RunScheduleNow, async ({ server: { row: server }, body: { scheduleId }, principal }) => {
    const row = (await getSchedule(needs.store, server.id, scheduleId)) ?? scheduleNotFound(scheduleId);
    requireKind(principal, row.kind);
    const entry = { action: 'schedule.run', detail: scheduleId, at: needs.clock.now() };
    return view(await needs.schedules.runNow(row, recordOnServer(principal, server, entry)));
  }),
  needs.serveServer(
    SetScheduleEnabled,
    async ({ server: { row: server }, body: { scheduleId, enabled }, principal }) => {
      const { store, clock, schedules } = needs;
      const at = clock.now();
      const action = enabled ? 'schedule.enable' : 'schedule.disable';
      const record = recordOnServer(principal, server, { action, detail: scheduleId, at });
      const changed = await store.write(async (tx) => {
        const row = (await getSchedule(tx, server.id, scheduleId)) ?? scheduleNotFound(scheduleId);
        if (enabled) requireKind(principal, row.kind);
        const due = dueAfter(row.cronExpr, row.timeZone, at) ?? row.nextRunAt;
        const author = enabled ? authorOf(principal) : { userId: row.userId, keyId: row.keyId };
        const changed = { ...row, enabled, nextRunAt: enabled ? due : null, ...author };
        await enableSchedule(tx, changed);
        await record(tx);
        return changed;
      });
      schedules.changed();
      return view(changed);
    },
  ),
];
