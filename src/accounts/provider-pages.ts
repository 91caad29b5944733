import { csrfField } from '../web/form.ts';
import { type Html, html } from '../web/html.ts';
import type { SignedInRequest } from '../web/page-request.ts';
import { dateText } from '../web/text.ts';
import type { Provider } from './provider.ts';
import type { WaysIn } from './provider-sign-in.ts';

/** The path that sends a browser to the provider. */
export const PROVIDER_PATH = '/sign-in/provider';

/**
 * The link that leads to the provider and then to `next`. Not a form, because the pages' policy allows forms no redirect
 * to another site.
 */
export function providerButton(provider: Provider, next: string): Html {
  return html`<p class="actions">
    <a class="button" href="${PROVIDER_PATH}?next=${encodeURIComponent(next)}">Sign in with ${provider.name}</a>
  </p>`;
}

/** The link for a signed-in user who confirms with the provider and returns to `next`. `name`: that of the provider. */
export function confirmLink(name: string, next: string): Html {
  return html`<a href="${PROVIDER_PATH}?again=1&amp;next=${encodeURIComponent(next)}">Confirm with ${name}</a>`;
}

/** The profile's card about the linked account at the provider. */
export function providerCard(
  { csrf, principal }: SignedInRequest,
  { name }: Provider,
  { link, isPasswordAccepted }: WaysIn,
): Html {
  return html`<section class="card">
    <h2>Sign in with ${name}</h2>
    ${
      link
        ? html`<p>Linked to ${link.email} since ${dateText(link.createdAt)}.</p>
            ${
              isPasswordAccepted
                ? html`<form method="post" action="/profile/provider/remove">
                    ${csrfField(csrf)}
                    <button class="danger" type="submit">Remove the link</button>
                  </form>`
                : html`<p class="aside">You can’t remove the link, because no password works for you here.</p>`
            }`
        : principal.emailVerified
          ? html`<p>
              Not linked. Sign out, then sign in with an account there that has the address ${principal.email}.
            </p>`
          : html`<p>Not linked. Confirm your e-mail address first.</p>`
    }
  </section>`;
}
