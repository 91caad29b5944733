import type { ReplyOf } from '../../http/operation.ts';
import { ASSETS } from '../../web/assets.ts';
import { type Html, html } from '../../web/html.ts';
import type { Page } from '../../web/page-request.ts';
import type { Panel, PanelRequest } from '../../web/panel/panel.ts';
import { cursorPager, rowTable } from '../../web/panel/parts.ts';
import { stateText } from '../../web/panel/state.ts';
import { sinceTime, spanText } from '../../web/panel/words.ts';
import { ROWS, addressOf, liveNote, mountOperatorPage, operatorPage } from './frame.ts';
import { type MachineSummary, causeText, instantOf, machineName, stateTag, waitsText } from './machine-text.ts';
import { ListMachines } from '../machines-api.ts';

/** Options for the least time in a transitional state. */
const STUCK_SECONDS = [30, 60, 300, 900, 3_600];
/** A transitional state longer than this is highlighted. */
const LONG_MS = 300_000;
const KINDS = new Set(['server', 'grant']);

/** The page's filter. */
interface Asked {
  state: string;
  search: string;
  kind: '' | 'server' | 'grant';
  /** 0: no minimum. */
  stuck: number;
  after: string;
}

/** Notes on settings for operators. */
type Notes = (operator: PanelRequest['principal']) => readonly Html[];

/** The operators' table of all state machines. Works without scripts; with them, it updates live. */
export function mountMachines(panel: Panel, notes: Notes): void {
  const show = (request: PanelRequest) => machinesPage(request, notes(request.principal));
  mountOperatorPage(panel, { path: '/operator', show, stream: '/v1/operator/machines:stream', saysLive: true });
}

async function machinesPage(request: PanelRequest, notes: readonly Html[]): Promise<Page> {
  const { call, query, now } = request;
  const asked = askedOf(query);
  const { machines: shown, next, counts } = await call(ListMachines, {}, queryOf(asked));
  const head = html`<div class="head">
    <h1>Machines</h1>
    ${liveNote(pathOf(asked))}
  </div>`;
  const main = html`${filterForm(asked)} ${notes.map((note) => html`<p class="note warn">${note}</p>`)}
    <div data-live="list" data-now="${now}">
      ${chips(asked, counts)}
      <div class="card flush">
        ${
          shown.length === 0
            ? html`<p class="empty">No machine matches. <a href="/operator">Show all</a></p>`
            : rowTable(
                'Machines, those in transition first',
                ['Machine', 'State', 'For', 'Waits for', 'Cause', 'Account'],
                shown.map((machine) => machineRow(machine, now)),
              )
        }
      </div>
      ${cursorPager(request, next)}
    </div>`;
  return { ...operatorPage('Machines', '/operator', main, head), scripts: [ASSETS.machinesScript] };
}

function machineRow(machine: MachineSummary, now: number): Html {
  const { id, kind, state, path, cause, accountId, passing } = machine;
  const since = instantOf(machine.since);
  const long = passing && kind === 'server' && now - since >= LONG_MS;
  return html`<tr data-machine="${id}" ${long && html`class="long"`}>
    <th scope="row">
      <a href="/operator/machines/${id}"><bdi>${machineName(machine)}</bdi></a>
      <small><code>${id}</code>${kind === 'grant' && html` · device grant`}</small>
    </th>
    <td data-label="State">
      ${stateTag(state)}${path.includes('.') && html`<small>${path.slice(path.indexOf('.') + 1)}</small>`}
    </td>
    <td data-label="For">${sinceTime(since, now)}${long && html`<small class="stuck">longer than usual</small>`}</td>
    <td data-label="Waits for">${waitsText(machine)}</td>
    <td data-label="Cause">${causeText(cause)}</td>
    <td data-label="Account">
      ${accountId === '' ? html`<span class="soft">–</span>` : html`<a href="${accountPath(accountId)}"><code>${accountId}</code></a>`}
    </td>
  </tr>`;
}

function filterForm({ search, state, kind, stuck }: Asked): Html {
  return html`<form class="card filter" method="get" action="/operator" role="search">
    <div>
      <label for="q">Search</label>
      <input id="q" name="q" type="text" value="${search}" maxlength="100" placeholder="id, name or account" />
    </div>
    <div>
      <label for="kind">Kind</label>
      <select id="kind" name="kind">
        ${[
          ['', 'All'],
          ['server', 'Servers'],
          ['grant', 'Device grants'],
        ].map(([value, name]) => option(value ?? '', name ?? '', kind))}
      </select>
    </div>
    <div>
      <label for="stuck">In progress for</label>
      <select id="stuck" name="stuck">
        ${option('', 'any time', String(stuck || ''))}
        ${STUCK_SECONDS.map((seconds) => option(String(seconds), `${spanText(seconds * 1_000)} or more`, String(stuck)))}
      </select>
    </div>
    ${state !== '' && html`<input type="hidden" name="state" value="${state}" />`}
    <button type="submit">Show</button>
  </form>`;
}

function option(value: string, name: string, chosen: string): Html {
  return html`<option value="${value}" ${value === chosen && html`selected`}>${name}</option>`;
}

function chips(asked: Asked, counts: ReplyOf<typeof ListMachines>['counts']): Html {
  const all = counts.reduce((sum, { count }) => sum + count, 0);
  const chip = (state: string, name: string, count: number) =>
    html`<li>
      <a href="${pathOf({ ...asked, state, after: '' })}" ${asked.state === state && html`aria-current="true"`}
        >${name} <b>${count}</b></a
      >
    </li>`;
  const known = counts.toSorted((a, b) => orderOf(a.state) - orderOf(b.state) || (a.state < b.state ? -1 : 1));
  const missing = asked.state !== '' && !counts.some(({ state }) => state === asked.state);
  return html`<nav aria-label="States">
    <ul class="chips">
      ${chip('', 'all', all)}${known.map(({ state, count }) => chip(state, stateText(state), count))}
      ${missing && chip(asked.state, stateText(asked.state), 0)}
    </ul>
  </nav>`;
}

const ORDER = [
  'installing',
  'starting',
  'stopping',
  'deleting',
  'install_failed',
  'start_failed',
  'running',
  'pending',
  'approved',
  'hibernated',
];

function orderOf(state: string): number {
  const place = ORDER.indexOf(state);
  return place === -1 ? ORDER.length : place;
}

function askedOf(query: URLSearchParams): Asked {
  const kind = query.get('kind') ?? '';
  const stuck = Number(query.get('stuck') ?? '');
  return {
    state: (query.get('state') ?? '').slice(0, 32),
    search: (query.get('q') ?? '').slice(0, 100).trim(),
    kind: KINDS.has(kind) ? (kind as Asked['kind']) : '',
    stuck: Number.isSafeInteger(stuck) && stuck > 0 && stuck < 1e9 ? stuck : 0,
    after: (query.get('after') ?? '').slice(0, 200),
  };
}

function queryOf({ state, search, kind, stuck, after }: Asked) {
  const stuckFor = stuck === 0 ? {} : { stuckForSeconds: stuck };
  return { state: storable(state), search: storable(search), kind, ...stuckFor, after, limit: ROWS, counts: true };
}

/** Returns a text without characters that databases refuse. */
function storable(text: string): string {
  return text.toWellFormed().replaceAll('\0', '');
}

function pathOf({ state, search, kind, stuck, after }: Asked): string {
  return addressOf('/operator', { q: search, state, kind, stuck: stuck === 0 ? '' : String(stuck), after });
}

function accountPath(accountId: string): string {
  return pathOf({ state: '', search: accountId, kind: '', stuck: 0, after: '' });
}
