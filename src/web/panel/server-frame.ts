import { BROWSER_PREFIX } from '../../http/session/browser-mount.ts';
import type { ReplyOf } from '../../http/operation.ts';
import { type Role, isAtLeast } from '../../http/roles.ts';
import { ASSETS } from '../assets.ts';
import { csrfField, hidden } from '../form.ts';
import { type Html, html } from '../html.ts';
import type { Page, SidePages, SignedInRequest } from '../page-request.ts';
import { plainName } from '../text.ts';
import { type FormPlace, addressOf } from './form.ts';
import { copyButton } from './parts.ts';
import { askFirst, buttonsOf, standingTag } from './state.ts';
import type { GetServer } from '../../servers/api/servers.ts';

/** Adds the common assets of panel pages. The page is live if scripts run. */
export function live(page: Page): Page {
  const { styles = [], libraries = [], scripts = [] } = page;
  return {
    ...page,
    styles: [ASSETS.panelStyle, ...styles],
    libraries: [ASSETS.idiomorph, ...libraries],
    scripts: [ASSETS.live, ASSETS.panelScript, ...scripts],
  };
}

/**
 * A note for when a page is not live, because its stream is interrupted or its session has ended. It names the files that
 * Ctrl K loads.
 */
export function liveNote(): Html {
  return html`<p
    class="live only-off"
    role="status"
    data-status
    data-keep
    data-palette="${ASSETS.palette}"
    data-palette-style="${ASSETS.paletteStyle}"
  ></p>`;
}

type Tab = readonly [group: string, path: string, name: string, least: Role];

/** The pages of a server in the order of their links, in groups, each with the minimum role. */
const TABS: readonly Tab[] = [
  ['Play', '', 'Overview', 'limited'],
  ['Play', '/console', 'Console', 'limited'],
  ['Play', '/players', 'Players', 'limited'],
  ['Content', '/files', 'Files', 'member'],
  ['Content', '/mods', 'Mods', 'member'],
  ['Content', '/worlds', 'Worlds', 'member'],
  ['Run', '/backups', 'Backups', 'member'],
  ['Run', '/schedules', 'Schedules', 'member'],
  ['Run', '/settings', 'Settings', 'member'],
  ['Run', '/ports', 'Ports', 'member'],
  ['Run', '/database', 'Database', 'member'],
  ['Share', '/members', 'Members', 'owner'],
  ['Share', '/bill', 'Bill', 'owner'],
  ['Share', '/audit', 'Audit', 'member'],
  ['Share', '/machine', 'Machine', 'limited'],
];

/** Pages about worlds, mods and lists of players, which the proxy in front of a network does not have. */
const OF_GAMES = new Set(['/players', '/mods', '/worlds']);

/** Returns whether servers have such a page; '' is the main page. */
export function isServerTab(path: string): boolean {
  return TABS.some(([, tab]) => tab === path);
}

/** The data of the frame: the server and the current page. */
interface Framed extends FormPlace, Pick<SignedInRequest, 'principal' | 'isFree'> {
  server: ReplyOf<typeof GetServer>;
  role: Role;
  playersOnline: number;
  /** Epoch ms. */
  now: number;
}

/**
 * Wraps a page of a server: its name, state, address and actions above it, and the links to the pages in `paths` beside
 * it.
 */
export function serverFrame(request: Framed, page: Page, paths: ReadonlySet<string>): Page {
  const { server } = request;
  const name = plainName(server.name) || server.id;
  const main = html`<div
    class="panel"
    data-stream="${BROWSER_PREFIX}/v1/servers/${server.id}/events/stream"
    data-csrf="${request.csrf}"
    data-here="${addressOf(request)}"
    data-now="${request.now}"
    ${
      isAtLeast(request.role, 'member') &&
      html`data-drop="${BROWSER_PREFIX}" data-drop-script="${ASSETS.dropScript}" data-server="${server.id}"`
    }
  >
    ${liveNote()}
    <div class="head" data-live="head">
      <h1><bdi>${name}</bdi> ${standingTag(request.server, request.server.startErrorCode, request.now)}</h1>
      <p class="where"><code>${server.addr}</code> ${copyButton(server.addr, 'the address')}</p>
      ${actions(request)}
    </div>
    <div id="page">${page.main}</div>
  </div>`;
  const title = page.title === name ? name : `${page.title} · ${name}`;
  return { ...page, title, main, pages: sidePages(request, name, paths) };
}

/** Returns the links to those of a server's pages that the reader may see and that are of use here. */
function sidePages(
  { server, role, principal, isFree, here }: Framed,
  name: string,
  paths: ReadonlySet<string>,
): SidePages {
  const top = `/servers/${server.id}`;
  // Others find the machine on the audit page, if they may see that.
  const hasMachine = principal.operator || !isAtLeast(role, 'member');
  const isShown = ([, path, , least]: Tab): boolean =>
    paths.has(path) &&
    isAtLeast(role, least) &&
    !(path === '/machine' && !hasMachine) &&
    !(server.type === 'velocity' && OF_GAMES.has(path));
  const isCurrent = (path: string): boolean =>
    isIn(here, top, path) || (path === '/audit' && !hasMachine && isIn(here, top, '/machine'));
  const groups = Map.groupBy(TABS.filter(isShown), ([group]) => group);
  return {
    label: name,
    groups: [...groups].map(([group, tabs]) => ({
      name: group,
      links: tabs.map(([, path, label]) => ({
        href: `${top}${path}`,
        label: path === '/bill' && isFree ? 'Awake time' : label,
        isCurrent: isCurrent(path),
      })),
    })),
    note:
      role !== 'owner' &&
      html`<p class="soft">
        ${role === 'limited' ? 'You have limited access here.' : 'You are a member here.'}
        <a href="/profile/invitations#shared">Leave…</a>
      </p>`,
  };
}

/** Returns whether a page is at a path of the list or below it. */
function isIn(here: string, top: string, path: string): boolean {
  return here === `${top}${path}` || (path !== '' && here.startsWith(`${top}${path}/`));
}

/** The actions currently possible, for each page. Those that disconnect players ask first. */
function actions(request: Framed): Html | false {
  const { server, csrf, playersOnline } = request;
  const back = addressOf(request);
  const possible = buttonsOf(server, server.startErrorCode);
  const buttons = possible.map((button) => {
    const { verb, variant } = button;
    const form = (text: string, fields: Record<string, string> = {}) =>
      html`<form method="post" action="/servers/${server.id}/${verb}" data-swap>
        ${csrfField(csrf)}${hidden('back', back)}${Object.entries(fields).map(([name, value]) => hidden(name, value))}<button
          class="${variant}"
          type="submit"
        >
          ${text}
        </button>
      </form>`;
    return askFirst({ ...button, id: `ask-${verb}` }, playersOnline, form);
  });
  return buttons.length > 0 && html`<div class="actions">${buttons}</div>`;
}
