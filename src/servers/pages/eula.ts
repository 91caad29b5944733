import type { Call } from '../../http/calls.ts';
import { EULA_URL, needsEula } from '../../game/eula.ts';
import { isAtLeast } from '../../http/roles.ts';
import { type Html, html } from '../../web/html.ts';
import { type Filling, tickField } from '../../web/panel/fields.ts';
import { buttonForm } from '../../web/panel/form.ts';
import type { ServerRequest } from '../../web/panel/panel.ts';

const LINK = html`<a href="${EULA_URL}" rel="noreferrer">Minecraft End User Licence Agreement</a>`;

/** Whether somebody still has to agree to Mojang's licence before a server of this software can wake. */
export async function lacksEula(call: Call, accountId: string, type: string): Promise<boolean> {
  return needsEula(type) && !(await call('GetEula', { accountId })).accepted;
}

/** Agrees for the account. Only for a form by which a person says so. */
export async function agreeToEula(call: Call, accountId: string): Promise<void> {
  await call('AcceptEula', { accountId }, { accepted: true });
}

/** A box to tick where a server is made. */
export function eulaTick(filled: Filling): Html {
  return tickField(filled, {
    name: 'eula',
    label: html`I agree to the ${LINK}`,
    hint: 'Mojang asks for it before its software runs. Once for all your servers.',
    on: false,
    required: true,
  });
}

/** On a server's front page, for its owner, as long as it is missing. */
export async function eulaCard(request: ServerRequest): Promise<Html | undefined> {
  const { call, server, role } = request;
  if (!isAtLeast(role, 'owner') || !(await lacksEula(call, server.accountId, server.type))) return undefined;
  return html`<section class="card" id="eula">
    <h2>Before it can wake</h2>
    <p>
      It runs Mojang’s software, and Mojang asks that you agree to the ${LINK} first. You do so once, for all your
      servers. Until then nobody can wake it.
    </p>
    <div class="actions">${buttonForm(request, 'agree', 'I agree to it', { look: '' })}</div>
  </section>`;
}
