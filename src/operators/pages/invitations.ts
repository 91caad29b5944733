import type { ReplyOf } from '../../http/calls.ts';
import { confirmed, hidden } from '../../web/form.ts';
import { type Html, html } from '../../web/html.ts';
import { filling, fillingOf, lineField } from '../../web/panel/fields.ts';
import { panelForm } from '../../web/panel/form.ts';
import type { Outcome, PanelRequest } from '../../web/panel/panel.ts';
import { copyButton } from '../../web/panel/parts.ts';
import { timeTag } from '../../web/panel/time.ts';
import type { Form } from '../../web/serve.ts';
import { plainName } from '../../web/text.ts';
import { operatorPage, reasonField } from './frame.ts';

type Invitation = ReplyOf<'ListAccountInvitations'>['invitations'][number];

const PATH = '/operator/accounts';

/** The form for inviting people, and the open invitations. */
export async function invitationsCard(request: PanelRequest): Promise<Html> {
  const { invitations } = await request.call('ListAccountInvitations', {});
  const email = lineField(filling(request, 'invite'), {
    name: 'email',
    label: 'E-mail address',
    hint: 'Creates a one-time sign-up link, valid for 7 days. It works even if sign-up is closed.',
    type: 'email',
    maxlength: 254,
  });
  return html`<section class="card">
      <h2>Invite someone</h2>
      ${panelForm(request, 'invite', html`${email}<button type="submit">Create link</button>`)}
    </section>
    ${
      invitations.length > 0 &&
      html`<section class="card">
        <h2>Open invitations</h2>
        <ul class="list">
          ${invitations.map((each) => invitationItem(request, each))}
        </ul>
      </section>`
    }`;
}

function invitationItem(request: PanelRequest, { invitationId, email, invitedBy, expiresAt }: Invitation): Html {
  const filled = fillingOf(request, 'cancel-invitation', { invitation: invitationId }, invitationId);
  const cancel = html`${hidden('invitation', invitationId)}${reasonField(filled, 'Recorded in the audit log.')}<button
      class="danger"
      type="submit"
    >
      Yes, cancel it<span class="unseen">, ${email}</span>
    </button>`;
  return html`<li>
    <h3><bdi>${plainName(email, 254)}</bdi></h3>
    <p>
      Invited by <bdi>${plainName(invitedBy, 254) || 'a deleted account'}</bdi>${
        expiresAt !== null && html` · until ${timeTag(expiresAt)}`
      }
    </p>
    ${confirmed('Its link stops working.', 'Cancel…', email, panelForm(request, 'cancel-invitation', cancel))}
  </li>`;
}

/**
 * Creates an invitation. Its link is shown only this once, because an e-mail may not arrive or e-mail may not be set
 * up.
 */
export async function invite({ call }: PanelRequest, form: Form): Promise<Outcome> {
  const email = (form.get('email') ?? '').trim();
  const { link, expiresAt, sent } = await call('InviteAccount', {}, { email });
  const main = linkCard(html`The link for <bdi>${email}</bdi>`, { link, expiresAt, sent });
  return operatorPage('Accounts', PATH, { main });
}

export async function cancelInvitation({ call }: PanelRequest, form: Form): Promise<Outcome> {
  const reason = form.get('reason') ?? '';
  await call('CancelAccountInvitation', { invitationId: form.get('invitation') ?? '' }, { reason });
  return 'cancelled';
}

/** A link that is shown once, to be passed on by hand. */
export function linkCard(
  title: Html,
  { link, expiresAt, sent }: { link: string; expiresAt: string | null; sent: boolean },
): Html {
  return html`<section class="card">
    <h2>${title}</h2>
    <p>
      ${
        sent
          ? 'We e-mailed it. It is shown only once, in case you want to pass it on yourself.'
          : 'E-mail is not set up (SMTP_URL), so nothing was sent. Pass the link on yourself. It is shown only once.'
      }
      ${expiresAt !== null && html`Valid until ${timeTag(expiresAt)}, once.`}
    </p>
    <p><code>${link}</code> ${copyButton(link, 'the link')}</p>
    <p><a class="button second" href="${PATH}">Back to the accounts</a></p>
  </section>`;
}
