import { html } from '../../web/html.ts';
import type { Page } from '../../web/page-request.ts';
import { buttonForm } from '../../web/panel/form.ts';
import { inShort } from '../../web/panel/in-short.ts';
import type { Panel, PanelPage, ServerRequest } from '../../web/panel/panel.ts';
import { partOf } from '../../web/panel/parts.ts';
import { PREVIOUS } from '../rows.ts';
import { type Backup, backupItem, undoCard } from './backup-item.ts';
import { jobNote } from './job-note.ts';
import { goingBy, retentionCard, retentionIn } from './retention-card.ts';
import { CreateBackup, DeleteBackup, ListBackups, RestoreBackup, SetBackupLocked, SetBackupRetention } from '../api.ts';
import { InspectMachine } from '../../servers/api/machine.ts';

const ON_A_PAGE = 16;

/** The pages of a server's backups: create, restore, lock and delete. */
export function mountBackupPages(panel: Panel): void {
  panel.serverPage({ path: '/backups', show: (request) => backupsPage(request), forms: FORMS, done: DONE });
}

const DONE = {
  asked: 'Backup started.',
  restored: 'Backup restored.',
  restoring: 'Restore started. This takes a while; you can leave this page.',
  undone: 'Restore undone.',
  locked: 'Backup locked.',
  unlocked: 'Backup unlocked.',
  deleted: 'Backup deleted.',
  retention: 'Retention saved. It applies from the next backup.',
};

const FORMS: NonNullable<PanelPage<ServerRequest>['forms']> = {
  async make({ call, server: { id } }) {
    await call(CreateBackup, { id });
    return 'asked';
  },
  async restore({ call, server: { id } }, form) {
    const backupId = form.get('backup') ?? '';
    const work = call(RestoreBackup, { id, backupId });
    return await inShort(work, backupId === PREVIOUS ? 'undone' : 'restored', 'restoring');
  },
  async lock({ call, server: { id } }, form) {
    const locked = form.get('locked') === 'true';
    await call(SetBackupLocked, { id, backupId: form.get('backup') ?? '' }, { locked });
    return locked ? 'locked' : 'unlocked';
  },
  async delete({ call, server: { id } }, form) {
    await call(DeleteBackup, { id, backupId: form.get('backup') ?? '' });
    return 'deleted';
  },
  async retention(request, form) {
    const { call, server } = request;
    const goes = await goingBy(request, form);
    // Asks for confirmation with the number of backups affected. If that has grown, asks again.
    if (goes > Number(form.get('goes') ?? 0))
      return await backupsPage({ ...request, sent: form, failed: 'retention' }, goes);
    // The operation refuses invalid numbers and says which are valid.
    await call(SetBackupRetention, { id: server.id }, Object.fromEntries(retentionIn(form)) as object);
    return 'retention';
  },
};

/** `goes`: number of backups that the requested retention would remove. */
async function backupsPage(request: ServerRequest, goes = 0): Promise<Page> {
  const { call, server } = request;
  const [{ backups, retention }, machine] = await Promise.all([
    call(ListBackups, { id: server.id }),
    call(InspectMachine, { id: server.id }),
  ]);
  const previous = backups.find(({ id }) => id === PREVIOUS);
  const kept = backups.filter((backup) => backup !== previous);
  const { shown, pager } = partOf(request, kept, { key: 'from', most: ON_A_PAGE, of: 'backups' });
  const main = html`<div data-live="work">${jobNote(machine, backups)}${previous && undoCard(request, previous)}</div>
    <section class="card" data-live="backups">
      <div class="heading">
        <h2>Backups</h2>
        ${!isMaking(kept) && buttonForm(request, 'make', 'Back up now', { variant: '' })}
      </div>
      <p>Backs up all files, with the version and mods. Works while people play.</p>
      ${
        kept.length === 0
          ? html`<p class="empty">No backups yet.</p>`
          : html`<ul class="list">
              ${shown.map((backup) => backupItem(request, backup, previous !== undefined))}
            </ul>`
      }
      ${pager}
    </section>
    ${retentionCard(request, retention, goes)}`;
  return { title: 'Backups', main };
}

/** Reports whether a backup is in progress, so that the next must wait. */
function isMaking(backups: readonly Backup[]): boolean {
  return backups.some(({ state }) => state === 'queued' || state === 'running');
}
