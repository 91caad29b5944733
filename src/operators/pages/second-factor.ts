import { confirmed } from '../../web/form.ts';
import { type Html, html } from '../../web/html.ts';
import { filling } from '../../web/panel/fields.ts';
import { panelForm } from '../../web/panel/form.ts';
import type { Outcome, PanelRequest } from '../../web/panel/panel.ts';
import type { Form } from '../../web/serve.ts';
import { reasonField } from './frame.ts';

const FORM = 'second-factor';

/** For an account whose users sign in with a code, too: how that is switched off. */
export function secondFactorCard(request: PanelRequest): Html {
  const filled = filling(request, FORM);
  const form = html`${reasonField(filled, 'Goes into the letter to them, and into the audit log.')}
    <button class="danger" type="submit">Yes, switch it off</button>`;
  return html`<section class="card">
    <h2>Second factor</h2>
    <p>Signing in asks for a code. Who has lost their phone and their recovery codes cannot do without you.</p>
    ${confirmed(
      'Make sure that it is them who asks: the password alone lets in after this.',
      'Switch it off…',
      '',
      panelForm(request, FORM, form),
      request.failed === FORM,
    )}
  </section>`;
}

export async function removeSecondFactor(
  { call, params: { accountId = '' } }: PanelRequest,
  form: Form,
): Promise<Outcome> {
  await call('RemoveAccountSecondFactor', { accountId }, { reason: form.get('reason') ?? '' });
  return FORM;
}
