import { setTimeout as delay } from 'node:timers/promises';
import { type Api, done } from '../api.ts';
import { call, confirmed, on } from '../call.ts';
import { DORMOUSE } from '../called.ts';
import { type Command, type Context, type Subject, command } from '../command.ts';
import { failed, interrupted, isTransient, wrongUsage } from '../errors.ts';
import { relative, size, software } from '../format.ts';
import { maintained } from '../maintenance.ts';
import { type Messages, read } from '../shapes.ts';
import { aligned, listing } from '../table.ts';
import { oneLine } from '../text.ts';
import { download } from '../transfer/download.ts';

const BACKUP = {
  id: '',
  createdAt: '',
  sizeBytes: '0',
  state: '',
  kind: '',
  error: '',
  note: '',
  locked: false as boolean,
  percent: 0,
  type: '',
  version: '',
} satisfies Partial<Messages['Backup']>;
type Backup = typeof BACKUP;

const RETENTION = { keepLast: 0, hourly: 0, daily: 0, weekly: 0, monthly: 0 } satisfies Messages['BackupRetention'];
type Retention = typeof RETENTION;

const POLL_MS = 500;
const WHICH = 'backup';
const YES = { type: 'boolean', short: 'y', help: 'Do not ask.' } as const;

async function listed(api: Api, id: string): Promise<Backup[]> {
  return read({ backups: [BACKUP] }, await done(api.GET('/v1/servers/{id}/backups', on(id))), oneLine).backups;
}

/** Finds a backup by its id, its number in the list, or `latest` for the newest good one. */
async function backupOf({ api }: Context, id: string, which: string): Promise<Backup> {
  const all = await listed(api, id);
  const found =
    which === 'latest'
      ? all.find(({ state, kind }) => state === 'ready' && kind !== 'previous')
      : (all.find((each) => each.id === which) ?? (/^\d{1,3}$/.test(which) ? all[Number(which) - 1] : undefined));
  if (found !== undefined) return found;
  throw failed('NO_SUCH_BACKUP', `${id} has no such backup. See them with: ${DORMOUSE} backups ${id}`, { server: id });
}

function path(id: string, backupId: string) {
  return { params: { path: { id, backupId } } };
}

function stateText({ state, percent, locked, error, note }: Backup): string {
  const progress = percent > 0 ? `${state} ${percent} %` : state;
  return [progress, locked ? 'locked' : '', note === '' ? '' : 'not confirmed as saved', error]
    .filter((part) => part !== '')
    .join(', ');
}

function kept({ keepLast, hourly, daily, weekly, monthly }: Retention): string {
  const spans = [
    [hourly, 'hours'],
    [daily, 'days'],
    [weekly, 'weeks'],
    [monthly, 'months'],
  ] as const;
  const newest = spans.filter(([count]) => count > 0).map(([count, span]) => `${count} ${span}`);
  const parts = [
    keepLast > 0 ? `the last ${keepLast}` : '',
    newest.length > 0 ? `the newest of ${newest.join(', ')}` : '',
  ];
  return `Kept: ${parts.filter((part) => part !== '').join(' and ') || 'all'}.`;
}

const list = call({
  name: 'backups list',
  summary: 'List the backups of a server, newest first.',
  args: ['id'],
  call: ({ api }, [id]) => api.GET('/v1/servers/{id}/backups', on(id)),
  shape: { backups: [BACKUP], retention: RETENTION },
  show({ backups, retention }, { context: { terminal }, args: [id], now }) {
    const rows = backups.map((backup, index) => [
      String(index + 1),
      relative(backup.createdAt, now),
      size(backup.sizeBytes),
      backup.kind,
      software(backup),
      stateText(backup),
      backup.id,
    ]);
    const none = `No backups yet. Make one with: ${DORMOUSE} backups make ${id}`;
    const lines = listing(terminal.out, ['NO', 'MADE', 'SIZE', 'WHY', 'SOFTWARE', 'STATE', 'ID'], rows, none);
    return rows.length === 0 ? lines : [...lines, '', kept(retention)];
  },
});

const make = command({
  name: 'backups make',
  summary: 'Make a backup, asleep or running, and watch it until it is done.',
  args: ['id'],
  options: { 'no-wait': { type: 'boolean', help: 'Come back at once; the backup goes on.' } },
  async run(context, [id = ''], { 'no-wait': hurries }) {
    const reply = await done(context.api.POST('/v1/servers/{id}/backups', { ...on(id), body: {} }));
    const { json, document, terminal } = context;
    const first = read(BACKUP, reply, oneLine);
    if (hurries) return json ? document(reply) : terminal.out.line(`The backup ${first.id} of ${id} is being made.`);
    const { backup, raw } = await untilMade(context, id, first, reply);
    if (backup.state !== 'ready') {
      throw failed('BACKUP_FAILED', `The backup of ${id} was not made. ${backup.error}`.trimEnd(), { server: id });
    }
    if (json) return document(raw);
    terminal.out.line(`Backup ${backup.id} of ${id} is made: ${size(backup.sizeBytes)}.`);
    if (backup.note !== '') terminal.out.line(backup.note);
  },
});

/** Polls until a backup is ready or has failed. Tolerates short outages of the service. */
async function untilMade({ api, json, terminal, signal }: Context, id: string, first: Backup, reply: object) {
  let seen = { backup: first, raw: reply };
  try {
    while (['queued', 'running'].includes(seen.backup.state)) {
      const { state, percent } = seen.backup;
      if (!json)
        terminal.progress(`${id}: backup ${state}${percent > 0 ? ` ${percent} %` : ''}`, `${id}: backup ${state}`);
      await delay(POLL_MS, undefined, { signal });
      seen = (await sameOf(api, id, seen.backup.id)) ?? seen;
    }
  } catch (error) {
    if (!signal.aborted) throw error;
    throw interrupted(`The backup goes on without you. See it with: ${DORMOUSE} backups ${id}`);
  } finally {
    terminal.clear();
  }
  return seen;
}

async function sameOf(api: Api, id: string, backupId: string) {
  try {
    const { backups } = await done(api.GET('/v1/servers/{id}/backups', on(id)));
    const raw = backups.find((each) => each.id === backupId);
    if (raw === undefined) throw failed('BACKUP_FAILED', `The backup ${backupId} was removed.`, { server: id });
    return { raw, backup: read(BACKUP, raw, oneLine) };
  } catch (error) {
    if (isTransient(error)) return undefined;
    throw error;
  }
}

async function restored(context: Context, id: string, backupId: string): Promise<void> {
  const reply: object = await maintained(context, id, 'is being restored', (api) =>
    api.POST('/v1/servers/{id}/backups/{backupId}:restore', { ...path(id, backupId), body: {} }),
  );
  if (context.json) return context.document(reply);
  const { out } = context.terminal;
  if (backupId === 'previous') return out.line(`${id} is again as it was before the restore.`);
  out.line(`${id} is restored. What was there before is kept until its next start: ${DORMOUSE} backups undo ${id}`);
}

const restore = command({
  name: 'backups restore',
  summary: 'Make all files of a server, its version and mods those of a backup. It can be undone.',
  args: ['id', WHICH],
  options: { yes: YES },
  async run(context, [id = '', which = ''], { yes }) {
    const backup = await backupOf(context, id, which);
    const made = relative(backup.createdAt, Date.now());
    if (!yes) {
      const what = `This puts all files of ${id} back to those of ${made} (${backup.kind}, ${software(backup)}).`;
      await confirmed(context, `${what} A running server is stopped for it and started again.`);
    }
    await restored(context, id, backup.id);
  },
});

const undo = command({
  name: 'backups undo',
  summary: 'Undo the last restore, until the server has started again.',
  args: ['id'],
  options: { yes: YES },
  async run(context, [id = ''], { yes }) {
    const backup = (await listed(context.api, id)).find(({ kind }) => kind === 'previous');
    if (backup === undefined)
      throw failed('NOTHING_TO_UNDO', `${id} has no restore that can be undone.`, { server: id });
    if (!yes)
      await confirmed(context, `This puts ${id} back to what it was before the restore. What changed since is lost.`);
    await restored(context, id, backup.id);
  },
});

const get = command({
  name: 'backups download',
  summary: 'Save a backup as a .tar.zst, its sum checked. Goes on where a lost connection ended.',
  args: ['id', WHICH, '[file]'],
  options: { force: { type: 'boolean', help: 'Replace a file that is there.' } },
  async run(context, [id = '', which = '', file], { force }) {
    const backup = await backupOf(context, id, which);
    const day = /^[\dT:-]{10,19}/.exec(backup.createdAt)?.[0].replaceAll(':', '') ?? backup.id;
    const target = file ?? `${id}-${day}.tar.zst`;
    const saved = await download(context, target, force === true, (headers) =>
      context.api.GET('/v1/servers/{id}/backups/{backupId}:download', {
        ...path(id, backup.id),
        headers,
        parseAs: 'stream',
      }),
    );
    if (context.json) return context.document(saved);
    context.terminal.out.line(
      `Saved ${saved.file}: ${size(saved.bytes)}${saved.isChecked ? ', its sum is right' : ''}.`,
    );
  },
});

function locking(verb: 'lock' | 'unlock', summary: string): Command {
  return call({
    name: `backups ${verb}`,
    summary,
    args: ['id', WHICH],
    async call(context, [id = '', which = '']) {
      const { id: backupId } = await backupOf(context, id, which);
      const body = { locked: verb === 'lock' };
      return context.api.POST('/v1/servers/{id}/backups/{backupId}:setLocked', { ...path(id, backupId), body });
    },
    shape: BACKUP,
    show: ({ id, locked }) => [`Backup ${id} is ${locked ? 'locked: it stays for good' : 'not locked any more'}.`],
  });
}

const remove = call({
  name: 'backups delete',
  summary: 'Delete a backup, for good.',
  args: ['id', WHICH],
  warning: ([id, which]) => `This deletes the backup ${which} of ${id}, for good.`,
  async call(context, [id = '', which = '']) {
    const backup = await backupOf(context, id, which);
    return context.api.POST('/v1/servers/{id}/backups/{backupId}:delete', { ...path(id, backup.id), body: {} });
  },
  shape: {},
  show: (_, { args: [id] }) => [`Deleted. What is left: ${DORMOUSE} backups ${id}`],
});

const COUNTS = { last: 'keepLast', hourly: 'hourly', daily: 'daily', weekly: 'weekly', monthly: 'monthly' } as const;

const retention = call({
  name: 'backups retention',
  summary: 'Show or set how many backups are kept.',
  args: ['id'],
  options: {
    last: { type: 'string', value: 'n', help: 'The newest so many.' },
    hourly: { type: 'string', value: 'n', help: 'And the newest of so many hours,' },
    daily: { type: 'string', value: 'n', help: 'of so many days,' },
    weekly: { type: 'string', value: 'n', help: 'of so many weeks,' },
    monthly: { type: 'string', value: 'n', help: 'and of so many months (UTC).' },
  },
  details: 'What is not named stays as it is; all 0 keeps everything. Locked ones and the newest good one always stay.',
  call({ api }, [id], values) {
    const given = Object.entries(COUNTS).flatMap(([option, field]) => {
      const text = values[option as keyof typeof COUNTS];
      if (text === undefined) return [];
      if (!/^\d{1,4}$/.test(text)) throw wrongUsage(`--${option} must be a whole number.`);
      return [[field, Number(text)] as const];
    });
    return api.POST('/v1/servers/{id}/backups:setRetention', { ...on(id), body: Object.fromEntries(given) });
  },
  shape: RETENTION,
  show: (reply) => aligned([[kept(reply)]]),
});

/** `dormouse backups`. */
export const backups: Subject = {
  name: 'backups',
  summary: 'Backups of a server: make, restore, undo, download.',
  details: `A backup is named by its number in the list, by its id, or as latest: the newest good one.

Examples: ${DORMOUSE} backups make castle
          ${DORMOUSE} backups restore castle latest
          ${DORMOUSE} backups undo castle`,
  commands: [
    list,
    make,
    restore,
    undo,
    get,
    locking('lock', 'Keep one for good.'),
    locking('unlock', 'Let it go by the rules again.'),
    remove,
    retention,
  ],
};
