import { StatusError } from '../../kernel/status.ts';
import { ASSETS } from '../../web/assets.ts';
import { type Html, html } from '../../web/html.ts';
import type { Page } from '../../web/page-request.ts';
import { type Filling, lineField } from '../../web/panel/fields.ts';
import type { Panel, PanelPage } from '../../web/panel/panel.ts';

/** The operators' pages, in the order of their links. */
const TABS = [
  ['/operator', 'Machines'],
  ['/operator/nodes', 'Nodes'],
  ['/operator/accounts', 'Accounts'],
  ['/operator/orphans', 'Orphans'],
  ['/operator/proxies', 'Proxies'],
  ['/operator/apps', 'Apps'],
] as const;

/** Length limit of a reason. */
export const REASON_CHARS = 256;

/**
 * Mounts a page for operators: for others it does not exist (NOT_FOUND), and an operator without a required second
 * factor is sent to set it up.
 */
export function mountOperatorPage(panel: Panel, page: PanelPage): void {
  panel.page({
    ...page,
    async show(request) {
      const { operator, needsSecondFactor } = request.principal;
      if (!operator) throw new StatusError('NOT_FOUND', 'PAGE_NOT_FOUND', 'Check the address.');
      return needsSecondFactor ? { to: '/profile/second-factor' } : page.show(request);
    },
  });
}

/**
 * Returns a page beside the links to the operators' other pages: its heading (`head` if it has more than its title),
 * then its content. `here`: the path to mark as current, which is the page shown or its parent.
 */
export function operatorPage(title: string, here: string, main: Html, head?: Html): Page {
  const links = TABS.map(([href, label]) => ({ href, label, isCurrent: href === here }));
  return {
    title,
    pages: { label: 'Operator', groups: [{ links }] },
    main: html`<div class="machines">${head ?? html`<div class="head"><h1>${title}</h1></div>`} ${main}</div>`,
    styles: [ASSETS.machinesStyle],
  };
}

/** The indicator of live updates, shown by a script. `here`: the page as it was requested. */
export function liveNote(here: string): Html {
  return html`<p class="live" role="status" data-status data-keep>
    As of when this page loaded. <a href="${here}">Reload</a>
  </p>`;
}

/** Number of rows on a page of a list. */
export const ROWS = 50;

/** Returns the address of a page with those fields of its query that are not empty. */
export function addressOf(path: string, fields: Record<string, string>): string {
  const query = new URLSearchParams(Object.entries(fields).filter(([, value]) => value !== ''));
  return query.size === 0 ? path : `${path}?${query.toString()}`;
}

/** The field for an operator's reason, recorded in the audit log. */
export function reasonField(filled: Filling, hint: string): Html {
  return lineField(filled, { name: 'reason', label: 'Reason', hint, maxlength: REASON_CHARS });
}
