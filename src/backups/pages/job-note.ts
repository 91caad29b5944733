import type { ReplyOf } from '../../http/operation.ts';
import { type Html, html } from '../../web/html.ts';
import { timeTag } from '../../web/panel/time.ts';
import { PREVIOUS } from '../rows.ts';
import { type Backup, progressBar } from './backup-item.ts';
import type { InspectMachine } from '../../servers/api/machine.ts';

/** Shows the running job on a server's files with its progress, or why the last one failed. */
export function jobNote(
  { job, jobError, state }: ReplyOf<typeof InspectMachine>,
  backups: readonly Backup[],
): Html | false {
  if (job === null) {
    return (
      jobError !== '' && html`<p class="note warn">The last file operation failed and changed nothing: ${jobError}</p>`
    );
  }
  const percent = backups.find(({ percent }) => percent > 0)?.percent ?? 0;
  return html`<section class="card">
    <h2>${title(job.kind)}</h2>
    <p>${state === 'maintaining' ? what(job, backups) : 'Starts once the server has stopped.'}</p>
    ${progressBar(percent, 'The work')}
  </section>`;
}

function title(kind: string): string {
  if (kind === 'world.reset') return 'Resetting the world';
  return kind === 'world.delete' ? 'Deleting a world' : 'Restoring a backup';
}

function what({ kind, target }: { kind: string; target: string }, backups: readonly Backup[]): Html {
  if (kind !== 'backup.restore') return html`<bdi>${target}</bdi>, with its Nether and End.`;
  if (target === PREVIOUS) return html`Undoing the last restore.`;
  const made = backups.find(({ id }) => id === target)?.createdAt;
  return html`${made ? html`The backup of ${timeTag(made)}.` : 'Moving the files into place.'} The server can’t start
  until this is done.`;
}
