import { instantOf } from '../../game/players/ban-ends.ts';
import type { ReplyOf } from '../../http/operation.ts';
import { face } from '../../servers/pages/parts.ts';
import { hidden } from '../../web/form.ts';
import { type Html, html } from '../../web/html.ts';
import { type Filling, filling, lineField } from '../../web/panel/fields.ts';
import { buttonForm, panelForm } from '../../web/panel/form.ts';
import type { ServerRequest } from '../../web/panel/panel.ts';
import { partOf } from '../../web/panel/parts.ts';
import { timeTag } from '../../web/panel/time.ts';
import { plainName } from '../../web/text.ts';
import { lengthFields } from './forms.ts';
import type { GetPlayerLists } from '../api.ts';

type Lists = ReplyOf<typeof GetPlayerLists>;

/** Permission levels of the game (minecraft.wiki Permission level). */
const LEVELS: Record<number, string> = {
  0: 'no commands',
  1: 'can build in the spawn area',
  2: 'can cheat: game modes, items, blocks',
  3: 'can also kick and ban',
  4: 'can do everything, including stopping the server',
};
const NAME_CHARS = 17;
const REASON_CHARS = 256;
const PLAYERS_ON_A_PART = 40;
const NAMES_ON_A_PART = 20;

export function whitelistCard(request: ServerRequest, lists: Lists, mayChange: boolean): Html {
  const { whitelistEnforced, whitelist } = lists;
  return html`<section class="card">
    <h2>Whitelist</h2>
    <p>
      ${
        whitelistEnforced
          ? html`<span class="tag good">on</span> Only listed players and operators can join or wake the server.`
          : html`<span class="tag calm">off</span> Anyone who isn’t banned can join. The list applies once you turn it
              on.`
      }
    </p>
    ${
      mayChange &&
      buttonForm(request, 'enforce', whitelistEnforced ? 'Turn it off' : 'Turn it on', {
        fields: { on: String(!whitelistEnforced) },
      })
    }
    ${namesList(request, whitelist, {
      none: 'No players on the whitelist.',
      of: 'whitelist',
      off: mayChange && { form: 'whitelist', field: 'name', label: 'Remove' },
      shown: ({ name }) => [name],
    })}
    ${mayChange && nameForm(request, 'whitelist', 'Add')}
  </section>`;
}

export function operatorsCard(request: ServerRequest, { ops }: Lists, mayChange: boolean): Html {
  return html`<section class="card">
    <h2>Operators</h2>
    <p>Operators can use commands. The property <code>op-permission-level</code> sets the level of new operators.</p>
    ${namesList(request, ops, {
      none: 'No operators.',
      of: 'operators',
      off: mayChange && { form: 'operator', field: 'name', label: 'Remove' },
      shown: ({ name, level, bypassesPlayerLimit }) => [
        name,
        html`Level ${level}: ${LEVELS[level]}${bypassesPlayerLimit && '; can join a full server'}`,
      ],
    })}
    ${mayChange && nameForm(request, 'operator', 'Add operator')}
  </section>`;
}

export function bansCard(request: ServerRequest, { banned }: Lists, mayChange: boolean): Html {
  const filled = filling(request, 'ban');
  return html`<section class="card" id="bans">
    <h2>Banned players</h2>
    <p>Banned players can’t join or wake the server. They see the reason.</p>
    ${namesList(request, banned, {
      none: 'No banned players.',
      of: 'banned players',
      off: mayChange && { form: 'ban', field: 'name', label: 'Unban' },
      shown: (ban) => [ban.name, banText(ban)],
    })}
    ${
      mayChange &&
      panelForm(
        request,
        'ban',
        html`${hidden('on', 'true')}
          <div class="side">${playerField(filled, chosen(request, 'ban'))} ${reasonField(filled)}</div>
          <div class="side">${lengthFields(filled)}</div>
          <button class="danger" type="submit">Ban</button>`,
      )
    }
  </section>`;
}

export function addressBansCard(request: ServerRequest, { bannedIps }: Lists, mayChange: boolean): Html {
  const filled = filling(request, 'ban-address');
  return html`<section class="card">
    <h2>Banned addresses</h2>
    <p>These IP addresses can’t connect. Banning an address kicks its players.</p>
    ${namesList(request, bannedIps, {
      none: 'No banned addresses.',
      of: 'banned addresses',
      off: mayChange && { form: 'ban-address', field: 'ip', label: 'Unban' },
      shown: (ban) => [ban.ip, banText(ban)],
    })}
    ${
      mayChange &&
      panelForm(
        request,
        'ban-address',
        html`${hidden('on', 'true')}
          <div class="side">
            ${lineField(filled, { name: 'ip', label: 'Address', hint: 'IPv4 or IPv6.', maxlength: 64 })}
            ${reasonField(filled)}
          </div>
          <div class="side">${lengthFields(filled)}</div>
          <button class="danger" type="submit">Ban address</button>`,
      )
    }
  </section>`;
}

/** A list of names, shown in pages. */
interface Names<Entry> {
  /** Shown if the list is empty. */
  none: string;
  of: string;
  /**
   * The button that removes an entry. One form contains all entries, with a button each. False if the reader must not
   * change the list.
   */
  off: { form: string; field: string; label: string } | false;
  shown: (entry: Entry) => readonly [name: string, what?: Html];
}

function namesList<Entry>(request: ServerRequest, entries: readonly Entry[], names: Names<Entry>): Html {
  const { none, of, off, shown } = names;
  if (entries.length === 0) return html`<p class="empty">${none}</p>`;
  const part = partOf(request, entries, { key: of.replaceAll(' ', '-'), most: NAMES_ON_A_PART, of });
  const items = part.shown.map((entry) => {
    const [name, what] = shown(entry);
    const plain = plainName(name) || '–';
    return html`<li>
      <div>
        <b><bdi>${plain}</bdi></b
        >${what && html`<small>${what}</small>`}
      </div>
      ${
        off &&
        html`<button class="second" type="submit" name="${off.field}" value="${name}">
          ${off.label}<span class="unseen"> ${plain}</span>
        </button>`
      }
    </li>`;
  });
  const list = html`<ul class="names">
    ${items}
  </ul>`;
  return html`${off ? panelForm(request, off.form, html`${hidden('on', 'false')}${list}`) : list} ${part.pager}`;
}

function banText({ reason, created, expires, source }: Omit<Lists['bannedIps'][number], 'ip'>): Html {
  const [since, until] = [instantOf(created), instantOf(expires)];
  return html`${plainName(reason, REASON_CHARS) || 'No reason given'}.
  Banned${since !== null && html` ${timeTag(since)}`} by
  ${source === 'Rcon' ? 'the console' : plainName(source) || 'someone'},
  ${until === null ? 'permanent' : html`until ${timeTag(until)}`}.`;
}

function nameForm(request: ServerRequest, form: string, button: string): Html {
  const filled = filling(request, form);
  return panelForm(
    request,
    form,
    html`${hidden('on', 'true')}
      <div class="side">
        ${playerField(filled, chosen(request, form))}<button class="second" type="submit">${button}</button>
      </div>`,
  );
}

/** Returns the player that a link chose for a form, or for all of them; '' for none. */
function chosen({ query }: ServerRequest, form: string): string {
  return (query.get(form) ?? query.get('player') ?? '').slice(0, NAME_CHARS);
}

function playerField(filled: Filling, value: string): Html {
  return lineField(filled, { name: 'name', label: 'Name of the player', value, maxlength: NAME_CHARS });
}

function reasonField(filled: Filling): Html {
  return lineField(filled, {
    name: 'reason',
    label: 'Reason',
    hint: 'Shown to the player. Optional.',
    maxlength: REASON_CHARS,
    required: false,
  });
}

/** The online players. The card refreshes itself, so confirmations are elsewhere on the page. */
export function playingCard(request: ServerRequest, lists: Lists, mayChange: boolean): Html {
  const { here, server } = request;
  const { shown, pager } = partOf(request, lists.online, { key: 'playing', most: PLAYERS_ON_A_PART, of: 'players' });
  return html`<section class="card flush" data-live="playing">
    <h2>Playing now</h2>
    ${
      lists.withoutConsole &&
      html`<p class="empty">
        This game accepts no commands while running. Changes apply at the next start. Address bans apply immediately.
      </p>`
    }
    ${
      lists.online.length === 0
        ? html`<p class="empty">${noPlayersText(server.state, lists.running)}</p>`
        : html`<table class="rows">
            <thead>
              <tr>
                <th scope="col">Player</th>
                ${mayChange && html`<th scope="col">Actions</th>`}
              </tr>
            </thead>
            <tbody>
              ${shown.map(
                (name) =>
                  html`<tr>
                    <th scope="row">
                      <span class="head-of">${face(name)}<bdi>${plainName(name)}</bdi></span>
                    </th>
                    ${
                      mayChange &&
                      html`<td>
                        <a href="${here}?kick=${encodeURIComponent(name)}#kick"
                          >Kick<span class="unseen"> ${plainName(name)}</span></a
                        >
                        ·
                        <a href="${here}?ban=${encodeURIComponent(name)}#bans"
                          >Ban<span class="unseen"> ${plainName(name)}</span></a
                        >
                      </td>`
                    }
                  </tr>`,
              )}
            </tbody>
          </table>`
    }
    ${pager}
  </section>`;
}

function noPlayersText(state: string, running: boolean): string {
  if (running) return 'No one is online.';
  return state === 'hibernated' ? 'The server is asleep.' : 'No players: the server is not running.';
}

/** The confirmation for kicking the selected player. */
export function kickCard(request: ServerRequest, { online }: Lists): Html | undefined {
  const name = chosen(request, 'kick');
  if (!online.includes(name)) return undefined;
  return html`<section class="card" id="kick">
    <h2>Kick <bdi>${plainName(name)}</bdi></h2>
    <p>They can rejoin immediately. To keep them out, ban them below.</p>
    ${panelForm(
      request,
      'kick',
      html`${hidden('name', name)} ${reasonField(filling(request, 'kick'))}<button type="submit">Kick</button>`,
    )}
  </section>`;
}
