import type { ReplyOf } from '../../http/operation.ts';
import { isAtLeast } from '../../http/roles.ts';
import { profilePage } from '../../accounts/page-parts.ts';
import { type AuditReader, auditWords } from '../../audit/words.ts';
import { type Html, html } from '../../web/html.ts';
import type { Page } from '../../web/page-request.ts';
import type { Panel, PanelRequest, ServerRequest } from '../../web/panel/panel.ts';
import { timeTag } from '../../web/panel/time.ts';
import { historyLinks } from './parts.ts';
import { ListAccountAudit, ListServerAudit } from '../api/audit.ts';
import { ListMembers } from '../api/members.ts';

type Entry = ReplyOf<typeof ListServerAudit>['entries'][number];

const ON_A_PAGE = 50;
/** The operations' limit. */
const MOST = 1_000;

/** Audit logs of a server and of an account. */
export function mountAudit(panel: Panel): void {
  panel.serverPage({ path: '/audit', show: serverAuditPage });
  panel.page({ path: '/profile/audit', show: accountAuditPage });
}

async function serverAuditPage(request: ServerRequest): Promise<Page> {
  const { call, principal, role } = request;
  const { id } = request.server;
  const [{ entries }, emails] = await Promise.all([
    call(ListServerAudit, { id }, { limit: limitOf(request) }),
    isAtLeast(role, 'owner') ? emailsOf(request) : NO_EMAILS,
  ]);
  const reader = { userId: principal.userId, emails };
  const cards = auditCards(request, entries, reader, 'Actions on this server, newest first.');
  return { title: 'Audit log', main: html`${historyLinks(request)} ${cards}` };
}

async function accountAuditPage(request: PanelRequest): Promise<Page> {
  const { accountId } = request.principal;
  const { entries } = await request.call(ListAccountAudit, { accountId }, { limit: limitOf(request) });
  const about = 'Sign-ins, keys, apps, members and billing, newest first. Each server has its own audit log.';
  const reader = { userId: request.principal.userId, emails: NO_EMAILS };
  return profilePage(request, 'Audit log', auditCards(request, entries, reader, about));
}

const NO_EMAILS: ReadonlyMap<string, string> = new Map();

/** Returns the addresses with which the owner invited the members. */
async function emailsOf({ call, server: { id } }: ServerRequest): Promise<ReadonlyMap<string, string>> {
  const { members } = await call(ListMembers, { id });
  return new Map(members.filter(({ pending }) => !pending).map(({ userId, email }) => [userId, email]));
}

function pageOf({ query }: PanelRequest): number {
  const page = Number(query.get('page') ?? '1');
  return Number.isInteger(page) && page >= 1 && page <= MOST / ON_A_PAGE ? page : 1;
}

/** Returns one more than is shown, to detect another page. */
function limitOf(request: PanelRequest): number {
  return Math.min(MOST, pageOf(request) * ON_A_PAGE + 1);
}

function auditCards(request: PanelRequest, entries: readonly Entry[], reader: AuditReader, about: string): Html {
  const page = pageOf(request);
  const shown = entries.slice((page - 1) * ON_A_PAGE, page * ON_A_PAGE);
  const link = (to: number, label: string) =>
    html`<a class="button second" href="${request.here}?page=${to}">${label}</a>`;
  return html`<section class="card flush">
      <h2>Audit log</h2>
      <p class="about">${about}</p>
      ${
        shown.length === 0
          ? html`<p class="empty">No entries yet.</p>`
          : html`<table class="rows">
              <thead>
                <tr>
                  <th scope="col">When</th>
                  <th scope="col">Who</th>
                  <th scope="col">What</th>
                </tr>
              </thead>
              <tbody>
                ${shown.map((entry) => row(entry, reader))}
              </tbody>
            </table>`
      }
    </section>
    <p class="pager">
      ${page > 1 && link(page - 1, 'Newer')} ${entries.length > page * ON_A_PAGE && link(page + 1, 'Older')}
    </p>`;
}

function row(entry: Entry, reader: AuditReader): Html {
  const { who, what, through, detail } = auditWords(entry, reader);
  return html`<tr>
    <th scope="row">${timeTag(entry.createdAt)}</th>
    <td data-label="Who">
      <span><bdi>${who}</bdi>${through !== '' && html`<small><bdi>${through}</bdi></small>`}</span>
    </td>
    <td data-label="What">
      <span>${what}${detail !== '' && html`<small><bdi>${detail}</bdi></small>`}</span>
    </td>
  </tr>`;
}
