import type { ReplyOf } from '../../http/operation.ts';
import { confirmed, hidden } from '../../web/form.ts';
import { type Html, html } from '../../web/html.ts';
import type { Page } from '../../web/page-request.ts';
import { fillingOf } from '../../web/panel/fields.ts';
import { panelForm } from '../../web/panel/form.ts';
import type { Panel, PanelRequest } from '../../web/panel/panel.ts';
import { timeTag } from '../../web/panel/time.ts';
import { listText } from '../../web/text.ts';
import { mountOperatorPage, operatorPage, reasonField } from './frame.ts';
import { ListOrphans, RemoveOrphan } from '../orphans-api.ts';

type Orphan = ReplyOf<typeof ListOrphans>['orphans'][number];

const PATH = '/operator/orphans';
const KINDS: Record<string, string> = {
  game: 'game',
  database: 'database',
  data: 'files',
  backups: 'backups',
  offsite: 'backup off site',
};

/** The label of an orphan's time, by kind; "Started" for others. */
const SINCE: Record<string, string> = { data: 'Last changed', backups: 'Last changed', offsite: 'Uploaded' };

/** Resources without a server, for example after a lost database, with their removal. */
export function mountOrphans(panel: Panel): void {
  mountOperatorPage(panel, {
    path: PATH,
    show: orphansPage,
    forms: {
      async remove({ call }, form) {
        const [kind = '', id = '', reason = ''] = ['kind', 'id', 'reason'].map((name) => form.get(name) ?? '');
        await call(RemoveOrphan, {}, { kind, id, reason });
        return 'removed';
      },
    },
    done: { removed: 'Removed.' },
  });
}

async function orphansPage(request: PanelRequest): Promise<Page> {
  const { orphans, unread } = await request.call(ListOrphans, {});
  const main = html`<section class="card">
    <p>
      Games, databases, files and backups without a server. Games end automatically, databases once their database
      server responds. Everything else stays until you remove it here.
    </p>
    ${
      unread.length > 0 &&
      html`<p class="note warn">Some could not be checked: ${listText(unread.map((kind) => KINDS[kind] ?? kind))}.</p>`
    }
    ${
      orphans.length === 0
        ? html`<p class="empty">Nothing here.</p>`
        : html`<ul class="list">
            ${orphans.map((orphan, nth) => orphanItem(request, orphan, nth))}
          </ul>`
    }
  </section>`;
  return operatorPage('Orphans', PATH, main);
}

function orphanItem(request: PanelRequest, { kind, id, up, at }: Orphan, nth: number): Html {
  const filled = fillingOf(request, 'remove', { kind, id }, String(nth));
  const what = KINDS[kind] ?? kind;
  return html`<li>
    <h2><code>${id}</code> <span class="tag calm">${what}</span> ${up && html`<span class="tag warn">runs</span>`}</h2>
    <p>${SINCE[kind] ?? 'Started'} ${at === null ? 'at an unknown time' : timeTag(at)}.</p>
    ${confirmed(
      kind === 'game' ? 'The game ends immediately, without saving.' : 'This can’t be undone.',
      'Remove…',
      `${what} of ${id}`,
      panelForm(
        request,
        'remove',
        html`${hidden('kind', kind)}${hidden('id', id)} ${reasonField(filled, 'Recorded in the audit log.')}
          <button class="danger" type="submit">Yes, remove the ${what} of ${id}</button>`,
      ),
    )}
  </li>`;
}
