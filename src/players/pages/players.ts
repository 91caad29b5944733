import { isAtLeast } from '../../http/roles.ts';
import { StatusError } from '../../kernel/status.ts';
import { html } from '../../web/html.ts';
import type { Page } from '../../web/page-request.ts';
import type { Panel, ServerRequest } from '../../web/panel/panel.ts';
import { playerForms } from './forms.ts';
import { addressBansCard, bansCard, operatorsCard, whitelistCard } from './lists.ts';
import { kickCard, playingCard } from './playing.ts';

/** Online players and player lists, in every state of the server. */
export function mountPlayerPages(panel: Panel): void {
  panel.serverPage({ path: '/players', show: playersPage, forms: playerForms, done: DONE });
}

const DONE = {
  kicked: 'Player kicked.',
  whitelist: 'Whitelist updated.',
  operators: 'Operators updated.',
  bans: 'Bans updated.',
};

const UNCHECKED = html`<p class="note">
  This server doesn’t check Minecraft accounts: anyone can join under any name, including names on these lists. Turn on
  <code>online-mode</code> in its settings, unless a proxy in front checks accounts.
</p>`;

async function playersPage(request: ServerRequest): Promise<Page> {
  const { call, server, role } = request;
  const mayChange = isAtLeast(role, 'member');
  const lists = await call('GetPlayerLists', { id: server.id }).catch((error: unknown) => {
    // The message names the broken file, so that it can be fixed under Files.
    if (error instanceof StatusError && error.code !== 'INTERNAL') return error.message;
    throw error;
  });
  if (typeof lists === 'string') {
    return { title: 'Players', main: html`<p class="note bad" role="alert">${lists}</p>` };
  }
  const main = html`${!lists.accountsChecked && UNCHECKED} ${mayChange && kickCard(request, lists)}
  ${playingCard(request, lists, mayChange)} ${whitelistCard(request, lists, mayChange)}
  ${operatorsCard(request, lists, mayChange)} ${bansCard(request, lists, mayChange)}
  ${addressBansCard(request, lists, mayChange)}`;
  return { title: 'Players', main };
}
