import { softwareText } from '../../game/cores.ts';
import { BROWSER_PREFIX } from '../../http/session/browser-mount.ts';
import type { ReplyOf } from '../../http/operation.ts';
import type { Role } from '../../http/roles.ts';
import { dayStart } from '../../kernel/calendar.ts';
import { usdText } from '../../kernel/money.ts';
import { naturalOrder } from '../../kernel/natural-order.ts';
import { ASSETS } from '../../web/assets.ts';
import { type Html, html } from '../../web/html.ts';
import type { Page } from '../../web/page-request.ts';
import { addressOf, buttonForm } from '../../web/panel/form.ts';
import type { Panel, PanelRequest } from '../../web/panel/panel.ts';
import {
  SEARCH_CHARS,
  copyButton,
  filterChoice,
  filterForm,
  foundBy,
  partOf,
  rowTable,
} from '../../web/panel/parts.ts';
import { askFirst, buttonsOf, standingTag, stateWords } from '../../web/panel/state.ts';
import { agoTag } from '../../web/panel/time.ts';
import { ramText, sinceTime, wokenWords } from '../../web/panel/words.ts';
import { countText, plainName } from '../../web/text.ts';
import type { Accounts } from '../../accounts/accounts.ts';
import type { Addresses } from '../api/addresses.ts';
import { type TransitionRow, listStatesSince } from '../machine-rows.ts';
import type { Servers } from '../servers.ts';
import type { ServerBlocks } from '../server-now.ts';
import { dayStrip } from './day.ts';
import { commandForms } from './parts.ts';
import { createFirst, firstSteps } from './first-server.ts';
import { UNREADY, type WakeFacts, obstaclesTo, wakeText, whyText } from './obstacles.ts';
import { invitationItem } from '../../access/invitations-pages.ts';
import { invitationsOf } from '../../access/members.ts';
import { GetSpendCap } from '../../billing/api.ts';
import { ListMyServers } from '../api/my-servers.ts';

const CARDS = 24;
const ROWS = 40;
/** Number of servers from which on the list can be searched and sorted. */
const MANY = 6;

type Summary = ReplyOf<typeof ListMyServers>['my'][number];

/** Dependencies of the page. The API's list does not include obstacles to servers. */
interface ListOptions {
  servers: Servers;
  blocks: ServerBlocks;
  /** Whether any player may wake the server by joining. */
  playersWake: (serverId: string) => boolean;
  addresses: Addresses;
  accounts: Accounts;
}

/** A user's servers as cards, or the form that creates the first one. */
export function mountServerList(panel: Panel, options: ListOptions): void {
  panel.page({
    path: '/servers',
    stream: '/v1/me/servers/events/stream',
    show: (request) => listPage(request, options),
    forms: {
      // The list shows why a command was refused.
      ...commandForms(
        (_, form) => form.get('id') ?? '',
        ({ query }) => addressOf({ here: '/servers', query }),
      ),
      first: createFirst,
      async dismiss({ principal }) {
        await options.accounts.firstRunFile?.dismissed(principal.accountId);
        return { to: '/servers', endsTour: true };
      },
    },
  });
}

async function listPage(request: PanelRequest, options: ListOptions): Promise<Page> {
  const { accountId } = request.principal;
  const [{ my, shared }, spent, invitations] = await Promise.all([
    request.call(ListMyServers, {}),
    request.call(GetSpendCap, { accountId }),
    invitationsOf(options.accounts.store, request.principal),
  ]);
  const costs = new Map(spent.servers.map(({ serverId, spentMicros }) => [serverId, Number(spentMicros)]));
  const servers = [...my, ...shared];
  const costOf = ({ id }: Summary) => costs.get(id) ?? 0;
  const { search, sort, isTable } = askedOf(request);
  const found = sortedServers(foundServers(servers, search), sort, costOf);
  const { shown, pager } = partOf(request, found, { key: 'from', most: isTable ? ROWS : CARDS, of: 'servers' });
  // The guide to a first join needs the first server, whichever page is shown.
  const wakeFactsOf = await readWakeFacts([...new Set([...my.slice(0, 1), ...shown])], options);
  const entered = isTable ? [] : await todaysStates(request, shown, options);
  const enteredOf = Map.groupBy(entered, ({ serverId }) => serverId);
  const tour = await firstSteps(request, my, { shared: shared.length, wakeFactsOf, addresses: options.addresses });
  const main = html`<div class="head">
      <h1>Servers</h1>
      ${servers.length > 0 && html`<a class="button" href="/servers/new">New server</a>`}
    </div>
    ${
      invitations.length > 0 &&
      html`<section class="card">
        <h2>Invitations to you</h2>
        <ul class="list">
          ${invitations.map((invitation) => invitationItem(request, invitation))}
        </ul>
      </section>`
    }
    ${tour.shown} ${servers.length >= MANY && listFilter(request)}
    <div data-live="list" data-now="${request.now}">
      ${
        search !== '' &&
        html`<p class="soft found" role="status">
          ${found.length} of ${countText(servers.length, 'server')}. <a href="/servers">Show all</a>
        </p>`
      }
      ${
        shown.length > 0 &&
        (isTable
          ? html`<section class="card flush servers">${serverTable(request, shown, costOf, wakeFactsOf)}</section>`
          : html`<ul class="cards">
              ${shown.map((server) =>
                serverCard(request, server, {
                  micros: costOf(server),
                  entered: enteredOf.get(server.id) ?? [],
                  ...wakeFactsOf(server),
                }),
              )}
            </ul>`)
      }
      ${pager}
    </div>`;
  return {
    title: 'Servers',
    main,
    endsTour: tour.isOver && !request.tourOver,
    styles: [ASSETS.serversStyle],
    scripts: [ASSETS.listsScript],
  };
}

const SORTS = { '': 'Awake first', name: 'Name', played: 'Last played', cost: 'Cost this month' } as const;
type Sort = keyof typeof SORTS;

function askedOf({ query, isFree }: PanelRequest): { search: string; sort: Sort; isTable: boolean } {
  const sort = query.get('sort') ?? '';
  const isKnown = Object.hasOwn(SORTS, sort) && !(isFree && sort === 'cost');
  return {
    search: plainName(query.get('q') ?? '', SEARCH_CHARS),
    sort: isKnown ? (sort as Sort) : '',
    isTable: query.get('view') === 'table',
  };
}

function listFilter(request: PanelRequest): Html {
  const { search, sort, isTable } = askedOf(request);
  const sorts = Object.entries(SORTS).filter(([value]) => !(request.isFree && value === 'cost'));
  const views = [
    ['', 'Cards'],
    ['table', 'Table'],
  ] as const;
  return filterForm(
    '/servers',
    { value: search, hint: 'name, tag, address, software or state' },
    html`${filterChoice('sort', 'Sort by', sorts, sort)}
    ${filterChoice('view', 'Show as', views, isTable ? 'table' : '')}`,
  );
}

/** Returns the servers that contain every word of the search, in their name, tags, id, address, software, region or state. */
export function foundServers<Of extends Listed>(servers: readonly Of[], search: string): Of[] {
  return foundBy(search, servers, (server) => {
    const { name = '', tags = [], id, address, region, state } = server;
    return [name, ...tags, id, address, softwareText(server), region, stateWords(state)];
  });
}

/** Returns the servers in an order of `SORTS`; equal ones by name. `costOf`: the cost this month. */
export function sortedServers<Of extends Listed>(
  servers: readonly Of[],
  sort: Sort,
  costOf: (server: Of) => number,
): Of[] {
  const keyOf: Record<Sort, (server: Of) => number> = {
    '': ({ state }) => (state === 'hibernated' ? 0 : state === 'running' ? 2 : 1),
    name: () => 0,
    played: ({ lastActiveAt }) => (lastActiveAt === undefined ? 0 : Date.parse(lastActiveAt)),
    cost: costOf,
  };
  const key = keyOf[sort];
  return servers.toSorted((a, b) => key(b) - key(a) || naturalOrder(nameOf(a), nameOf(b)));
}

/** The fields by which servers are found and sorted. */
type Listed = Omit<Summary, 'cause' | 'awakeSince'>;

function nameOf({ name = '', id }: Listed): string {
  return plainName(name) || id;
}

/** Links from the tags of a server to all servers that have them. */
function tagLinks({ tags = [] }: Summary): Html | false {
  return (
    tags.length > 0 &&
    html`<p class="tags">
      ${tags.map((tag) => html`<a class="tag" href="/servers?q=${encodeURIComponent(tag)}"><bdi>${tag}</bdi></a> `)}
    </p>`
  );
}

function serverTable(
  request: PanelRequest,
  shown: readonly Summary[],
  costOf: (server: Summary) => number,
  wakeFactsOf: (server: Summary) => WakeFacts,
): Html {
  const headings = ['Server', 'State', 'Software', 'Last played', ...(request.isFree ? [] : ['This month']), 'Actions'];
  const rows = shown.map((server) => {
    const { id, address, state, lastActiveAt, playersOnline = 0, role } = server;
    const { why } = wakeFactsOf(server);
    return html`<tr id="server-${id}">
      <th scope="row">
        <a href="/servers/${id}"><bdi>${nameOf(server)}</bdi></a>
        <small><code>${address}</code></small
        >${tagLinks(server)}
      </th>
      <td data-label="State">
        <span
          >${standingTag(server, why?.code, request.now)}${state === 'running' && html`<small>${playersText(playersOnline)}</small>`}</span
        >
      </td>
      <td data-label="Software">${softwareText(server)}</td>
      <td data-label="Last played">
        ${lastActiveAt === undefined ? html`<span class="soft">–</span>` : agoTag(lastActiveAt, request.now)}
      </td>
      ${
        !request.isFree &&
        html`<td data-label="This month">
          ${role === 'owner' ? usdText(costOf(server)) : html`<span class="soft">–</span>`}
        </td>`
      }
      <td data-label="Actions">${serverButtons(request, server, why?.code)}</td>
    </tr>`;
  });
  return rowTable('Servers', headings, rows);
}

function serverButtons(request: PanelRequest, server: Summary, code: string | undefined): Html {
  const { id, playersOnline } = server;
  const name = nameOf(server);
  return html`<div class="actions">
    ${buttonsOf(server, code).map((button) =>
      askFirst(
        { ...button, id: `ask-${button.verb}-${id}`, variant: 'second', name },
        playersOnline ?? 0,
        (text, fields) =>
          buttonForm(request, button.verb, html`${text}<span class="unseen"> ${name}</span>`, {
            fields: { id, ...fields },
          }),
      ),
    )}
  </div>`;
}

/** Returns the obstacles to the next join of each server. */
async function readWakeFacts(shown: readonly Summary[], options: ListOptions): Promise<(server: Summary) => WakeFacts> {
  const { servers, blocks, playersWake } = options;
  const live = new Map(servers.live().map((now) => [now.row.id, now]));
  const whyOf = ({ id }: Summary) => blocks.of(id, live.get(id));
  const sleepers = shown.filter((server) => server.state === 'hibernated' && whyOf(server) === undefined);
  const known = sleepers.map(({ id, role }) => ({ id, role: role as Role }));
  const obstacles = await obstaclesTo(known, servers, playersWake);
  return (server) => {
    const { id } = server;
    return { why: whyOf(server), playersWake: playersWake(id), obstacle: obstacles.get(id) };
  };
}

interface CardFacts extends WakeFacts {
  /** Cost this month. */
  micros: number;
  /** Today's states, oldest first, as far back as they are known. */
  entered: readonly TransitionRow[];
}

function todaysStates({ now }: PanelRequest, shown: readonly Summary[], { accounts }: ListOptions) {
  const ids = shown.map(({ id }) => id);
  return listStatesSince(accounts.store, ids, dayStart(now));
}

function serverCard(request: PanelRequest, server: Summary, { micros, entered, ...wakeFacts }: CardFacts): Html {
  const { why } = wakeFacts;
  const { id, address, type, version, playersOnline, role, ramMb = 0 } = server;
  const name = nameOf(server);
  return html`<li class="card server" id="server-${id}">
    <img src="${BROWSER_PREFIX}/v1/servers/${id}/icon" alt="" width="56" height="56" />
    <div class="heading">
      <h2>
        <a href="/servers/${id}"><bdi>${name}</bdi></a>
      </h2>
      ${standingTag(server, why?.code, request.now)}
    </div>
    <p class="where"><code>${address}</code> ${copyButton(address, `the address of ${name}`)}</p>
    <p class="soft">
      ${
        why === undefined
          ? html`${playersOnline !== undefined && html`<strong>${playersText(playersOnline)}</strong> · `}${awakeText(request, server, wakeFacts)}`
          : whyText(why)
      }
    </p>
    <p class="soft">
      ${inFacts([
        softwareText({ type, version }),
        ramText(ramMb),
        ...(role !== 'owner' ? [`your role: ${role}`] : request.isFree ? [] : [`${usdText(micros)} this month`]),
      ])}
    </p>
    ${dayStrip(entered, server.state, request.now)} ${tagLinks(server)} ${serverButtons(request, server, why?.code)}
  </li>`;
}

function awakeText(request: PanelRequest, { state, awakeSince, cause }: Summary, wakeFacts: WakeFacts): Html {
  if (state === 'hibernated') return html`${wakeText(wakeFacts)}`;
  if (awakeSince === undefined || cause === undefined)
    return html`${UNREADY[state] ?? (request.isFree ? 'Not running' : 'No cost now')}`;
  const since = sinceTime(Date.parse(awakeSince), request.now);
  return html`${state === 'running' ? 'awake' : 'woken'} for ${since}${wokenWords(cause, request.principal)}`;
}

/** Joins short facts. Each stays on one line. */
function inFacts(facts: readonly string[]): Html[] {
  return facts.map((each, nth) => html`${nth > 0 && ' · '}<span class="piece">${each}</span>`);
}

/** Formats a number of players: `1 playing`. */
function playersText(count: number): string {
  return `${count === 0 ? 'no one' : count} playing`;
}
