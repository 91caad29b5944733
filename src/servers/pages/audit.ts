import type { ReplyOf } from '../../http/operation.ts';
import { isAtLeast } from '../../http/roles.ts';
import { profilePage } from '../../accounts/page-parts.ts';
import { type AuditReader, KINDS, auditWords, groupWords, groupedEntries } from '../../audit/words.ts';
import { ASSETS } from '../../web/assets.ts';
import { type Html, html } from '../../web/html.ts';
import type { Page } from '../../web/page-request.ts';
import type { Panel, PanelRequest, ServerRequest } from '../../web/panel/panel.ts';
import { SEARCH_CHARS, cursorPager, filterChoice, filterForm, rowTable } from '../../web/panel/parts.ts';
import { timeTag } from '../../web/panel/time.ts';
import { plainName } from '../../web/text.ts';
import { historyLinks } from './parts.ts';
import { ListAccountAudit, ListServerAudit } from '../api/audit.ts';
import { ListMembers } from '../api/members.ts';

type AuditList = ReplyOf<typeof ListServerAudit>;
type Entry = AuditList['entries'][number];

/** Lines on a page, and the entries that they may group. */
const LINES = 50;
const ENTRIES = 200;
/** Kinds of entries that only servers' logs contain; both logs contain those of `SHARED`. */
const OF_SERVERS = 'console file sftp backup world mod players schedule database usage'.split(' ');
const SHARED = ['server', 'member'];

/** Audit logs of a server and of an account. */
export function mountAudit(panel: Panel): void {
  panel.serverPage({ path: '/audit', show: serverAuditPage });
  panel.page({ path: '/profile/audit', show: accountAuditPage });
}

async function serverAuditPage(request: ServerRequest): Promise<Page> {
  const { call, principal, role } = request;
  const { id } = request.server;
  const [list, emails] = await Promise.all([
    call(ListServerAudit, { id }, askedOf(request)),
    isAtLeast(role, 'owner') ? emailsOf(request) : NO_EMAILS,
  ]);
  const reader = { userId: principal.userId, emails };
  const about = 'Actions on this server, newest first.';
  const people = [...emails, ['player', 'Players'], ['schedule', 'Schedules'], ['operator', 'The operator']] as const;
  const kinds = [...SHARED, ...OF_SERVERS];
  const cards = auditCards(request, list, { reader, about, people, kinds, server: id });
  return { title: 'Audit log', main: html`${historyLinks(request)} ${cards}`, ...FILES };
}

async function accountAuditPage(request: PanelRequest): Promise<Page> {
  const { accountId } = request.principal;
  const list = await request.call(ListAccountAudit, { accountId }, askedOf(request));
  const about = 'Sign-ins, keys, apps, members and billing, newest first. Each server has its own audit log.';
  const reader = { userId: request.principal.userId, emails: NO_EMAILS };
  const kinds = Object.keys(KINDS).filter((kind) => !OF_SERVERS.includes(kind));
  const cards = auditCards(request, list, { reader, about, people: [], kinds, server: '' });
  return { ...profilePage(request, 'Audit log', cards), ...FILES };
}

const FILES = { styles: [ASSETS.listsStyle], scripts: [ASSETS.listsScript] };
const NO_EMAILS: ReadonlyMap<string, string> = new Map();

/** Returns the addresses with which the owner invited the members. */
async function emailsOf({ call, server: { id } }: ServerRequest): Promise<ReadonlyMap<string, string>> {
  const { members } = await call(ListMembers, { id });
  return new Map(members.filter(({ pending }) => !pending).map(({ userId, email }) => [userId, email]));
}

function askedOf({ query }: PanelRequest) {
  const field = (name: string, most = SEARCH_CHARS) => plainName(query.get(name) ?? '', most);
  return {
    limit: ENTRIES,
    after: field('after', 64),
    search: field('q'),
    action: field('action', 64),
    actor: field('actor'),
  };
}

/** The texts and choices of a log. */
interface Log {
  reader: AuditReader;
  about: string;
  /** Values of `actor` and their names, beside those that each log has. */
  people: readonly (readonly [string, string])[];
  kinds: readonly string[];
  /** The server of the log, which its entries need not name; '' for an account's log. */
  server: string;
}

function auditCards(request: PanelRequest, list: AuditList, log: Log): Html {
  const { reader, about, people, kinds } = log;
  const { search, action, actor } = askedOf(request);
  const groups = groupedEntries(list.entries);
  const shown = groups.slice(0, LINES);
  const next = groups.length > LINES ? (shown.at(-1)?.at(-1)?.id ?? '') : list.next;
  const anyone = [
    ['', 'Anyone'],
    [reader.userId, 'You'],
    ...people,
    ['key', 'API keys'],
    ['app', 'Apps'],
    ['system', 'Dormouse'],
  ] as const;
  const anything = [['', 'Everything'], ...kinds.map((kind) => [kind, KINDS[kind] ?? kind] as const)] as const;
  const choices = html`${filterChoice('action', 'What', anything, action)}
  ${filterChoice('actor', 'Who', anyone, actor)}`;
  const isAll = search === '' && action === '' && actor === '';
  return html`${filterForm(request.here, { value: search, hint: 'path, player, setting or key' }, choices)}
    <div data-live="audit">
      <section class="card flush">
        <h2>Audit log</h2>
        <p class="about">${about}</p>
        ${
          shown.length > 0
            ? rowTable(
                'Audit log',
                ['When', 'Who', 'What'],
                shown.map((group) => row(group, log)),
              )
            : isAll
              ? html`<p class="empty">No entries yet.</p>`
              : html`<p class="empty">No entry matches. <a href="${request.here}">Show all</a></p>`
        }
      </section>
      ${cursorPager(request, next, ['Newest', 'Older'])}
    </div>`;
}

/** A line: an entry, or a group of entries that opens. */
function row(group: readonly [Entry, ...Entry[]], { reader, server }: Log): Html {
  const [entry] = group;
  const { who, what, through, detail } = auditWords(entry, reader);
  const about = [detail, entry.serverId === server ? '' : entry.serverId].filter((text) => text !== '').join(', ');
  return html`<tr id="${group.at(-1)?.id}">
    <th scope="row">${timeTag(entry.createdAt)}</th>
    <td data-label="Who">
      <span><bdi>${who}</bdi>${through !== '' && html`<small><bdi>${through}</bdi></small>`}</span>
    </td>
    <td data-label="What">
      ${
        group.length > 1
          ? html`<details>
              <summary><bdi>${groupWords(group)}</bdi></summary>
              <ul class="plain">
                ${group.map((each) => html`<li>${timeTag(each.createdAt)} <bdi>${plainName(each.detail, 300)}</bdi></li>`)}
              </ul>
            </details>`
          : html`<span>${what}${about !== '' && html`<small><bdi>${about}</bdi></small>`}</span>`
      }
    </td>
  </tr>`;
}
