import { instantOf } from '../../game/players/ban-ends.ts';
import { hidden } from '../../web/form.ts';
import { type Html, html } from '../../web/html.ts';
import { type Filling, filling, lineField } from '../../web/panel/fields.ts';
import { buttonForm, panelForm } from '../../web/panel/form.ts';
import type { ServerRequest } from '../../web/panel/panel.ts';
import { timeTag } from '../../web/panel/time.ts';
import { plainName } from '../../web/text.ts';
import { lengthFields } from './ban-length.ts';
import { type Lists, REASON_CHARS } from './playing.ts';

/** As games have them (minecraft.wiki Permission level). */
const LEVELS: Record<number, string> = {
  0: 'no commands',
  1: 'may build in the spawn area',
  2: 'may cheat: game modes, items, blocks',
  3: 'may also kick and ban',
  4: 'may do everything, stopping the server included',
};
const NAME_CHARS = 17;

export function whitelistCard(request: ServerRequest, lists: Lists, mayChange: boolean): Html {
  const { whitelistEnforced, whitelist } = lists;
  return html`<section class="card">
    <h2>Whitelist</h2>
    <p>
      ${
        whitelistEnforced
          ? html`<span class="tag good">on</span> Only who is on the list, and operators, may come in or wake the
              server.`
          : html`<span class="tag calm">off</span> Everybody who is not banned may come in. The list is kept, and counts
              once it is on.`
      }
    </p>
    ${
      mayChange &&
      buttonForm(request, 'enforce', whitelistEnforced ? 'Switch it off' : 'Switch it on', {
        fields: { on: String(!whitelistEnforced) },
      })
    }
    ${namesList(whitelist, 'Nobody is on it.', ({ name }) => [name, undefined, mayChange && remove(request, 'whitelist', name)])}
    ${mayChange && nameForm(request, 'whitelist', 'Let in')}
  </section>`;
}

export function operatorsCard(request: ServerRequest, { ops }: Lists, mayChange: boolean): Html {
  return html`<section class="card">
    <h2>Operators</h2>
    <p>
      Players with commands in the game. The property <code>op-permission-level</code> says how much a new one may do.
    </p>
    ${namesList(ops, 'Nobody is an operator.', ({ name, level, bypassesPlayerLimit }) => [
      name,
      html`Level ${level}: ${LEVELS[level]}${bypassesPlayerLimit && '; comes in where the server is full'}`,
      mayChange && remove(request, 'operator', name),
    ])}
    ${mayChange && nameForm(request, 'operator', 'Make an operator')}
  </section>`;
}

export function bansCard(request: ServerRequest, { banned }: Lists, mayChange: boolean): Html {
  const filled = filling(request, 'ban');
  return html`<section class="card" id="bans">
    <h2>Banned players</h2>
    <p>Who is banned neither comes in nor wakes the server, and reads the reason.</p>
    ${namesList(banned, 'Nobody is banned.', (ban) => [
      ban.name,
      banText(ban),
      mayChange && buttonForm(request, 'ban', 'Lift', { fields: { name: ban.name, on: 'false' } }),
    ])}
    ${
      mayChange &&
      panelForm(
        request,
        'ban',
        html`${hidden('on', 'true')}
          <div class="side">${playerField(filled, request.query.get('ban') ?? '')} ${reasonField(filled)}</div>
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
    <p>
      The proxy refuses these addresses, whether the server sleeps or runs. Players who are in already stay: kick them
      too.
    </p>
    ${namesList(bannedIps, 'No address is banned.', (ban) => [
      ban.ip,
      banText(ban),
      mayChange && buttonForm(request, 'ban-address', 'Lift', { fields: { ip: ban.ip, on: 'false' } }),
    ])}
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
          <button class="danger" type="submit">Ban the address</button>`,
      )
    }
  </section>`;
}

type Shown = [name: string, what: Html | undefined, does: Html | false];

function namesList<Entry>(entries: readonly Entry[], none: string, shown: (entry: Entry) => Shown): Html {
  if (entries.length === 0) return html`<p class="empty">${none}</p>`;
  return html`<ul class="names">
    ${entries.map((entry) => {
      const [name, what, does] = shown(entry);
      return html`<li>
        <div>
          <b><bdi>${plainName(name) || '–'}</bdi></b
          >${what && html`<small>${what}</small>`}
        </div>
        ${does}
      </li>`;
    })}
  </ul>`;
}

function banText({ reason, created, expires, source }: Omit<Lists['bannedIps'][number], 'ip'>): Html {
  const [since, until] = [instantOf(created), instantOf(expires)];
  return html`${plainName(reason, REASON_CHARS) || 'No reason given'}.
  Banned${since !== null && html` ${timeTag(since)}`} by
  ${source === 'Rcon' ? 'the console' : plainName(source) || 'somebody'},
  ${until === null ? 'for ever' : html`until ${timeTag(until)}`}.`;
}

function remove(request: ServerRequest, form: string, name: string): Html {
  return buttonForm(request, form, 'Remove', { fields: { name, on: 'false' } });
}

function nameForm(request: ServerRequest, form: string, button: string): Html {
  const filled = filling(request, form);
  return panelForm(
    request,
    form,
    html`${hidden('on', 'true')}
      <div class="side">${playerField(filled, '')}<button class="second" type="submit">${button}</button></div>`,
  );
}

function playerField(filled: Filling, value: string): Html {
  return lineField(filled, { name: 'name', label: 'Name of the player', value, maxlength: NAME_CHARS });
}

function reasonField(filled: Filling): Html {
  return lineField(filled, {
    name: 'reason',
    label: 'Reason',
    hint: 'The player reads it. It may be left empty.',
    maxlength: REASON_CHARS,
    required: false,
  });
}
