import { softwareText } from '../../game/cores.ts';
import { BROWSER_PREFIX } from '../../http/session/browser-mount.ts';
import type { ReplyOf } from '../../http/operation.ts';
import { confirmed } from '../../web/form.ts';
import { isStoppedForIt, stopsText } from '../../servers/pages/parts.ts';
import { type Html, html } from '../../web/html.ts';
import { buttonForm } from '../../web/panel/form.ts';
import type { ServerRequest } from '../../web/panel/panel.ts';
import { agoTag, timeTag } from '../../web/panel/time.ts';
import { sizeText } from '../../web/text.ts';
import type { BackupKind } from '../rows.ts';
import type { ListBackups } from '../api.ts';

export type Backup = ReplyOf<typeof ListBackups>['backups'][number];

/** Texts for the reasons of backups. */
const KINDS: Partial<Record<string, string>> = {
  manual: 'manual',
  schedule: 'scheduled',
  install: 'before an install',
  reset: 'before a world reset',
  restore: 'before a restore',
} satisfies Partial<Record<BackupKind, string>>;

/** Shows one backup with its actions. `isRestored`: no start has succeeded since the last restore. */
export function backupItem(request: ServerRequest, backup: Backup, isRestored: boolean): Html {
  const { id, state, createdAt, locked, error, note } = backup;
  const made = createdAt ?? '';
  return html`<li id="${id}">
    <h3>${timeTag(made)} ${locked && html`<span class="tag">locked</span>`} ${stateTag(state)}</h3>
    ${error !== '' && html`<p class="wrong">${error}</p>`} ${note !== '' && html`<p>${note}</p>`}
    <p>${agoTag(made, request.now)}${about(backup).map((each) => html` · ${each}`)}</p>
    ${(state === 'running' || state === 'queued') && progressBar(backup.percent, 'The backup')}
    <div class="actions">${actions(request, backup, isRestored)}</div>
  </li>`;
}

/** Shows the files that the last restore replaced, while they are kept. */
export function undoCard(request: ServerRequest, previous: Backup): Html {
  const question = `All files return to their state before the restore. Everything restored or changed since then is discarded. If the server has run since, we back it up first.${stopsText(request)}`;
  return html`<section class="card">
    <h2>You can undo the last restore</h2>
    <p>
      The previous files (${sizeText(previous.sizeBytes)}) are kept until the server starts again. Restored
      ${agoTag(previous.createdAt ?? '', request.now)}.
    </p>
    ${confirmed(
      question,
      'Undo the restore',
      '',
      buttonForm(request, 'restore', 'Undo the restore', { fields: { backup: previous.id }, variant: 'danger' }),
    )}
  </section>`;
}

/** Shows progress; without a percentage if it is unknown. */
export function progressBar(percent: number, what: string): Html {
  if (percent === 0) return html`<p><progress aria-label="${what}" max="100"></progress></p>`;
  return html`<p>
    <progress aria-label="${what}" max="100" value="${percent}">${percent} %</progress> <small>${percent} %</small>
  </p>`;
}

function stateTag(state: string): Html | undefined {
  switch (state) {
    case 'ready':
      return undefined;
    case 'queued':
      return html`<span class="tag warn">queued</span>`;
    case 'running':
      return html`<span class="tag warn">in progress</span>`;
    default:
      return html`<span class="tag bad">${state}</span>`;
  }
}

function about({
  kind,
  label,
  state,
  sizeBytes,
  addedBytes,
  treeBytes,
  offSite,
  awaitingOffSite,
  ...software
}: Backup): string[] {
  const added = addedBytes === sizeBytes ? '' : `${sizeText(addedBytes)} added, `;
  const sizes = state === 'ready' ? [`${added}${sizeText(sizeBytes)}, ${sizeText(treeBytes)} unpacked`] : [];
  const place = [offSite && 'off site', awaitingOffSite && 'uploading off site'].filter((part) => part !== false);
  return [label || (KINDS[kind] ?? kind), ...sizes, ...place, softwareText(software)].filter((part) => part !== '');
}

function actions(request: ServerRequest, backup: Backup, isRestored: boolean): (Html | false)[] {
  const { id, state, locked } = backup;
  const what = html`the backup of ${timeTag(backup.createdAt ?? '')}`;
  const isReady = state === 'ready';
  const path = `${BROWSER_PREFIX}/v1/servers/${request.server.id}/backups/${id}:download`;
  const unseen = html`<span class="unseen"> ${what}</span>`;
  return [
    isReady && html`<a class="button second" href="${path}" download>Download${unseen}</a>`,
    isReady &&
      buttonForm(request, 'lock', html`${locked ? 'Unlock' : 'Lock'}${unseen}`, {
        fields: { backup: id, locked: String(!locked) },
      }),
    isReady &&
      confirmed(
        restoreText(request, backup, isRestored),
        'Restore…',
        what,
        buttonForm(request, 'restore', 'Restore', { fields: { backup: id }, variant: 'danger' }),
      ),
    !locked &&
      confirmed(
        isReady ? 'You can’t restore it afterwards.' : 'The backup stops and leaves the list.',
        state === 'queued' || state === 'running' ? 'Cancel…' : 'Delete…',
        what,
        buttonForm(request, 'delete', 'Delete', { fields: { backup: id }, variant: 'danger' }),
      ),
  ];
}

/** Returns the effects of a restore, for its confirmation. */
function restoreText(request: ServerRequest, backup: Backup, isRestored: boolean): string {
  const { server } = request;
  const [now, then] = [softwareText(server), softwareText(backup)];
  const software = then === now || then === '' ? '' : `, and it runs ${then} again, not ${now}`;
  const kept = isRestored
    ? 'If files changed since the last restore, we back them up first.'
    : `The current files are kept until the next successful start${isStoppedForIt(request) ? ' after this one' : ''}. Until then you can undo this.`;
  return `This replaces all files of the server with those of the backup${software}. ${kept}${stopsText(request)}`;
}
