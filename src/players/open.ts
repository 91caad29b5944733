/**
 * Player lists of a game, whether it sleeps or runs. Never writes a list's file while its game runs, because the game
 * would overwrite it.
 */
import type { Pinger } from '../engines/pinger.ts';
import type { Files } from '../files/files.ts';
import type { PlayerFiles } from '../game/players/files.ts';
import { createPlayerListFiles } from '../game/players/list-files.ts';
import type { Profiles } from '../game/players/minecraft-accounts.ts';
import { isAtLeast } from '../http/roles.ts';
import type { ChangeLock } from '../jail/change-lock.ts';
import type { FileOwner } from '../kernel/atomic-file.ts';
import { StatusError } from '../kernel/status.ts';
import type { Shared } from '../servers/shared.ts';
import type { Feature } from '../web/feature.ts';
import { html } from '../web/html.ts';
import type { Page } from '../web/page-request.ts';
import type { Panel, ServerRequest } from '../web/panel/panel.ts';
import { playerOperations, GetPlayerLists } from './api.ts';
import { liftEndedBans } from './ended-bans.ts';
import { playerForms } from './pages/forms.ts';
import { addressBansCard, bansCard, operatorsCard, whitelistCard, kickCard, playingCard } from './pages/lists.ts';
import { Players } from './players.ts';
import type { TypedCommandAccess } from './typed-commands.ts';

/** Opens player lists and online players, with their API and pages. */
export function openPlayers(
  shared: Shared,
  access: TypedCommandAccess,
  parts: {
    profiles: Profiles;
    pinger: Pinger;
    files: Files;
    playerFiles: PlayerFiles;
    dataDir: string;
    lock: ChangeLock;
    owner: FileOwner | undefined;
  },
): Feature {
  const { profiles, pinger, playerFiles, files, dataDir, lock, owner } = parts;
  const lists = createPlayerListFiles(files, dataDir, lock, owner);
  const players = new Players(shared, access, { files: lists, profiles, pinger });
  shared.onClose(liftEndedBans(shared, access, playerFiles));
  return { operations: playerOperations(shared, players), panel: mountPlayerPages };
}

/** Online players and player lists, in every state of the server. */
function mountPlayerPages(panel: Panel): void {
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
  const lists = await call(GetPlayerLists, { id: server.id }).catch((error: unknown) => {
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
