import { setTimeout as delay } from 'node:timers/promises';
import { type Api, done } from '../api.ts';
import { DORMOUSE } from '../called.ts';
import {
  type Command,
  type Context,
  type Subject,
  YES,
  call,
  command,
  confirmed,
  flag,
  on,
  option,
} from '../command.ts';
import { failed, interrupted, isTransient, wrongUsage } from '../errors.ts';
import { aligned, listing, relative, size, software } from '../format.ts';
import { type Messages, read } from '../shapes.ts';
import { oneLine } from '../text.ts';
import { download } from '../transfer.ts';
import { maintained } from '../waiting.ts';

const BACKUP = {
  id: '',
  createdAt: '',
  sizeBytes: '0',
  format: 'tar.zst',
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
  throw failed('NO_SUCH_BACKUP', `${id} has no such backup. List its backups with: ${DORMOUSE} backups ${id}`, {
    server: id,
  });
}

function path(id: string, backupId: string) {
  return { params: { path: { id, backupId } } };
}

function stateText({ state, percent, locked, error, note }: Backup): string {
  const progress = percent > 0 ? `${state} ${percent} %` : state;
  return [progress, locked ? 'locked' : '', note === '' ? '' : 'may be incomplete', error]
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
    newest.length > 0 ? `one for each of the last ${newest.join(', ')}` : '',
  ];
  return `Kept: ${parts.filter((part) => part !== '').join(' and ') || 'all'}.`;
}

const list = call({
  usage: 'backups list <id>',
  summary: 'List the backups of a server, newest first.',
  call: ({ api }, [id]) => api.GET('/v1/servers/{id}/backups', on(id)),
  shape: { backups: [BACKUP], retention: RETENTION },
  show({ backups, retention }, { out, args: [id], now }) {
    const none = `No backups yet. Create one with: ${DORMOUSE} backups make ${id}`;
    const lines = listing(out, backups, none, {
      NO: (_, index) => String(index + 1),
      CREATED: (backup) => relative(backup.createdAt, now),
      SIZE: (backup) => size(backup.sizeBytes),
      KIND: (backup) => backup.kind,
      SOFTWARE: (backup) => software(backup),
      STATE: (backup) => stateText(backup),
      ID: (backup) => backup.id,
    });
    return backups.length === 0 ? lines : [...lines, '', kept(retention)];
  },
});

const make = command({
  usage: 'backups make <id>',
  summary: 'Back up a server, asleep or running, and show the progress.',
  options: { 'no-wait': flag('Do not wait until the backup is ready.') },
  async run(context, [id = ''], { 'no-wait': hurries }) {
    const reply = await done(context.api.POST('/v1/servers/{id}/backups', { ...on(id), body: {} }));
    const { json, document, terminal } = context;
    const first = read(BACKUP, reply, oneLine);
    if (hurries) return json ? document(reply) : terminal.out.line(`Backup ${first.id} of ${id} has started.`);
    const { backup, raw } = await untilMade(context, id, first, reply);
    if (backup.state !== 'ready') {
      throw failed('BACKUP_FAILED', `The backup of ${id} failed. ${backup.error}`.trimEnd(), { server: id });
    }
    if (json) return document(raw);
    terminal.out.line(`Backup ${backup.id} of ${id} is ready: ${size(backup.sizeBytes)}.`);
    if (backup.note !== '') terminal.out.line(backup.note);
  },
});

/** Polls until a backup is ready or has failed. Tolerates short outages of the service. */
async function untilMade({ api, json, terminal, signal }: Context, id: string, first: Backup, made: object) {
  let seen = { backup: first, raw: made };
  try {
    while (['queued', 'running'].includes(seen.backup.state)) {
      const { state, percent } = seen.backup;
      if (!json)
        terminal.progress(`${id}: backup ${state}${percent > 0 ? ` ${percent} %` : ''}`, `${id}: backup ${state}`);
      await delay(POLL_MS, undefined, { signal });
      const reply = await done(api.GET('/v1/servers/{id}/backups', on(id))).catch((error: unknown) => {
        if (!isTransient(error)) throw error;
      });
      if (reply === undefined) continue;
      const raw = reply.backups.find((each) => each.id === first.id);
      if (raw === undefined) throw failed('BACKUP_FAILED', `The backup ${first.id} was removed.`, { server: id });
      seen = { backup: read(BACKUP, raw, oneLine), raw };
    }
  } catch (error) {
    if (!signal.aborted) throw error;
    throw interrupted(`The backup continues. Show it with: ${DORMOUSE} backups ${id}`);
  } finally {
    terminal.clear();
  }
  return seen;
}

async function restored(context: Context, id: string, backupId: string): Promise<void> {
  const reply: object = await maintained(context, id, 'is being restored', (api) =>
    api.POST('/v1/servers/{id}/backups/{backupId}:restore', { ...path(id, backupId), body: {} }),
  );
  if (context.json) return context.document(reply);
  const { out } = context.terminal;
  if (backupId === 'previous') return out.line(`Undid the restore of ${id}.`);
  out.line(
    `${id} is restored. The previous files are kept until the next start. Undo with: ${DORMOUSE} backups undo ${id}`,
  );
}

const restore = command({
  usage: 'backups restore <id> <backup>',
  summary: "Restore a server's files, version and mods from a backup. Can be undone.",
  options: { yes: YES },
  async run(context, [id = '', which = ''], { yes }) {
    const backup = await backupOf(context, id, which);
    const made = relative(backup.createdAt, Date.now());
    if (!yes) {
      const what = `This replaces all files of ${id} with the backup of ${made} (${backup.kind}, ${software(backup)}).`;
      await confirmed(context, `${what} A running server restarts.`);
    }
    await restored(context, id, backup.id);
  },
});

const undo = command({
  usage: 'backups undo <id>',
  summary: "Undo the last restore. Possible until the server's next start.",
  options: { yes: YES },
  async run(context, [id = ''], { yes }) {
    const backup = (await listed(context.api, id)).find(({ kind }) => kind === 'previous');
    if (backup === undefined) throw failed('NOTHING_TO_UNDO', `${id} has no restore to undo.`, { server: id });
    if (!yes) await confirmed(context, `This undoes the restore of ${id}. Later changes are lost.`);
    await restored(context, id, backup.id);
  },
});

const get = command({
  usage: 'backups download <id> <backup> [file]',
  summary: 'Download a backup as .tar.zst or .tar and verify it. Resumes after a lost connection.',
  options: { force: flag('Replace an existing file.') },
  async run(context, [id = '', which = '', file], { force }) {
    const backup = await backupOf(context, id, which);
    const day = /^[\dT:-]{10,19}/.exec(backup.createdAt)?.[0].replaceAll(':', '') ?? backup.id;
    const target = file ?? `${id}-${day}.${backup.format}`;
    const saved = await download(context, target, force === true, (headers) =>
      context.api.GET('/v1/servers/{id}/backups/{backupId}:download', {
        ...path(id, backup.id),
        headers,
        parseAs: 'stream',
      }),
    );
    if (context.json) return context.document(saved);
    context.terminal.out.line(
      `Saved ${saved.file}: ${size(saved.bytes)}${saved.isChecked ? ', checksum verified' : ''}.`,
    );
  },
});

function locking(verb: 'lock' | 'unlock', summary: string): Command {
  return call({
    usage: `backups ${verb} <id> <backup>`,
    summary,
    async call(context, [id = '', which = '']) {
      const { id: backupId } = await backupOf(context, id, which);
      const body = { locked: verb === 'lock' };
      return context.api.POST('/v1/servers/{id}/backups/{backupId}:setLocked', { ...path(id, backupId), body });
    },
    shape: BACKUP,
    show: ({ id, locked }) => [
      `Backup ${id} is ${locked ? 'locked: retention never removes it' : 'no longer locked'}.`,
    ],
  });
}

const remove = call({
  usage: 'backups delete <id> <backup>',
  summary: 'Delete a backup permanently.',
  warning: ([id, which]) => `This permanently deletes backup ${which} of ${id}.`,
  async call(context, [id = '', which = '']) {
    const backup = await backupOf(context, id, which);
    return context.api.POST('/v1/servers/{id}/backups/{backupId}:delete', { ...path(id, backup.id), body: {} });
  },
  show: (_, { args: [id] }) => [`Deleted. Show the others with: ${DORMOUSE} backups ${id}`],
});

const COUNTS = { last: 'keepLast', hourly: 'hourly', daily: 'daily', weekly: 'weekly', monthly: 'monthly' } as const;

const retention = call({
  usage: 'backups retention <id>',
  summary: 'Show or change the retention rules.',
  options: {
    last: option('n', 'Number of newest backups to keep.'),
    hourly: option('n', 'Hourly backups to keep.'),
    daily: option('n', 'Daily backups to keep.'),
    weekly: option('n', 'Weekly backups to keep.'),
    monthly: option('n', 'Monthly backups to keep. Periods are in UTC.'),
  },
  details:
    'Options that are not given do not change. If all are 0, every backup is kept.\n' +
    'Locked backups and the newest complete one are always kept.',
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
  summary: 'Backups of a server: create, restore, undo, download.',
  details: `Name a backup by its number in the list, its id, or latest (the newest complete one).

Examples: ${DORMOUSE} backups make castle
          ${DORMOUSE} backups restore castle latest
          ${DORMOUSE} backups undo castle`,
  commands: [
    list,
    make,
    restore,
    undo,
    get,
    locking('lock', 'Lock a backup, so that retention never removes it.'),
    locking('unlock', 'Unlock a backup, so that retention applies again.'),
    remove,
    retention,
  ],
};
