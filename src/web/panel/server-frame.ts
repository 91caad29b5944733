import { BROWSER_PREFIX } from '../../http/session/browser-mount.ts';
import type { ReplyOf } from '../../http/operation.ts';
import { type Role, isAtLeast } from '../../http/roles.ts';
import { ASSETS } from '../assets.ts';
import { csrfField, hidden } from '../form.ts';
import { type Html, html } from '../html.ts';
import type { Page } from '../page-request.ts';
import { plainName } from '../text.ts';
import { type FormPlace, addressOf } from './form.ts';
import { copyButton } from './parts.ts';
import { buttonsOf, stateTag } from './state.ts';
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

/** A note for when a page is not live, because its stream is interrupted or its session has ended. */
export function liveNote(): Html {
  return html`<p class="live only-off" role="status" data-status data-keep></p>`;
}

/** The pages of a server in the order of their tabs, each with the minimum role. */
const TABS: readonly (readonly [path: string, name: string, least: Role])[] = [
  ['', 'Overview', 'limited'],
  ['/console', 'Console', 'limited'],
  ['/players', 'Players', 'limited'],
  ['/files', 'Files', 'member'],
  ['/mods', 'Mods', 'member'],
  ['/backups', 'Backups', 'member'],
  ['/worlds', 'Worlds', 'member'],
  ['/schedules', 'Schedules', 'member'],
  ['/settings', 'Settings', 'member'],
  ['/database', 'Database', 'member'],
  ['/ports', 'Ports', 'member'],
  ['/members', 'Members', 'owner'],
  ['/bill', 'Bill', 'owner'],
  ['/audit', 'Audit', 'member'],
  ['/machine', 'Machine', 'limited'],
];

/** Returns whether servers have such a page; '' is the main page. */
export function isServerTab(path: string): boolean {
  return TABS.some(([tab]) => tab === path);
}

/** The data of the frame: the server and the current page. */
interface Framed extends FormPlace {
  server: ReplyOf<typeof GetServer>;
  role: Role;
  /** Epoch ms. */
  now: number;
}

/** Wraps a page of a server with the common header (name, state, address and actions) and the tabs in `paths`. */
export function serverFrame(request: Framed, page: Page, paths: ReadonlySet<string>): Page {
  const { server, role } = request;
  const name = plainName(server.name) || server.id;
  const top = `/servers/${server.id}`;
  const main = html`<div
    class="panel"
    data-stream="${BROWSER_PREFIX}/v1/servers/${server.id}/events/stream"
    data-csrf="${request.csrf}"
    data-here="${addressOf(request)}"
    data-now="${request.now}"
  >
    ${liveNote()}
    <div class="card head">
      <div data-live="head">
        <p class="kicker"><a href="/servers">Servers</a></p>
        <div class="heading">
          <h1><bdi>${name}</bdi> ${stateTag(server.state, server.startErrorCode)}</h1>
          ${actions(request)}
        </div>
        <p class="where">
          <code>${server.addr}</code>
          ${copyButton(server.addr, 'the address')}
        </p>
        ${
          role !== 'owner' &&
          html`<p class="soft">
            ${role === 'limited' ? 'You have limited access here.' : 'You are a member here.'}
            <a href="/profile/invitations#shared">Leave…</a>
          </p>`
        }
      </div>
      <nav class="tabs" aria-label="${name}">
        <ul>
          ${TABS.filter(([path, , least]) => paths.has(path) && isAtLeast(role, least)).map(
            ([path, label]) =>
              html`<li>
                <a href="${top}${path}" ${isIn(request.here, top, path) && html`aria-current="page"`}>${label}</a>
              </li>`,
          )}
        </ul>
      </nav>
    </div>
    <div id="page">${page.main}</div>
  </div>`;
  return { ...page, title: page.title === name ? name : `${page.title} · ${name}`, main };
}

/** Returns whether a page belongs to a tab. */
function isIn(here: string, top: string, path: string): boolean {
  return here === `${top}${path}` || (path !== '' && here.startsWith(`${top}${path}/`));
}

/** The actions currently possible, for each page. */
function actions(request: Framed): Html | false {
  const { server, csrf } = request;
  const back = addressOf(request);
  const buttons = buttonsOf(server.state, server.startErrorCode).map(
    ({ verb, label, variant }) =>
      html`<form method="post" action="/servers/${server.id}/${verb}" data-swap>
        ${csrfField(csrf)}${hidden('back', back)}<button class="${variant}" type="submit">${label}</button>
      </form>`,
  );
  return buttons.length > 0 && html`<div class="actions">${buttons}</div>`;
}
