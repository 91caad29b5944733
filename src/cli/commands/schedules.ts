import { done } from '../api.ts';
import { DORMOUSE } from '../called.ts';
import { type Context, type Subject, call, flag, on, option } from '../command.ts';
import { failed } from '../errors.ts';
import { listing, relative } from '../format.ts';
import { oneOf, spanSeconds } from '../parse.ts';
import { type Messages, read } from '../shapes.ts';
import { suggest } from '../suggest.ts';
import { oneLine } from '../text.ts';

const SCHEDULE = {
  id: '',
  kind: '',
  command: '',
  cronExpr: '',
  timeZone: '',
  lastStatus: '',
  lastError: '',
  lastRunAt: '',
  nextRunAt: '',
  playedMinutes: 0,
  enabled: false as boolean,
  onlyWhenEmpty: false as boolean,
  warnSeconds: 0,
} satisfies Partial<Messages['Schedule']>;
type Schedule = typeof SCHEDULE;

const KINDS = ['command', 'start', 'stop', 'restart', 'backup', 'update'] as const;

/** Cron expressions (crontab(5)) for common schedules. */
const WORDS: Record<string, string> = { hourly: '0 * * * *', daily: '0 4 * * *', weekly: '0 4 * * 1' };

function kindOf(text: string) {
  return oneOf(KINDS, text, `The task must be one of ${KINDS.join(', ')}. ${suggest(text, KINDS)}`.trimEnd());
}

function taskOf({ kind, command }: Schedule): string {
  return kind === 'command' ? `command: ${command}` : kind;
}

function notesOf({ onlyWhenEmpty, warnSeconds }: Schedule): string {
  if (onlyWhenEmpty) return 'only if no one is online';
  return warnSeconds > 0 ? `warns players ${warnSeconds} s before` : '';
}

/** `@play 6h`: 6; undefined for any other expression. */
function playHours({ cronExpr }: Schedule): number | undefined {
  return cronExpr.startsWith('@play ') ? Number.parseInt(cronExpr.slice(6), 10) : undefined;
}

function whenOf(each: Schedule): string {
  const hours = playHours(each);
  if (hours !== undefined) return `every ${hours} h of play`;
  return each.cronExpr === '@sleep' ? 'at each sleep' : `${each.cronExpr} ${each.timeZone}`;
}

/** Returns when a schedule runs next: `in 2 h`, `at its next sleep`, `after 2 h 10 min of play`. */
function nextOf(each: Schedule, now: number): string {
  const hours = playHours(each);
  if (each.nextRunAt !== '' || (hours === undefined && each.cronExpr !== '@sleep'))
    return relative(each.nextRunAt, now);
  if (hours === undefined) return 'at its next sleep';
  const minutes = hours * 60 - each.playedMinutes;
  return `after ${Math.floor(minutes / 60)} h ${minutes % 60} min of play`;
}

/** Finds a schedule by its number in the list, its id, or a prefix of the id. */
async function scheduleId({ api }: Context, id: string, which: string): Promise<string> {
  const reply = read({ schedules: [SCHEDULE] }, await done(api.GET('/v1/servers/{id}/schedules', on(id))), oneLine);
  const byNumber = /^\d{1,3}$/.test(which) ? reply.schedules[Number(which) - 1] : undefined;
  const found = byNumber ?? reply.schedules.find((each) => each.id === which);
  if (found !== undefined) return found.id;
  throw failed('NO_SUCH_SCHEDULE', `${id} has no schedule ${which}. See: ${DORMOUSE} schedules ${id}`, { server: id });
}

/** `dormouse schedules`. */
export const schedules: Subject = {
  name: 'schedules',
  summary: 'Scheduled tasks: backups, restarts, commands.',
  details: `Name a schedule by its number in the list. Times are UTC unless you name a time zone.
A cron expression has five fields: minute, hour, day, month, day of the week.
Or use hourly, daily (04:00) or weekly (Mondays, 04:00),
@sleep (each time the server has gone to sleep), or "@play 6h" (after each 6 hours of play).

Examples: ${DORMOUSE} schedules add castle backup daily
          ${DORMOUSE} schedules add castle command "0 18 * * 5" say The weekend begins`,
  commands: [
    call({
      usage: 'schedules list <id>',
      summary: 'List the schedules with the result of their last runs.',
      call: ({ api }, [id]) => api.GET('/v1/servers/{id}/schedules', on(id)),
      shape: { schedules: [SCHEDULE] },
      show({ schedules }, { out, args: [id], now }) {
        const none = `No schedules yet. Create a nightly backup with: ${DORMOUSE} schedules add ${id} backup daily`;
        return listing(out, schedules, none, {
          NO: (_, index) => String(index + 1),
          TASK: (each) => taskOf(each),
          WHEN: whenOf,
          NEXT: (each) => (each.enabled ? nextOf(each, now) : 'off'),
          LAST: (each) => [each.lastStatus, relative(each.lastRunAt, now)].filter((part) => part !== '').join(', '),
          '': (each) => each.lastError || notesOf(each),
        });
      },
    }),
    call({
      usage: 'schedules add <id> <what> <when> [console command…]',
      summary: `Create a schedule: ${KINDS.join(', ')}.`,
      details: `Example: ${DORMOUSE} schedules add castle command "*/30 * * * *" say Half an hour has passed`,
      options: {
        zone: option('name', 'Time zone, such as Europe/Berlin. Otherwise UTC.'),
        'when-empty': flag('Skip runs while players are online.'),
        warn: option('time', 'Warn players so long before a stop, restart or backup, such as 5m.'),
      },
      call({ api }, [id, kind = '', when = '', ...words], { zone = '', warn, 'when-empty': onlyWhenEmpty = false }) {
        const cronExpr = Object.hasOwn(WORDS, when) ? (WORDS[when] ?? when) : when;
        const warnSeconds = warn === undefined ? 0 : spanSeconds('warn', warn);
        const task = { kind: kindOf(kind), command: words.join(' '), cronExpr, timeZone: zone };
        const body = { ...task, onlyWhenEmpty, warnSeconds };
        return api.POST('/v1/servers/{id}/schedules', { ...on(id), body });
      },
      shape: SCHEDULE,
      show: (schedule, { now }) => [`${taskOf(schedule)}: first run ${nextOf(schedule, now)}.`],
    }),
    call({
      usage: 'schedules run <id> <number>',
      summary: 'Run a schedule now. Its next run does not change.',
      async call(context, [id = '', which = '']) {
        const body = { scheduleId: await scheduleId(context, id, which) };
        return context.api.POST('/v1/servers/{id}/schedules:run', { ...on(id), body });
      },
      shape: SCHEDULE,
      show: (schedule) => [
        `${taskOf(schedule)}: ${schedule.lastStatus || 'in progress'}. ${schedule.lastError}`.trimEnd(),
      ],
    }),
    ...(['on', 'off'] as const).map((word) =>
      call({
        usage: `schedules ${word} <id> <number>`,
        summary: word === 'on' ? 'Resume a schedule.' : 'Pause a schedule.',
        async call(context, [id = '', which = '']) {
          const body = { scheduleId: await scheduleId(context, id, which), enabled: word === 'on' };
          return context.api.POST('/v1/servers/{id}/schedules:setEnabled', { ...on(id), body });
        },
        shape: SCHEDULE,
        show: (schedule, { now }) => [
          `${taskOf(schedule)}: ${schedule.enabled ? `next run ${nextOf(schedule, now)}` : 'off'}.`,
        ],
      }),
    ),
    call({
      usage: 'schedules delete <id> <number>',
      summary: 'Delete a schedule.',
      async call(context, [id = '', which = '']) {
        const body = { scheduleId: await scheduleId(context, id, which) };
        return context.api.POST('/v1/servers/{id}/schedules:delete', { ...on(id), body });
      },
      show: (_, { args: [id, which] }) => [`Deleted schedule ${which} of ${id}.`],
    }),
  ],
};
