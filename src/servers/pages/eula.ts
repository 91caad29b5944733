import type { Call } from '../../http/calls.ts';
import { EULA_URL, needsEula } from '../../game/eula.ts';
import { isAtLeast } from '../../http/roles.ts';
import { type Html, html } from '../../web/html.ts';
import { type Filling, tickField } from '../../web/panel/fields.ts';
import { buttonForm } from '../../web/panel/form.ts';
import type { ServerRequest } from '../../web/panel/panel.ts';

const LINK = html`<a href="${EULA_URL}" rel="noreferrer">Minecraft End User Licence Agreement</a>`;

/** Whether a server of this software cannot wake until someone accepts Mojang's EULA. */
export async function lacksEula(call: Call, accountId: string, type: string): Promise<boolean> {
  return needsEula(type) && !(await call('GetEula', { accountId })).accepted;
}

/** Accepts the EULA for the account. Only for a form in which a person agrees. */
export async function agreeToEula(call: Call, accountId: string): Promise<void> {
  await call('AcceptEula', { accountId }, { accepted: true });
}

/** The checkbox in forms that create a server. */
export function eulaTick(filled: Filling): Html {
  return tickField(filled, {
    name: 'eula',
    label: html`I agree to the ${LINK}`,
    hint: 'Required by Mojang to run its software. Once for all your servers.',
    on: false,
    required: true,
  });
}

/** The card on a server's front page for its owner while the acceptance is missing. */
export async function eulaCard(request: ServerRequest): Promise<Html | undefined> {
  const { call, server, role } = request;
  if (!isAtLeast(role, 'owner') || !(await lacksEula(call, server.accountId, server.type))) return undefined;
  return html`<section class="card" id="eula">
    <h2>Before it can wake</h2>
    <p>
      This server runs Mojang’s software. Accept the ${LINK} first, once for all your servers. Until then it can’t
      start.
    </p>
    <div class="actions">${buttonForm(request, 'agree', 'I agree', { variant: '' })}</div>
  </section>`;
}
