import type { ReplyOf } from '../../http/calls.ts';
import type { People } from '../../people/people.ts';
import { passwordAgain, proved } from '../../people/proved.ts';
import { type Html, html } from '../../web/html.ts';
import { filling } from '../../web/panel/fields.ts';
import { panelForm } from '../../web/panel/form.ts';
import type { Outcome, PanelRequest } from '../../web/panel/panel.ts';
import type { Form } from '../../web/serve.ts';
import { plainName } from '../../web/text.ts';
import { operatorPage, reasonField } from './frame.ts';
import { linkCard } from './invitations.ts';

type Detail = ReplyOf<'GetAccount'>;

/** Access of an account: password reset, second factor, operator rights. Each requires a recent password. */
export function accessCard(request: PanelRequest, { account: { accountId, operator }, secondFactor }: Detail): Html {
  const mayRemoveFactor = secondFactor && accountId !== request.principal.accountId;
  const filled = filling(request, 'access');
  const form = html`${reasonField(filled, 'Recorded in the audit log.')}
    ${passwordAgain(request, request.failed === 'access' ? request.problem : undefined)}
    <div class="actions">
      <button type="submit" name="do" value="reset-link">Create password reset link</button>
      ${
        operator
          ? html`<button class="danger" type="submit" name="do" value="end-operator">Remove operator rights</button>`
          : html`<button class="second" type="submit" name="do" value="make-operator">Make operator</button>`
      }
      ${mayRemoveFactor && html`<button class="danger" type="submit" name="do" value="second-factor">Turn off two-factor sign-in</button>`}
    </div>`;
  return html`<section class="card">
    <h2>Access ${operator && html`<span class="tag good">operator</span>`}</h2>
    <p>
      The link lets them choose a new password and expires in a day. Nothing changes until they use it.
      ${operator ? 'This account is an operator.' : 'Operators manage all accounts, servers and machines.'}
    </p>
    ${
      mayRemoveFactor &&
      html`<p>
        Sign-in requires a code. If they lost their phone and recovery codes, verify who they are, then turn it off. We
        e-mail them the reason.
      </p>`
    }
    ${panelForm(request, 'access', form)}
  </section>`;
}

/** Carries out the button's action. The link is shown only this once. */
export function changeAccess(people: People) {
  return async function access(request: PanelRequest, form: Form): Promise<Outcome> {
    const { accountId = '' } = request.params;
    const reason = form.get('reason') ?? '';
    await proved(people, request, form);
    if (form.get('do') === 'second-factor') {
      await request.call('RemoveAccountSecondFactor', { accountId }, { reason });
      return 'second-factor';
    }
    if (form.get('do') === 'make-operator' || form.get('do') === 'end-operator') {
      const operator = form.get('do') === 'make-operator';
      await request.call('SetAccountOperator', { accountId }, { operator, reason });
      return operator ? 'made-operator' : 'ended-operator';
    }
    const made = await request.call('MakeResetLink', { accountId }, { reason });
    const { account } = await request.call('GetAccount', { accountId });
    const main = linkCard(html`A link for <bdi>${plainName(account.email, 254)}</bdi> to choose a new password`, made);
    return operatorPage('Accounts', '/operator/accounts', { main });
  };
}
